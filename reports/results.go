// Package reports writes the results of a run. Results is the single model: every format is written from it alone, so
// that any report can be recreated from results.json.
package reports

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"parley/features/verdict"
	"parley/reports/lang"
)

// SchemaID names the version of the results format; it is the $id of results.schema.json.
const SchemaID = "urn:parley:results:1"

// FormerSchemaID is that of the same version in files of earlier programs; ReadJSON reads them too.
const FormerSchemaID = "https://parley.dev/schema/results-1.json"

// Results is the content of results.json. Durations are fractional milliseconds. Fields are only ever added.
type Results struct {
	Schema    string          `json:"schema"`
	Suite     Suite           `json:"suite"`
	Verdict   verdict.Verdict `json:"verdict"`
	Exit      int             `json:"exit"`
	Partial   bool            `json:"partial"`   // interrupted before its end
	Selection string          `json:"selection"` // the filter that narrowed the run; "" if there was none
	Strict    bool            `json:"strict"`
	Seed      int64           `json:"seed"`
	Started   time.Time       `json:"started"`
	Duration  float64         `json:"duration_ms"`
	Runs      []Run           `json:"runs"`

	// Passive reports that the harness only judged traffic between others. Such results never certify.
	Passive bool `json:"passive,omitempty"`

	// What makes the exit code 1, if the user says so: FailOnMust and the like, and ids of clauses; see Fails.
	FailOn []string `json:"fail_on,omitempty"`
	// the limits that the user sets to observed traffic
	Limits []Limit `json:"limits,omitempty"`

	// the figures of a load, which is judged passively; nil for other results
	Load *Load `json:"load,omitempty"`
	// The part of the run that this is; nil for the whole. A part is never conformant, and never certifies.
	Shard *Shard `json:"shard,omitempty"`

	// How the run was made, in what decides whether it certifies; nil for results of versions that did not record it.
	Options *Options `json:"options,omitempty"`

	// Seal is "sha256:<hex>" over the file with this digest left empty: it shows that a file was edited, not by whom.
	// WriteJSON makes it. It is the last field.
	Seal string `json:"seal,omitempty"`
}

// Options are the options of a run that decide whether it certifies, and those that repeat it.
type Options struct {
	AllowIncomplete bool     `json:"allow_incomplete,omitempty"`
	Baseline        bool     `json:"baseline,omitempty"` // one was given, whether it had rows for the run or not
	Features        []string `json:"features,omitempty"` // the user's
	Faults          bool     `json:"faults,omitempty"`
	Explore         int      `json:"explore,omitempty"` // number of random sequences
	CutPoints       bool     `json:"cut_points,omitempty"`
	Shards          int      `json:"shards,omitempty"` // the run was put together from so many shards
}

// Shard is one of Count parts of a run; Index counts from 1.
type Shard struct {
	Index int `json:"index"`
	Count int `json:"count"`
}

// Judged is what a scenario over a driver says about a clause; Monitor names the monitor that said it, "" for a step.
type Judged struct {
	Clause   string          `json:"clause"`
	Driver   string          `json:"driver"`
	Scenario string          `json:"scenario"`
	Monitor  string          `json:"monitor,omitempty"`
	Outcome  verdict.Outcome `json:"outcome"`
	Reason   string          `json:"reason,omitempty"`

	Unfinished bool `json:"unfinished,omitempty"` // see verdict.Judgement
}

// CompareJudged orders judgements.
func CompareJudged(a, b Judged) int {
	return cmp.Or(cmp.Compare(a.Clause, b.Clause), cmp.Compare(a.Driver, b.Driver), cmp.Compare(a.Scenario, b.Scenario),
		cmp.Compare(a.Monitor, b.Monitor), cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Reason, b.Reason))
}

// Suite identifies the suite that judged.
type Suite struct {
	Program string `json:"program,omitempty"` // that has the suite; "": parley
	Version string `json:"version"`
	Digest  string `json:"digest"` // "sha256:<hex>" over every feature and ledger
}

func (s Suite) program() string { return cmp.Or(s.Program, "parley") }

// Run is one protocol in one role against one target.
type Run struct {
	Protocol  string          `json:"protocol"`
	Folder    string          `json:"folder,omitempty"` // of its protocol, as it was named; "": it is bundled, or in Go
	Role      string          `json:"role"`
	Verdict   verdict.Verdict `json:"verdict"`
	Target    Target          `json:"target"`
	Totals    Totals          `json:"totals"`
	Clauses   []Clause        `json:"clauses"`
	Scenarios []Scenario      `json:"scenarios"`
	// what was found, grouped by cause, the most telling first; absent in older results
	Causes []Cause `json:"causes,omitempty"`
	// differences between drivers, interop notes, security observations
	Notes []Note `json:"notes,omitempty"`
	// faults injected between the client and the server: such results never certify
	Faults []Fault `json:"faults,omitempty"`
	// Obligations of the protocol's model, sorted by On and Owes, with how often each arose: those of 0 the run did not
	// reach. Absent if the protocol has no such model.
	Obligations []Obligation `json:"obligations,omitempty"`
	Cuts        []Cuts       `json:"cuts,omitempty"` // with --cut-points: one for each course, driver and way of cutting
	// why the target could not be started or reached, or what is there instead
	Environment  string        `json:"environment,omitempty"`
	TargetStderr string        `json:"target_stderr,omitempty"` // the end of the stderr of a target that was started
	Baseline     []BaselineRow `json:"baseline,omitempty"`
	Judged       []Judged      `json:"judged,omitempty"` // of a shard: every judgement, from which shards are merged
}

