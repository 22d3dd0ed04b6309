package runner

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps"
	"parley/steps/monitor"
	"parley/target"
	"parley/transport/transcript"
)

// Reasons of clauses that observed traffic did not judge.
const (
	NeverShown = "the traffic never showed it"
	NeedsActs  = "needs the harness to act"
)

// Through is the driver of proxied traffic in results and in file names.
const Through = "proxy"

// maxConnections is the maximum number of connections of a role that are listed as scenarios.
const maxConnections = 1000

// PassiveOptions describe the observed traffic.
type PassiveOptions struct {
	Protocols *steps.Protocols
	Profile   *target.Profile
	URL       string   // of the target; "" if it has none
	Roles     []string // that are judged
	Insecure  bool     // the certificate of the target is not checked
	Strict    bool
	Out       string // folder for transcripts; "": they are not written
	Explain   string // the command that explains a clause, such as "parley explain"

	Through  string            // the driver in results; "": that of proxied traffic
	By       string            // part of the ids of scenarios and of file names; "": "proxy"
	Monitors []monitor.Monitor // that judge beside the protocol's passive ones

	// Shown, if not nil, returns a record as transcripts and excerpts show it.
	Shown func(transcript.Record) transcript.Record
}

func (o PassiveOptions) isShown(r transcript.Record) transcript.Record {
	if o.Shown == nil {
		return r
	}
	return o.Shown(r)
}

// Passive collects judgements of traffic that the harness did not cause, and makes results like those of a
// run. Such results never certify. It is not safe for concurrent use.
type Passive struct {
	o     PassiveOptions
	began time.Time
	runs  []*passiveRun
}

// passiveRun is the part of one role.
type passiveRun struct {
	*run
	judging   map[string][]string // clause → names of the monitors that judge it
	scenarios []reports.Scenario
	left      int // connections that are not listed
}

// Observed is the traffic of a role, or of one connection of it.
type Observed struct {
	Role     string
	Conn     string // "" for all connections
	Name     string // of the scenario; "": that of proxied traffic
	T        *transcript.Transcript
	Judged   []verdict.Judgement
	Failures []steps.Failure
	Whole    bool   // all monitors saw all records
	Partly   string // why only monitors of single records judged; "" if all did
	Notes    []string
	Duration time.Duration
	Redact   *transcript.Redactor

	Recording *reports.Transcript // where the records are, if a recording has them
}

