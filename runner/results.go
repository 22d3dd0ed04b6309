package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/unixurl"
	"parley/reports"
	"parley/steps"
	"parley/target"
	"parley/transport/driver/r3labs"
	"parley/transport/transcript"
)

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// scenarioReport makes the report of one scenario, and writes its transcript and evidence.
func (r *run) scenarioReport(d *driverRun, pl Planned, res steps.Result) reports.Scenario {
	sc := r.blankReport(d, pl)
	sc.Outcome, sc.Reason, sc.Duration = res.Outcome, r.redact.String(res.Reason), millis(res.Duration)
	for _, c := range res.Clauses {
		c.Reason = r.redact.String(c.Reason)
		sc.Clauses = append(sc.Clauses, c)
	}
	for _, rec := range res.Records {
		if text, ok := strings.CutPrefix(rec.Label, r3labs.RemarkPrefix); ok && rec.Kind == transcript.Remark {
			r.addNote(reports.Note{Kind: "interop", Scenario: pl.ID, Text: r.redact.String(text)})
		}
	}
	for _, text := range res.Security {
		r.addNote(reports.Note{Kind: "security", Scenario: pl.ID, Text: r.redact.String(text)})
	}
	for _, text := range res.Target {
		r.noteTarget(r.redact.String(text))
	}
	for _, n := range res.Notes {
		sc.Notes = append(sc.Notes, r.redact.String(n))
	}
	for i, s := range res.Steps {
		step := reports.Step{Keyword: s.Keyword, Text: s.Text, Line: pl.stepLine(i + 1), Status: s.Status,
			Duration: millis(s.Duration),
			Clauses:  s.Clauses}
		if s.Err != nil {
			step.Error = r.redact.String(s.Err.Error())
		}
		sc.Steps = append(sc.Steps, step)
	}
	sc.AtEnd, sc.Judges = res.AtEnd, res.Judges
	sc.Transcript = r.writeTranscript(d, pl, res)
	sc.Recording = r.writeRecording(d, pl, res.Records)
	sc.Evidence = r.writeEvidence(d, pl, res.Evidence)
	for _, f := range res.Failures {
		one := r.failureReport(sc, f, res.Run, res.Records)
		one.Location = pl.stepPlace(f.Step.Number)
		sc.Failures = append(sc.Failures, one)
	}
	return sc
}

func (r *run) addNote(n reports.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, n)
}

// blankReport returns the report of a scenario that has not run.
func (r *run) blankReport(d *driverRun, pl Planned) reports.Scenario {
	return reports.Scenario{ID: pl.ID, Name: pl.Name, Feature: pl.Feature, Rule: pl.Rule, Location: pl.Location,
		Driver: d.name,
		Role:   r.role, Tags: append([]string{}, pl.Tags...), Clauses: []verdict.Judgement{}, Steps: []reports.Step{},
		Notes: []string{}, Failures: []reports.Failure{}}
}

// commandLine returns the command line of the run.
func (r *run) commandLine() string {
	if roles := steps.Roles(r.protocol); len(roles) > 1 {
		return r.o.Again + " --role " + r.role
	}
	return r.o.Again
}

func (r *run) failureReport(sc reports.Scenario, f steps.Failure, run target.Running,
	records []transcript.Record) reports.Failure {
	row, _ := r.ledger.Row(f.Clause)
	out := reports.Failure{Clause: f.Clause, Level: row.Level, Text: row.Text, Section: row.Section, Monitor: f.Monitor,
		Count: f.Count, Missed: f.Miss != nil, Step: f.Step.Text,
		Expected: r.redact.String(f.Expected), Observed: r.redact.String(f.Observed),
		Diff:  r.redact.String(strings.ReplaceAll(f.Diff, "\u00a0", " ")), // cmp mixes both kinds of space at random
		Again: r.commandLine() + " --driver " + sc.Driver + " --tags " + selectingTag(sc, f)}
	if !strings.Contains(out.Observed, steps.OnStderr) {
		out.Observed += steps.QuoteStderr(r.redact, f.Wrote(run))
	}
	out.At = placeOfRecord(records, f.At)
	if out.At != "" {
		out.Excerpt = recordsAround(records, f.At, r.redact)
	}
	for _, next := range f.Following {
		out.Following = append(out.Following, reports.Following{Clause: next.Clause, Expected: r.redact.String(next.Expected),
			Observed: r.redact.String(next.Observed), At: placeOfRecord(records, next.At), Monitor: next.Monitor})
	}
	out.MoreFollowing = f.MoreFollowing
	return out
}