// Target is what was judged.
type Target struct {
	Name         string   `json:"name"`
	Version      string   `json:"version,omitempty"` // as --target-version gives it
	URL          string   `json:"url"`
	Insecure     bool     `json:"insecure,omitempty"` // its certificate was not checked: such results never certify
	Drivers      []string `json:"drivers"`
	Capabilities []string `json:"capabilities"`
	Profile      string   `json:"profile,omitempty"` // the profile's path as given; "" for a bare URL or a bundled target

	Origin Origin `json:"origin,omitempty"` // "" for results of versions that did not record it
	// "sha256:<hex>" of the profile as it is in the file, before values of ${NAME} are known; "" without a file
	ProfileDigest string `json:"profile_digest,omitempty"`
}

// uncheckedNote says in reports that a target's certificate was not checked.
func uncheckedNote(l lang.Lang) string { return l.Say("certificate not checked") }

// Origin says where a target comes from.
type Origin string

// Origins of targets.
const (
	FromBundle  Origin = "bundled" // the suite's own, or a mutant: such results never certify
	FromProfile Origin = "profile" // described by a profile
	FromAddress Origin = "address" // a bare URL or page
)

// Totals counts clauses and scenarios by outcome. The denominators are fixed before the first scenario runs.
type Totals struct {
	// clauses tested in this protocol, without excluded ones
	Clauses   Count            `json:"clauses"`
	Excluded  int              `json:"excluded"`             // clauses that the ledger excludes
	OtherRole int              `json:"other_role,omitempty"` // clauses that apply to targets of other roles
	Scenarios Count            `json:"scenarios"`            // one per scenario and driver
	ByLevel   map[string]Count `json:"by_level"`
	BySection map[string]Count `json:"by_section"`
}

// Count is a total and its division by outcome.
type Count struct {
	Total     int                     `json:"total"`
	ByOutcome map[verdict.Outcome]int `json:"by_outcome"`
}

// Clause is the outcome of one clause.
type Clause struct {
	ID        string                     `json:"id"`
	Level     verdict.Level              `json:"level"`
	Section   string                     `json:"section"`
	Text      string                     `json:"text"`
	Source    string                     `json:"source,omitempty"`  // the words of the source document
	TextZH    string                     `json:"text_zh,omitempty"` // the text in Chinese, where Source does not say it
	Outcome   verdict.Outcome            `json:"outcome"`
	ByDriver  map[string]verdict.Outcome `json:"by_driver"`
	Scenarios []string                   `json:"scenarios"` // ids of the scenarios that may judge it
	Monitors  []string                   `json:"monitors"`  // names of the monitors that judge it
	Reason    string                     `json:"reason"`
	ReasonZH  string                     `json:"reason_zh,omitempty"` // why the ledger excludes it, in Chinese
	Excluded  bool                       `json:"excluded,omitempty"`
	// it applies to targets of another role; the reason names them
	OtherRole bool `json:"other_role,omitempty"`
}

// TextIn returns what a clause says; in Chinese by its translation, or in the words of the source document if these are
// Chinese.
func (c Clause) TextIn(l lang.Lang) string {
	switch {
	case l == lang.Chinese && c.TextZH != "":
		return c.TextZH
	case l == lang.Chinese && l.Native(c.Source):
		return c.Source
	}
	return c.Text
}

