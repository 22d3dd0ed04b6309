package steps

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cucumber/godog"
	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// ok and broken are checks of clauses.
// findings are several, in a table of a test.
type findings = []verdict.Finding

func ok(clauses ...string) verdict.Finding { return verdict.Finding{Clauses: clauses, OK: true} }

func broken(clauses ...string) verdict.Finding {
	return verdict.Finding{Clauses: clauses, Expected: "this", Observed: "that", Diff: "-this +that", At: 7}
}

// all are tags of every level.
var all = []string{"@AS-001", "@AS-002", "@AS-003", "@AS-004", "@AS-005", "@sse"}

// outcomes of a world's clauses: "AS-001 passed".
func outcomes(w *World, err error) []string {
	total, reason := w.deriveOutcome(err)
	var out []string
	for _, c := range w.clauseOutcomes(total, reason) {
		out = append(out, c.Clause+" "+string(c.Outcome))
	}
	return out
}

func TestJudge(t *testing.T) {
	rows := []struct {
		reason string
		strict bool
		tags   []string
		checks []verdict.Finding
		want   []string // outcomes of the tags
		failed []string // clauses of failures, with their outcomes
	}{
		{"a kept clause has passed", false, []string{"@AS-001"}, findings{ok("AS-001")}, []string{"AS-001 passed"}, nil},
		{"a clause without a tag is ignored", false, []string{"@AS-001"},
			findings{ok("AS-001"), broken("AS-006", "AS-002")}, []string{"AS-001 passed"}, nil},
		{"a broken MUST has failed", false, []string{"@AS-001"}, findings{broken("AS-001")}, []string{"AS-001 failed"},
			[]string{"AS-001 failed"}},
		{"a broken CONFLICT too", false, []string{"@AS-005"}, findings{broken("AS-005")}, []string{"AS-005 failed"},
			[]string{"AS-005 failed"}},
		{"a broken SHOULD warns", false, []string{"@AS-002"}, findings{broken("AS-002")}, []string{"AS-002 warned"},
			[]string{"AS-002 warned"}},
		{"and fails in strict mode", true, []string{"@AS-002"}, findings{broken("AS-002")}, []string{"AS-002 failed"},
			[]string{"AS-002 failed"}},
		{"MAY and INFO are observed", false, []string{"@AS-003", "@AS-004"}, findings{broken("AS-003", "AS-004")},
			[]string{"AS-003 not-applicable", "AS-004 not-applicable"}, nil},
		{"in strict mode too", true, []string{"@AS-003", "@AS-004"}, findings{broken("AS-003", "AS-004")},
			[]string{"AS-003 not-applicable", "AS-004 not-applicable"}, nil},
		{"a clause unknown to the ledger is binding", false, []string{"@AS-999"}, findings{broken("AS-999")},
			[]string{"AS-999 failed"}, []string{"AS-999 failed"}},
		{"one check breaks every clause that it names", false, all, findings{broken("AS-001", "AS-002", "AS-005")},
			[]string{"AS-001 failed", "AS-002 warned", "AS-003 not-tested", "AS-004 not-tested", "AS-005 failed"},
			[]string{"AS-001 failed", "AS-002 warned", "AS-005 failed"}},
		{"a failure stays, whatever comes after it", false, []string{"@AS-001"},
			findings{ok("AS-001"), broken("AS-001"), ok("AS-001")}, []string{"AS-001 failed"}, []string{"AS-001 failed"}},
		{"a warning stays too", false, []string{"@AS-002"}, findings{broken("AS-002"), ok("AS-002")},
			[]string{"AS-002 warned"}, []string{"AS-002 warned"}},
		{"every check is judged, even after a broken one", false, []string{"@AS-001", "@AS-006"},
			findings{broken("AS-001"), ok("AS-006")}, []string{"AS-001 failed", "AS-006 passed"}, []string{"AS-001 failed"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			w := world(t, r.strict, r.tags...)
			if err := w.Judge(r.checks...); err != nil {
				t.Errorf("Judge ends the scenario: %v", err)
			}
			if diff := cmp.Diff(r.want, outcomes(w, nil)); diff != "" {
				t.Errorf("clauses; want(-) got(+):\n%s", diff)
			}
			var failed []string
			for _, f := range w.failures {
				failed = append(failed, f.Clause+" "+string(f.Outcome))
				if f.Expected != "this" || f.Observed != "that" || f.Diff != "-this +that" || f.At != 7 {
					t.Errorf("the failure is told as %+v", f)
				}
			}
			if diff := cmp.Diff(r.failed, failed); diff != "" {
				t.Errorf("failures; want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestCutIsNoPass: a wait that was cut short neither fails nor passes a clause.
func TestCutIsNoPass(t *testing.T) {
	w := world(t, false, all...)
	_ = w.Judge(ok("AS-001"))
	w.CutOff()
	_ = w.Judge(ok("AS-002"), broken("AS-005"))
	if len(w.failures) > 0 || w.judged["AS-001"].Outcome != verdict.Passed || len(w.judged) != 1 {
		t.Errorf("failures %v, judged %v", w.failures, w.judged)
	}
}

// TestCutTakesPassBack: if the cut skipped a check of a clause that had passed before, the clause and the scenario
// are not tested; an earlier failure stays.
func TestCutTakesPassBack(t *testing.T) {
	const untested = verdict.NotTested
	one, both := findings{ok("AS-001")}, findings{ok("AS-001", "AS-006")}
	for _, row := range []struct {
		reason string
		ends   bool // before its last step
		before []verdict.Finding
		behind []verdict.Finding
		total  verdict.Outcome
		first  verdict.Outcome // of AS-001
		second verdict.Outcome // of AS-006
	}{
		{"the same clause", false, both, one, untested, untested, verdict.Passed},
		{"the skipped check fails", false, both, findings{broken("AS-001")}, untested, untested, verdict.Passed},
		{"another clause", false, one, findings{ok("AS-006")}, untested, verdict.Passed, untested},
		{"other scenarios' clause", false, both, findings{ok("AS-002")}, verdict.Passed, verdict.Passed, verdict.Passed},
		{"the last steps are left out", true, both, one, untested, untested, untested},
		{"broken before", false, findings{broken("AS-001"), ok("AS-006")}, both, verdict.Failed, verdict.Failed, untested},
	} {
		t.Run(row.reason, func(t *testing.T) {
			w := world(t, false, "@AS-001", "@AS-006")
			w.whole = !row.ends
			_ = w.Judge(row.before...)
			w.CutOff()
			_ = w.Judge(row.behind...)
			if total, reason := w.deriveOutcome(nil); total != row.total {
				t.Errorf("the scenario is %s: %s, want %s", total, reason, row.total)
			}
			want := []string{"AS-001 " + string(row.first), "AS-006 " + string(row.second)}
			if diff := cmp.Diff(want, outcomes(w, nil)); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestNeed(t *testing.T) {
	rows := []struct {
		reason string
		check  verdict.Finding
		cut    bool
		want   error // its type
		text   string
	}{
		{"what is there", ok("AS-001"), false, nil, ""},
		{"a binding clause is broken", broken("AS-001", "AS-005"), false, &BrokenError{},
			"AS-001, AS-005 broken\n  expected  this\n  observed  that\n-this +that"},
		{"a SHOULD is broken: it warns, and the rest cannot be asked", broken("AS-002"), false, &NotTestedError{},
			"not tested: expected this; observed that"},
		{"an observation ends it as well", broken("AS-004"), false, &NotTestedError{},
			"not tested: expected this; observed that"},
		{"no clause of the scenario is broken", broken("AS-006"), false, &NotTestedError{},
			"not tested: expected this; observed that"},
		{"the scenario was cut off: nothing is the target's fault", broken("AS-001"), true, &NotTestedError{},
			"not tested: the scenario was cut off: interrupted, or out of time"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			w := world(t, false, all...)
			w.cut = r.cut
			err := w.Need(r.check)
			if got, want := fmt.Sprintf("%T", err), fmt.Sprintf("%T", r.want); got != want {
				t.Fatalf("Need: %s (%v), want %s", got, err, want)
			}
			if err != nil && err.Error() != r.text {
				t.Errorf("Need: %q, want %q", err, r.text)
			}
			if r.cut && len(w.failures) > 0 {
				t.Errorf("a failure was told: %+v", w.failures)
			}
		})
	}
}

func TestOutcome(t *testing.T) {
	rows := []struct {
		reason string
		checks []verdict.Finding
		err    error
		want   verdict.Outcome
		why    string
		left   string // outcome of AS-006, which no step judged
	}{
		{"nothing broken", findings{ok("AS-001")}, nil, verdict.Passed, "", "not-tested"},
		{"a failure", findings{broken("AS-001")}, nil, verdict.Failed, "that", "not-tested"},
		{"a warning", findings{broken("AS-002")}, nil, verdict.Warned, "that", "not-tested"},
		{"a warning and a failure", findings{broken("AS-002"), broken("AS-001")}, nil, verdict.Failed, "that", "not-tested"},
		{"a failure that ended it", findings{broken("AS-001")}, &BrokenError{Failures: []Failure{{Clause: "AS-001"}}},
			verdict.Failed, "that", "not-tested"},
		{"a failure before something could not be tested", findings{broken("AS-001")}, NotTestedf("no model"), verdict.Failed,
			"that", "not-tested"},
		{"a warning before it", findings{broken("AS-002")}, NotTestedf("no model"), verdict.Warned, "not tested: no model",
			"not-tested"},
		{"it could not be tested", findings{ok("AS-001")}, NotTestedf("no %s", "model"), verdict.NotTested, "no model",
			"not-tested"},
		{"it is optional", nil, &NotApplicableError{Reason: "not declared"}, verdict.NotApplicable, "not declared",
			"not-applicable"},
		{"wrapped errors count as well", nil, fmt.Errorf("step: %w", NotTestedf("no model")), verdict.NotTested, "no model",
			"not-tested"},
		{"unreachable", findings{broken("AS-001")}, &UnreachableError{Err: errors.New("refused")}, verdict.EnvError,
			"the target cannot be reached: refused", "environment-error"},
		{"any other error is a harness error", nil, errors.New("oops"), verdict.HarnessError, "oops", "harness-error"},
		{"so is an undefined step", nil, godog.ErrUndefined, verdict.HarnessError, godog.ErrUndefined.Error(),
			"harness-error"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			w := world(t, false, "@AS-001", "@AS-002", "@AS-006")
			_ = w.Judge(r.checks...)
			got, why := w.deriveOutcome(r.err)
			if got != r.want || why != r.why {
				t.Errorf("outcome is %s, %q; want %s, %q", got, why, r.want, r.why)
			}
			for _, c := range w.clauseOutcomes(got, why) {
				if c.Clause != "AS-006" {
					continue
				}
				if string(c.Outcome) != r.left || c.Reason == "" {
					t.Errorf("what nothing judged is %s, %q; want %s", c.Outcome, c.Reason, r.left)
				}
			}
		})
	}
}

func TestObserve(t *testing.T) {
	w := world(t, true, "@AS-001")
	w.Observe("AS-001", "green")
	w.Observe("AS-006", "not a tag of this scenario")
	got := w.clauseOutcomes(verdict.Passed, "")
	if diff := cmp.Diff([]verdict.Judgement{{Clause: "AS-001", Outcome: verdict.NotApplicable, Reason: "observed: green"}},
		got); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	_ = w.Judge(broken("AS-001"))
	if got := outcomes(w, nil); got[0] != "AS-001 failed" {
		t.Errorf("an observation hides a failure: %v", got)
	}
}

func TestSkippedForGodog(t *testing.T) {
	for _, err := range []error{NotTestedf("x"), &NotApplicableError{}} {
		if !errors.Is(err, godog.ErrSkip) {
			t.Errorf("%T is not skipped", err)
		}
	}
	for _, err := range []error{&BrokenError{Failures: []Failure{{}}}, &UnreachableError{Err: errors.New("x")}} {
		if errors.Is(err, godog.ErrSkip) {
			t.Errorf("%T is skipped", err)
		}
	}
}

func TestReached(t *testing.T) {
	w := world(t, false)
	for _, r := range []Reach{Opened, Given, Greeted} {
		w.RecordReach(r)
	}
	if got := w.sumUpResult(nil, nil).Reached; got != Given {
		t.Errorf("the target has come to %d, want the farthest, %d", got, Given)
	}
}

func TestMonitored(t *testing.T) {
	f := func(ok bool, at int, clauses ...string) verdict.Finding {
		return verdict.Finding{Clauses: clauses, OK: ok, Expected: "e", Observed: "o", At: at}
	}
	rows := []struct {
		reason   string
		findings []verdict.Finding
		want     []string
	}{
		{"without findings there is no judgement", nil, nil},
		{"kept", findings{f(true, 1, "AS-001", "AS-002")}, []string{"AS-001 kept", "AS-002 kept"}},
		{"the first break wins", findings{f(true, 1, "AS-001"), f(false, 2, "AS-001"), f(false, 3, "AS-001")},
			[]string{"AS-001 failed at 2"}},
		{"according to its level", findings{f(false, 1, "AS-001", "AS-002", "AS-004")},
			[]string{"AS-001 failed at 1", "AS-002 warned at 1", "AS-004 not-applicable at 1"}},
		{"clauses outside the monitor's list are ignored", findings{f(false, 1, "AS-006"), f(true, 1, "AS-001")},
			[]string{"AS-001 kept"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			w := world(t, false, "@AS-003") // monitors judge regardless of the scenario's tags
			m := monitor.Monitor{Name: "m", Clauses: []string{"AS-001", "AS-002", "AS-004"},
				Check: func([]transcript.Record) []verdict.Finding { return r.findings }}
			var got []string
			res := w.sumUpResult([]monitor.Monitor{m}, nil)
			for _, x := range res.Monitors {
				line := x.Clause + " kept"
				if x.Outcome != verdict.Passed {
					line = fmt.Sprintf("%s %s at %d", x.Clause, x.Outcome, failureOf(res, x).At)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestSeen(t *testing.T) {
	rows := []struct {
		reason string
		in     transcript.Record
		want   string
	}{
		{"an event", transcript.Record{Event: &transcript.Event{Type: "error", Data: map[string]any{"b": "主", "a": nil}}},
			`error {"a":null,"b":"主"}   +1.5 ms, record 7`},
		{"data that are a member of the message", transcript.Record{Event: &transcript.Event{Type: "error",
			Data:     map[string]any{"code": "busy"},
			Envelope: map[string]any{"type": "error", "data": map[string]any{"code": "busy"}, "timestamp": 1.0}}},
			`error {"code":"busy"}   +1.5 ms, record 7`},
		{"data with members that are not on the wire", transcript.Record{Event: &transcript.Event{Type: "stream",
			Data:     map[string]any{"message_type": "delta", "text": "hi", "piece": true},
			Envelope: map[string]any{"kind": "delta", "body": map[string]any{"text": "hi"}}}},
			`stream {"kind":"delta","body":{"text":"hi"}}   +1.5 ms, record 7`},
		{"an answer", transcript.Record{Kind: transcript.Response, Label: "404 Not Found", Bytes: []byte("no")},
			"HTTP 404 Not Found no   +1.5 ms, record 7"},
		{"an end", transcript.Record{Kind: transcript.Closed, Label: "gone"}, "gone   +1.5 ms, record 7"},
		{"a failure", transcript.Record{Kind: transcript.Failure, Label: "reset"}, "reset   +1.5 ms, record 7"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			r.in.N, r.in.At = 7, 1500*time.Microsecond
			if got := Seen(r.in); got != r.want {
				t.Errorf("Seen is %q, want %q", got, r.want)
			}
		})
	}
	long := transcript.Record{Event: &transcript.Event{Type: "x", Data: strings.Repeat("主", 300)}}
	if got := Seen(long); len(got) > 400 || !strings.Contains(got, "主…") {
		t.Errorf("a long event is told in %d bytes: %q", len(got), got)
	}
}