// selectingTag returns the tag that selects what found a failure. A monitor judges every scenario, whatever its tags,
// so that only the scenario in which it found something finds it again.
func selectingTag(sc reports.Scenario, f steps.Failure) string {
	switch {
	case f.Monitor == "", strings.ContainsAny(sc.ID, " ()'\"\\"): // a user's feature may have any name
		return "@" + f.Clause
	case slices.Contains(sc.Tags, exploredTag):
		return exploredTag
	case slices.Contains(sc.Tags, cutTag):
		return cutTag
	}
	return "@" + sc.ID
}

// placeOfRecord describes the position of a record; "" for none.
func placeOfRecord(records []transcript.Record, at int) string {
	if at <= 0 || at > len(records) {
		return ""
	}
	rec := records[at-1]
	text := fmt.Sprintf("record %d, +%.1f ms", rec.N, millis(rec.At))
	if rec.Conn == "" { // a remark, or what a process said
		return text
	}
	return "client " + rec.Conn + ", " + text
}

// recordsAround renders the records around a place.
func recordsAround(records []transcript.Record, at int, redact *transcript.Redactor) []string {
	var out []string
	for _, rec := range records {
		if rec.N < at-6 || rec.N > at+2 {
			continue
		}
		mark := "  "
		if rec.N == at {
			mark = "> "
		}
		rec.Bytes, rec.Label = redact.Bytes(rec.Bytes), redact.String(rec.Label) // before clipping
		out = append(out, mark+rec.Line(240))
	}
	return out
}

// maxEvidence bounds each evidence file, since the target determines the size of a page.
const maxEvidence = 8 << 20

// evidenceName matches names that are safe as the end of a file name on any system.
var evidenceName = regexp.MustCompile(`^[A-Za-z0-9-]+\.[A-Za-z0-9-]+$`)

// writeEvidence writes what a scenario has attached, with secrets redacted in text. It leaves out what is too large,
// and adds a note.
func (r *run) writeEvidence(d *driverRun, pl Planned, list []steps.Evidence) []reports.Evidence {
	if r.o.Out == "" {
		return nil
	}
	var out []reports.Evidence
	for _, e := range list {
		if strings.HasPrefix(e.Type, "text/") {
			e.Body = r.redact.Bytes(e.Body)
		}
		if n := len(e.Body); n > maxEvidence {
			r.addNote(reports.Note{Kind: "harness", Scenario: pl.ID,
				Text: fmt.Sprintf("evidence %s of driver %s was not stored: it has %d bytes, more than %d", e.Name, d.name, n,
					maxEvidence)})
			continue
		}
		kept, err := writeEvidence(r.o.Out, d.name+"-"+r.roleName()+pl.ID+"-", e)
		if err != nil {
			r.notWritten("evidence", err)
			continue
		}
		out = append(out, kept)
	}
	return out
}

// writeEvidence writes one evidence file, whose name begins with prefix.
func writeEvidence(out, prefix string, e steps.Evidence) (reports.Evidence, error) {
	if !evidenceName.MatchString(e.Name) {
		return reports.Evidence{}, fmt.Errorf("%q cannot be the name of an evidence file", e.Name)
	}
	if err := os.MkdirAll(filepath.Join(out, "evidence"), 0o755); err != nil {
		return reports.Evidence{}, err
	}
	rel := filepath.Join("evidence", prefix+e.Name)
	if err := writeWhole(filepath.Join(out, rel), e.Body); err != nil {
		return reports.Evidence{}, err
	}
	sum := sha256.Sum256(e.Body)
	return reports.Evidence{Name: e.Name, Type: e.Type, Path: filepath.ToSlash(rel), SHA256: hex.EncodeToString(sum[:])},
		nil
}