// Scenario is one scenario over one driver.
type Scenario struct {
	// <prefix>-<section>-<nn>, where nn counts the scenarios of the feature file: unique per Driver, and stable for one
	// Suite.Digest
	ID       string              `json:"id"`
	Name     string              `json:"name"`
	Feature  string              `json:"feature"`
	Rule     string              `json:"rule,omitempty"`
	Location string              `json:"location"` // features/…:line; in the folder of the protocol if it has one
	Driver   string              `json:"driver"`
	Role     string              `json:"role"`
	Tags     []string            `json:"tags"` // "@" included
	Outcome  verdict.Outcome     `json:"outcome"`
	Reason   string              `json:"reason"`
	Clauses  []verdict.Judgement `json:"clauses"`
	Duration float64             `json:"duration_ms"`
	Steps    []Step              `json:"steps"`
	// clauses judged after the last step, sorted
	AtEnd []string `json:"judged_at_end,omitempty"`
	// what has judged each clause, of scenarios that ran in this process
	Judges     map[string][]verdict.Judge `json:"-"`
	Notes      []string                   `json:"notes"`
	Failures   []Failure                  `json:"failures"`
	Transcript *Transcript                `json:"transcript,omitempty"`
	Recording  *Transcript                `json:"recording,omitempty"` // the same as JSON Lines; the source of Transcript
	// other evidence, if something is wrong
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Step is one step of a scenario. Status is passed, failed, skipped, undefined, pending or ambiguous.
type Step struct {
	Keyword  string  `json:"keyword"`
	Text     string  `json:"text"`
	Line     int64   `json:"line,omitempty"` // of its feature; 0 if it is in no file, or an earlier program wrote this
	Status   string  `json:"status"`
	Duration float64 `json:"duration_ms"`
	Error    string  `json:"error,omitempty"`

	Clauses []string `json:"clauses,omitempty"` // the clauses that it judged, sorted
}

// Failure is one broken clause in one scenario, in full.
type Failure struct {
	Clause   string        `json:"clause"`
	Level    verdict.Level `json:"level"`
	Text     string        `json:"text"`
	Section  string        `json:"section"`
	Expected string        `json:"expected"`
	Observed string        `json:"observed"`
	Diff     string        `json:"diff,omitempty"`    // lines of JSON, - expected + observed
	At       string        `json:"at"`                // where: connection, record number, time since the scenario's start
	Monitor  string        `json:"monitor,omitempty"` // the monitor that found it, if no step did
	// the step that found it, or in which the record came that the monitor objects to, with its keyword; "" if it was
	// found at the end, or an earlier program wrote this
	Step     string `json:"step,omitempty"`
	Location string `json:"location,omitempty"` // of that step: file:line; "" if it is in no file
	Missed   bool   `json:"missed,omitempty"`   // it was awaited, and never came
	// how often the scenario found this kind, including this one; absent for once
	Count   int      `json:"count,omitempty"`
	Excerpt []string `json:"excerpt,omitempty"` // the surrounding transcript, one line each
	Again   string   `json:"again"`             // the command that reruns it alone

	// later findings of the same model, which decide no clause
	Following     []Following `json:"following,omitempty"`
	MoreFollowing int         `json:"more_following,omitempty"` // number of further ones
}

// Following is a finding that follows from a failure: after one deviation a model no longer knows what is due.
type Following struct {
	Clause   string `json:"clause"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
	At       string `json:"at"`
	Monitor  string `json:"monitor"`
}

// Transcript locates the transcript of a scenario, relative to the results folder.
type Transcript struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Evidence locates other evidence of what happened in a scenario, such as a screenshot of a page and its DOM,
// relative to the results folder.
type Evidence struct {
	Name   string `json:"name"` // unique within its scenario: page-A.png
	Type   string `json:"type"` // media type
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Note is a remark that fails no clause.
type Note struct {
	// "driver-difference", "interop", "target", "harness", "security", "explored", "cut", "fault"
	Kind     string `json:"kind"`
	Text     string `json:"text"`
	Scenario string `json:"scenario,omitempty"`
}

// BaselineRow is one row of an applied baseline. Role and Driver narrow it; "" means any.
type BaselineRow struct {
	Clause  string `json:"clause"`
	Reason  string `json:"reason"`
	Role    string `json:"role,omitempty"`
	Driver  string `json:"driver,omitempty"`
	Flaky   bool   `json:"flaky,omitempty"` // the clause fails only sometimes
	Expires string `json:"expires,omitempty"`
	// "applied", "passed this time" (of a flaky clause), "stale" (the clause passes now), "expired", "unknown clause",
	// "not tested"
	State string `json:"state"`
}

// Excused reports whether a baseline excuses the failures of the clause over a driver. A nil clause is not excused.
func (c *Clause) Excused(driver string) bool {
	if c == nil {
		return false
	}
	o, known := c.ByDriver[driver]
	return o == verdict.ExpectedFail || !known && c.Outcome == verdict.ExpectedFail
}

//go:embed results.schema.json
var resultsSchema []byte

// Schema returns the JSON Schema (draft 2020-12) of results.json; its $id is SchemaID. The caller owns the copy.
func Schema() []byte { return slices.Clone(resultsSchema) }

// Validate checks that b is a results.json: well-formed, and with exactly the keys and values that Schema allows. The
// error is one line that names the first difference.
func Validate(b []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("results are not JSON: %w", err)
	}
	var invalid *jsonschema.ValidationError
	switch err := compiledSchema().Validate(v); {
	case errors.As(err, &invalid):
		return fmt.Errorf("results break their schema %s", firstCause(invalid))
	default:
		return err
	}
}

// compiledSchema compiles the schema once. An error in it is a bug of ours.
var compiledSchema = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(resultsSchema))
	if err != nil {
		panic(fmt.Sprintf("results.schema.json: %v", err))
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(SchemaID, doc); err != nil {
		panic(fmt.Sprintf("results.schema.json: %v", err))
	}
	return c.MustCompile(SchemaID)
})

// firstCause reports the first leaf of a validation error on one line: at /runs/0/verdict: ….
func firstCause(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		if _, ok := e.ErrorKind.(*kind.PropertyNames); ok {
			break // the causes below have lost their location
		}
		e = e.Causes[0]
	}
	where := "/" + strings.Join(e.InstanceLocation, "/")
	return fmt.Sprintf("at %s: %s", where, oneLine(e.ErrorKind.LocalizedString(message.NewPrinter(language.English))))
}