// NewPassive starts collecting. The error is that of the protocol's ledger or features, or names an unknown role.
func NewPassive(o PassiveOptions) (*Passive, error) {
	p, err := o.Protocols.Find(o.Profile.Protocol)
	if err != nil {
		return nil, err
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	all, err := Scenarios(p.Features(), p)
	if err != nil {
		return nil, err
	}
	o.Through, o.By = cmp.Or(o.Through, Through), cmp.Or(o.By, Through)
	out := &Passive{o: o, began: time.Now()}
	for _, role := range o.Roles {
		ro := Options{Protocols: o.Protocols, Profile: o.Profile, Strict: o.Strict, Out: o.Out, Drivers: []string{o.Through},
			Role: role}
		client, _ := steps.ClientOf(p)
		isClient := client != "" && role == client
		if _, err := roleOf(p, ro); err != nil && !isClient {
			return nil, err
		}
		one := &passiveRun{judging: map[string][]string{}, run: &run{o: ro, protocol: p, role: role, ledger: ledger,
			concerned: rolesByClause(p, all), redact: transcript.NewRedactor(o.Profile.Secrets...)}}
		for _, m := range append(steps.PassiveMonitorsOf(p, role), o.Monitors...) {
			for _, id := range m.Clauses {
				one.judging[id] = append(one.judging[id], m.Name)
			}
		}
		if isClient {
			one.client = map[string]bool{}
			for id := range one.judging {
				one.client[id] = true
			}
		}
		out.runs = append(out.runs, one)
	}
	return out, nil
}

// Judgeable returns how many of the clauses that apply to a role are judged from observed traffic, and how many are
// not.
func (p *Passive) Judgeable(role string) (judged, not []string) {
	for _, one := range p.runs {
		if one.role != role {
			continue
		}
		for _, row := range one.ledger.Rows() {
			switch {
			case !row.Tested() && one.client == nil || !one.isJudged(row.ID):
			case len(one.judging[row.ID]) > 0:
				judged = append(judged, row.ID)
			default:
				not = append(not, row.ID)
			}
		}
	}
	return judged, not
}

// Add adds traffic that has ended, and writes its transcript. If a role has very many connections, later ones are
// only counted, unless a clause is broken on them.
func (p *Passive) Add(o Observed) {
	i := slices.IndexFunc(p.runs, func(one *passiveRun) bool { return one.role == o.Role })
	if i < 0 || o.T.Len() == 0 {
		return
	}
	one := p.runs[i]
	one.redact = o.Redact
	for j := range o.Judged {
		o.Judged[j].Reason = one.redact.String(o.Judged[j].Reason)
	}
	n := len(one.scenarios) + 1
	id := fmt.Sprintf("%s-%s-%02d", one.protocol.Kind().Prefix, p.o.By, n)
	for _, j := range o.Judged {
		j.Driver, j.Scenario = p.o.Through, id
		one.judged = worstOf(one.judged, j)
	}
	if n > maxConnections && len(o.Failures) == 0 || n > 2*maxConnections {
		one.left++
		return
	}
	one.scenarios = append(one.scenarios, one.observedScenario(id, o, p.o))
}

// worstOf adds a judgement of a clause unless there is already one with the same outcome.
func worstOf(all []verdict.Judgement, j verdict.Judgement) []verdict.Judgement {
	for _, had := range all {
		if had.Clause == j.Clause && had.Outcome == j.Outcome {
			return all
		}
	}
	return append(all, j)
}

// observedScenario represents observed traffic as a scenario.
func (one *passiveRun) observedScenario(id string, o Observed, po PassiveOptions) reports.Scenario {
	pl := Planned{ID: id, Name: "the traffic through the proxy", Location: "observed"}
	if o.Conn != "" {
		pl.Name = "the traffic of connection " + o.Conn
	}
	pl.Name = cmp.Or(o.Name, pl.Name)
	sc := one.blankReport(&driverRun{name: po.Through}, pl)
	sc.Outcome, sc.Reason, sc.Duration = verdict.NotTested, NeverShown, millis(o.Duration)
	seen := map[string]bool{}
	for _, j := range o.Judged {
		if key := j.Clause + string(j.Outcome); !seen[key] {
			seen[key] = true
			sc.Clauses = append(sc.Clauses, verdict.Judgement{Clause: j.Clause, Outcome: j.Outcome, Reason: j.Reason})
		}
		if isWorse(j.Outcome, sc.Outcome) {
			sc.Outcome, sc.Reason = j.Outcome, j.Reason
		}
	}
	slices.SortStableFunc(sc.Clauses, func(a, b verdict.Judgement) int { return strings.Compare(a.Clause, b.Clause) })
	for _, f := range o.Failures {
		if f.Outcome == verdict.NotApplicable {
			sc.Notes = append(sc.Notes, one.redact.String(f.Clause+": "+f.Observed))
			continue
		}
		out := one.failureReport(sc, f, nil, nil)
		out.Again = po.Explain + " " + f.Clause
		near := o.T.Page(max(f.At-7, 0), 9)
		for i := range near {
			near[i] = po.isShown(near[i])
		}
		if at := slices.IndexFunc(near, func(r transcript.Record) bool { return r.N == f.At }); at >= 0 {
			r := near[at]
			out.At = fmt.Sprintf("connection %s, record %d, +%.1f ms", r.Conn, r.N, millis(r.At))
			out.Excerpt = recordsAround(near, f.At, one.redact)
		}
		sc.Failures = append(sc.Failures, out)
	}
	if !o.Whole {
		sc.Notes = append(sc.Notes, fmt.Sprintf("all monitors saw only the first %d records, or %d MiB; later records "+
			"were seen only by monitors of single records", transcript.MaxRecords, transcript.MaxBytes>>20))
	}
	if o.Partly != "" {
		sc.Notes = append(sc.Notes, o.Partly)
	}
	sc.Notes = append(sc.Notes, o.Notes...)
	if lost := o.T.Overflow(); lost > 0 {
		sc.Notes = append(sc.Notes, steps.NotStored(lost))
	}
	sc.Transcript, sc.Recording = one.keepTranscript(pl, o, po), o.Recording
	return sc
}

// isWorse reports whether an outcome takes precedence over another in a scenario.
func isWorse(a, b verdict.Outcome) bool {
	order := []verdict.Outcome{verdict.NotApplicable, verdict.NotTested, verdict.Passed, verdict.Warned, verdict.Failed}
	return slices.Index(order, a) > slices.Index(order, b)
}

// keepTranscript writes a transcript of any length.
func (one *passiveRun) keepTranscript(pl Planned, o Observed, po PassiveOptions) *reports.Transcript {
	if one.o.Out == "" {
		return nil
	}
	rel := filepath.Join("transcripts", po.By+"-"+one.roleName()+pl.ID+".txt")
	f, err := os.Create(filepath.Join(one.o.Out, rel))
	if err != nil {
		one.notWritten("transcript", err)
		return nil
	}
	sum := sha256.New()
	w := bufio.NewWriter(io.MultiWriter(f, sum))
	fmt.Fprintf(w, "%s  %s\n%s\n\n", pl.ID, pl.Name, pl.Location)
	for rec := range o.T.From(0) {
		_, _ = w.WriteString(one.redact.String(po.isShown(rec).Line(0)) + "\n") // Flush returns the first error
	}
	err = w.Flush()
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		one.notWritten("transcript", err)
		return nil
	}
	return &reports.Transcript{Path: filepath.ToSlash(rel), SHA256: hex.EncodeToString(sum.Sum(nil))}
}