// writeWhole writes a file that only its owner reads, or leaves none, as on a full disk.
func writeWhole(path string, body []byte) error {
	err := os.WriteFile(path, body, 0o600)
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

// notWritten notes that part of the results could not be written, which is a harness failure.
func (r *run) notWritten(what string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = true
	r.notes = append(r.notes, reports.Note{Kind: "harness", Text: what + " not written: " + err.Error()})
}

// sumUpRun sums the run up.
func (r *run) sumUpRun(ctx context.Context) *reports.Results {
	r.mu.Lock()
	defer r.mu.Unlock()
	interrupted := errors.Is(ctx.Err(), context.Canceled)
	one := reports.Run{Protocol: steps.Name(r.protocol), Role: r.role, Target: r.describeTarget(),
		Environment: r.redact.String(r.env), Notes: r.notes, Cuts: r.cuts,
		Folder: steps.FolderOf(r.protocol)}
	one.Obligations = r.obligations()
	if r.shared != nil {
		one.TargetStderr = r.redact.String(cut.End(r.lastWords+r.shared.Stderr(), maxStderr))
	}
	for _, d := range r.drivers {
		for _, pl := range d.plan {
			one.Scenarios = append(one.Scenarios, r.outcomeOf(d, pl))
		}
	}
	if goneAway(one.Scenarios) {
		one.Notes = append(one.Notes, reports.Note{Kind: "target", Text: wentAway +
			"; failures of scenarios that ran at that moment may be each other's: run it again with --concurrency 1, or have " +
			"a profile start it"})
	}
	if one.Target.Insecure {
		one.Notes = append(one.Notes, reports.Note{Kind: "security", Text: "the certificate of the target was not checked " +
			"(--insecure, or tls.insecure in the profile); such results never certify"})
	}
	if r.o.Faults != nil {
		one.Faults = r.o.Faults()
		for _, f := range one.Faults {
			one.Notes = append(one.Notes, reports.Note{Kind: "fault", Text: f.Text()})
		}
	}
	one.Notes = append(append(one.Notes, deadlineNotes(ctx)...), r.noteDifferences()...)
	one.Clauses = r.clauseOutcomes(one.Scenarios)
	one.Notes = append(one.Notes, r.cutOffNotes(one.Clauses)...)
	one.Baseline = r.applyBaseline(one.Clauses)
	excuseClauses(one.Scenarios, one.Clauses)
	one.Totals = countTotals(one.Clauses, one.Scenarios)
	one.Causes = reports.FindCauses(&one, r.o.Strict)
	one.Judged = r.everyJudgement()
	v, exit := r.decideVerdict(&one, r.describeFilters() != "")
	one.Verdict = v
	if interrupted {
		exit = verdict.ExitInterrupted
	}
	return &reports.Results{Schema: reports.SchemaID, Suite: suiteOf(r.o.Protocols),
		Options: r.recordedOptions(), Shard: r.o.Shard.shardResult(), Verdict: v, Exit: exit, Partial: interrupted,
		Selection: r.describeFilters(), Strict: r.o.Strict,
		Seed: r.o.Seed, Started: r.started.UTC(), Duration: millis(time.Since(r.started)), Runs: []reports.Run{one}}
}

// decideVerdict returns the verdict on what was found, and its exit code.
func (r *run) decideVerdict(one *reports.Run, filtered bool) (verdict.Verdict, int) {
	var counted []verdict.Judgement
	for _, c := range one.Clauses {
		if !c.Excluded && !c.OtherRole {
			counted = append(counted, verdict.Judgement{Clause: c.ID, Outcome: c.Outcome})
		}
	}
	return verdict.Decide(counted, r.ledger.Level, verdict.Circumstances{Filtered: filtered, Harness: r.broken,
		CutOff:      len(r.unfinishedJudgements(one.Clauses)) > 0,
		Unreachable: one.Environment != "", Forgiven: isForgiven(one.Baseline), AllowIncomplete: r.o.AllowIncomplete})
}

// describeFilters describes what narrowed the run or kept it from certifying.
func (r *run) describeFilters() string {
	var why []string
	if r.o.Tags != "" {
		why = append(why, r.o.Tags)
	}
	if g := r.o.Godog; g.Tags != "" || len(g.Paths) > 0 {
		why = append(why, strings.TrimSpace(g.Tags+" "+strings.Join(g.Paths, " ")))
	}
	if len(r.o.Own) > 0 {
		why = append(why, r.ownNames())
	}
	if r.o.Faults != nil {
		why = append(why, "the suite with injected faults")
	}
	if r.o.Shard.Count > 0 {
		why = append(why, r.o.Shard.String())
	}
	if r.o.FailFast.Why() != "" {
		why = append(why, beforeFailure)
	}
	if !r.countsCertified() {
		why = append(why, fmt.Sprintf("drivers %s: %s is certified over %s only",
			strings.Join(driverNames(r.o), ", "), steps.Name(r.protocol), strings.Join(r.protocol.Certifying(), " and ")))
	}
	return strings.Join(why, "; ")
}

// ownNames names the user's features that were run.
func (r *run) ownNames() string {
	var names []string
	for _, f := range r.o.Own {
		names = append(names, f.Path)
	}
	if r.o.Beside {
		return "the suite with " + strings.Join(names, ", ") + ", not the suite's,"
	}
	return strings.Join(names, ", ") + ", not the suite's,"
}

// isCertifying reports whether a driver's results count toward the protocol's verdict.
func (r *run) isCertifying(driver string) bool {
	return slices.Contains(r.protocol.Certifying(), driver)
}

func (r *run) countsCertified() bool {
	return slices.ContainsFunc(r.drivers, func(d *driverRun) bool { return r.isCertifying(d.name) })
}

func (r *run) describeTarget() reports.Target {
	t := reports.Target{Name: r.o.Profile.Name, URL: transcript.MaskURLs(r.o.Profile.URL), Drivers: driverNames(r.o),
		Insecure:     r.o.Profile.Insecure(),
		Capabilities: append([]string{}, r.o.Profile.Capabilities...), Profile: r.o.Profile.Path,
		Origin: originOf(r.o.Profile), ProfileDigest: r.o.Profile.Digest}
	if r.shared != nil {
		t.URL = unixurl.Shown(r.shared.BaseURL())
	}
	return t
}

// outcomeOf returns the report of a planned scenario, including one that never began.
func (r *run) outcomeOf(d *driverRun, pl Planned) reports.Scenario {
	if sc, ok := r.results[d.name][pl.ID]; ok {
		return sc
	}
	sc := r.blankReport(d, pl)
	sc.Outcome, sc.Reason = verdict.NotTested, cmp.Or(r.o.FailFast.Why(), "the run ended before it")
	if r.env != "" {
		sc.Outcome, sc.Reason = verdict.EnvError, r.env
	}
	for _, id := range pl.Clauses {
		j := verdict.Judgement{Clause: id, Driver: d.name, Scenario: pl.ID, Outcome: sc.Outcome, Reason: sc.Reason,
			Unfinished: r.env == "" && r.o.FailFast.Why() == ""}
		sc.Clauses, r.judged = append(sc.Clauses, j), append(r.judged, j)
	}
	return sc
}

// clauseOutcomes computes the outcome of every row of the ledger.
func (r *run) clauseOutcomes(scenarios []reports.Scenario) []reports.Clause {
	byClause := map[string][]verdict.Judgement{}
	for _, j := range r.judged {
		byClause[j.Clause] = append(byClause[j.Clause], j)
	}
	judges := map[string]map[string]bool{}
	for _, sc := range scenarios {
		for _, c := range sc.Clauses {
			if judges[c.Clause] == nil {
				judges[c.Clause] = map[string]bool{}
			}
			judges[c.Clause][sc.ID] = true
		}
	}
	monitors := r.monitorNames()
	var out []reports.Clause
	for _, row := range r.ledger.Rows() {
		c := r.unjudgedReason(row)
		c.Scenarios = append(c.Scenarios, slices.Sorted(maps.Keys(judges[row.ID]))...)
		c.Monitors = append(c.Monitors, monitors[row.ID]...)
		if !c.Excluded && !c.OtherRole {
			c.Outcome, c.Reason, c.ByDriver = verdict.Aggregate(byClause[row.ID], r.countingDrivers(byClause[row.ID]))
			c.Reason = r.redact.String(c.Reason)
		}
		out = append(out, c)
	}
	return out
}

// goneAway reports whether a target that Parley did not start went away during the run.
func goneAway(scenarios []reports.Scenario) bool {
	return slices.ContainsFunc(scenarios, func(sc reports.Scenario) bool { return strings.HasPrefix(sc.Reason, wentAway) })
}

// maxStderr bounds how much of the end of a target's stderr a report keeps, in bytes.
const maxStderr = 64 << 10

// countingDrivers reports which drivers' passes make a clause pass: only certifying ones if any of them judged it, else
// all.
func (r *run) countingDrivers(js []verdict.Judgement) func(string) bool {
	if slices.ContainsFunc(js, func(j verdict.Judgement) bool { return r.isCertifying(j.Driver) }) {
		return r.isCertifying
	}
	return func(string) bool { return true }
}

func (r *run) monitorNames() map[string][]string {
	out := map[string][]string{}
	for _, m := range r.protocol.Monitors() {
		if !m.For(r.role) {
			continue
		}
		for _, id := range m.Clauses {
			out[id] = append(out[id], m.Name)
		}
	}
	return out
}
