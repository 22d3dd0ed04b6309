// Package reports writes what a run found. Results is the one model: every format is written from it alone, so that
// any report can be written again later from results.json.
package reports

import (
	"time"

	"parley/verdict"
)

// SchemaID names the version of the results format; it is the $id of results.schema.json.
const SchemaID = "https://parley.dev/schema/results-1.json"

// Results is the whole of results.json. Durations are fractional milliseconds. Fields are only ever added.
type Results struct {
	Schema    string          `json:"schema"`
	Suite     Suite           `json:"suite"`
	Verdict   verdict.Verdict `json:"verdict"`
	Exit      int             `json:"exit"`
	Partial   bool            `json:"partial"`   // interrupted before its end
	Selection string          `json:"selection"` // the filter that narrowed the run; "" when nothing was filtered
	Strict    bool            `json:"strict"`
	Seed      int64           `json:"seed"`
	Started   time.Time       `json:"started"`
	Duration  float64         `json:"duration_ms"`
	Runs      []Run           `json:"runs"`
}

// Suite tells which suite judged.
type Suite struct {
	Version string `json:"version"`
	Digest  string `json:"digest"` // "sha256:<hex>" over every feature and ledger
}

// Run is one protocol in one role against one target.
type Run struct {
	Protocol  string          `json:"protocol"`
	Role      string          `json:"role"`
	Verdict   verdict.Verdict `json:"verdict"`
	Target    Target          `json:"target"`
	Totals    Totals          `json:"totals"`
	Clauses   []Clause        `json:"clauses"`
	Scenarios []Scenario      `json:"scenarios"`
	// differences between drivers, interop notes, security observations
	Notes []Note `json:"notes,omitempty"`
	// why the target could not be started or reached, or what is there in its place
	Environment  string        `json:"environment,omitempty"`
	TargetStderr string        `json:"target_stderr,omitempty"` // the last of what a spawned target wrote to stderr
	Baseline     []BaselineRow `json:"baseline,omitempty"`
}

// Target is what was judged.
type Target struct {
	Name         string   `json:"name"`
	URL          string   `json:"url"`
	Drivers      []string `json:"drivers"`
	Capabilities []string `json:"capabilities"`
	Profile      string   `json:"profile,omitempty"` // the profile's path as given; "" for a bare URL or a bundled target
}

// Totals counts clauses and scenarios by outcome. The denominators are fixed before the first scenario runs.
type Totals struct {
	// clauses that are tested in this protocol; excluded ones are not counted
	Clauses   Count            `json:"clauses"`
	Excluded  int              `json:"excluded"`             // clauses that the ledger excludes
	OtherRole int              `json:"other_role,omitempty"` // clauses that are judged of targets of other roles
	Scenarios Count            `json:"scenarios"`            // one per scenario and driver
	ByLevel   map[string]Count `json:"by_level"`
	BySection map[string]Count `json:"by_section"`
}

// Count is a denominator and how it divides by outcome.
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
	Outcome   verdict.Outcome            `json:"outcome"`
	ByDriver  map[string]verdict.Outcome `json:"by_driver"`
	Scenarios []string                   `json:"scenarios"` // ids of the scenarios that may judge it
	Monitors  []string                   `json:"monitors"`  // names of the monitors that judge it
	Reason    string                     `json:"reason"`
	Excluded  bool                       `json:"excluded,omitempty"`
	// it is judged of targets of another role; the reason names them
	OtherRole bool `json:"other_role,omitempty"`
}

// Scenario is one scenario over one driver.
type Scenario struct {
	// <prefix>-<section>-<nn>, nn counting the scenarios of its feature file: unique with Driver, and the same for one
	// Suite.Digest
	ID       string              `json:"id"`
	Name     string              `json:"name"`
	Feature  string              `json:"feature"`
	Rule     string              `json:"rule,omitempty"`
	Location string              `json:"location"` // features/…:line
	Driver   string              `json:"driver"`
	Role     string              `json:"role"`
	Tags     []string            `json:"tags"` // "@" included
	Outcome  verdict.Outcome     `json:"outcome"`
	Reason   string              `json:"reason"`
	Clauses  []verdict.Judgement `json:"clauses"`
	Duration float64             `json:"duration_ms"`
	Steps    []Step              `json:"steps"`
	// clauses that were judged behind the last step, sorted
	AtEnd      []string    `json:"judged_at_end,omitempty"`
	Notes      []string    `json:"notes"`
	Failures   []Failure   `json:"failures"`
	Transcript *Transcript `json:"transcript,omitempty"`
	// what was kept beside the transcript, where something is wrong
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Step is one step of a scenario. Status is passed, failed, skipped, undefined, pending or ambiguous.
type Step struct {
	Keyword  string  `json:"keyword"`
	Text     string  `json:"text"`
	Status   string  `json:"status"`
	Duration float64 `json:"duration_ms"`
	Error    string  `json:"error,omitempty"`

	Clauses []string `json:"clauses,omitempty"` // that it has judged, sorted
}

// Failure is one broken clause in one scenario, in full.
type Failure struct {
	Clause   string        `json:"clause"`
	Level    verdict.Level `json:"level"`
	Text     string        `json:"text"`
	Section  string        `json:"section"`
	Expected string        `json:"expected"`
	Observed string        `json:"observed"`
	Diff     string        `json:"diff,omitempty"`    // a go-cmp diff, - expected + observed
	At       string        `json:"at"`                // where: connection, record number, time since the scenario's start
	Monitor  string        `json:"monitor,omitempty"` // the monitor that found it, when no step did
	// how often the scenario found the like, with this one; absent for once
	Count   int      `json:"count,omitempty"`
	Excerpt []string `json:"excerpt,omitempty"` // the transcript around the place, a line each
	Again   string   `json:"again"`             // the command that runs it again alone

	// what was found behind it by a model that knew nothing more: it settles no clause
	Following     []Following `json:"following,omitempty"`
	MoreFollowing int         `json:"more_following,omitempty"` // how many more of these there were
}

// Following is what follows from a failure: a model that was wrong once can no longer tell what is due.
type Following struct {
	Clause   string `json:"clause"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
	At       string `json:"at"`
	Monitor  string `json:"monitor"`
}

// Transcript is where the wire evidence of a scenario lies, relative to the results' folder.
type Transcript struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Evidence is where something else lies that shows what happened in a scenario, such as a picture of a page and its
// DOM, relative to the results' folder.
type Evidence struct {
	Name   string `json:"name"` // within its scenario: page-A.png
	Type   string `json:"type"` // media type
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Note is something worth telling that fails no clause.
type Note struct {
	Kind     string `json:"kind"` // "driver-difference", "interop", "target", "harness", "security", "explored"
	Text     string `json:"text"`
	Scenario string `json:"scenario,omitempty"`
}

// BaselineRow is one row of an applied baseline.
type BaselineRow struct {
	Clause  string `json:"clause"`
	Reason  string `json:"reason"`
	Expires string `json:"expires,omitempty"`
	State   string `json:"state"` // "applied", "stale" (the clause passes now), "expired", "unknown clause", "not tested"
}