// Results returns the results. The verdict is non-conformant if a binding clause is broken, else incomplete; the exit
// code is 1 if one is broken, else 0 if any clause was judged, else 5. Clauses that could not be judged affect neither.
func (p *Passive) Results() *reports.Results {
	out := &reports.Results{Schema: reports.SchemaID, Suite: suiteOf(p.o.Protocols), Passive: true, Strict: p.o.Strict,
		Verdict: verdict.Incomplete, Exit: verdict.ExitIncomplete, Started: p.began.UTC(), Runs: []reports.Run{},
		Duration: millis(time.Since(p.began))}
	broken, judged, harness := false, false, false
	for _, one := range p.runs {
		run := one.sumUp(p.o)
		for _, c := range run.Clauses {
			broken = broken || c.Outcome == verdict.Failed
			judged = judged || len(c.ByDriver) > 0
		}
		harness = harness || one.broken
		out.Runs = append(out.Runs, run)
	}
	if judged {
		out.Exit = verdict.ExitConformant
	}
	if broken {
		out.Verdict, out.Exit = verdict.NonConformant, verdict.ExitNonConformant
	}
	if harness {
		out.Exit = verdict.ExitHarness
	}
	return out
}

// sumUp makes the run of a role.
func (one *passiveRun) sumUp(o PassiveOptions) reports.Run {
	t := one.describeTarget()
	t.URL, t.Insecure = transcript.MaskURLs(o.URL), o.Insecure
	out := reports.Run{Protocol: steps.Name(one.protocol), Role: one.role, Verdict: verdict.Incomplete, Target: t,
		Notes: one.notes, Scenarios: append([]reports.Scenario{}, one.scenarios...)}
	if one.left > 0 {
		out.Notes = append(out.Notes, reports.Note{Kind: "harness",
			Text: fmt.Sprintf("%d more connections were judged but are not listed", one.left)})
	}
	out.Clauses = one.clauseOutcomes(one.scenarios)
	for i := range out.Clauses {
		c := &out.Clauses[i]
		c.Monitors = append([]string{}, one.judging[c.ID]...)
		if c.Outcome == verdict.NotTested && c.Reason == verdict.NotRun {
			c.Reason = NeedsActs
			if len(c.Monitors) > 0 {
				c.Reason = NeverShown
			}
		}
		if c.Outcome == verdict.Failed {
			out.Verdict = verdict.NonConformant
		}
	}
	out.Totals = countTotals(out.Clauses, out.Scenarios)
	out.Causes = reports.FindCauses(&out, one.o.Strict)
	return out
}
