package steps

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// TestMissing: a missing message is distinguished from a wrong one, which is wrong under any load.
func TestMissing(t *testing.T) {
	late := &verdict.Miss{Reason: "no such message within 10s", Late: true}
	for _, row := range []struct {
		reason string
		record transcript.Record // number 1
		check  verdict.Finding
		want   bool
	}{
		{"nothing came", transcript.Record{Dir: transcript.Sent}, verdict.Finding{Miss: late, At: 1}, true},
		{"nothing came, without a record", transcript.Record{}, verdict.Finding{Miss: late}, true},
		{"another record ended the wait", transcript.Record{Dir: transcript.Sent},
			verdict.Finding{Miss: &verdict.Miss{Reason: "the turn has ended", At: 1}, At: 1}, false},
		{"something else came in its place", transcript.Record{Dir: transcript.Received, Kind: transcript.Frame},
			verdict.Finding{Miss: late, At: 1}, false},
		{"what came is wrong", transcript.Record{Dir: transcript.Received, Kind: transcript.Stream}, verdict.Finding{At: 1},
			false},
		{"a page shows something else so far", transcript.Record{Dir: transcript.Received, Kind: transcript.Snapshot},
			verdict.Finding{Miss: late, At: 1}, true},
		{"a page shows what is wrong", transcript.Record{Dir: transcript.Received, Kind: transcript.Snapshot},
			verdict.Finding{At: 1},
			false},
		{"HTTP 503", transcript.Record{Dir: transcript.Received, Kind: transcript.Response, Status: 503},
			verdict.Finding{At: 1}, true},
		{"HTTP 429", transcript.Record{Dir: transcript.Received, Kind: transcript.Response, Status: 429},
			verdict.Finding{At: 1}, true},
		{"HTTP 500", transcript.Record{Dir: transcript.Received, Kind: transcript.Response, Status: 500},
			verdict.Finding{At: 1},
			false},
		{"closed with 1013", transcript.Record{Dir: transcript.Received, Kind: transcript.Closed, Status: 1013},
			verdict.Finding{Miss: &verdict.Miss{At: 1}, At: 1}, true},
		{"closed with 1011", transcript.Record{Dir: transcript.Received, Kind: transcript.Closed, Status: 1011},
			verdict.Finding{Miss: &verdict.Miss{At: 1}, At: 1}, false},
		{"a 503 sent by us", transcript.Record{Dir: transcript.Sent, Kind: transcript.Response, Status: 503},
			verdict.Finding{At: 1},
			false},
		{"a difference without a record", transcript.Record{}, verdict.Finding{}, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			w := world(t, false, "@AS-001")
			row.record.Conn = "A"
			w.T.Append(row.record)
			row.check.Clauses = []string{"AS-001"}
			_ = w.Judge(row.check)
			if len(w.failures) != 1 || w.failures[0].Missing != row.want {
				t.Errorf("failures %+v", w.failures)
			}
			if res := w.sumUpResult(nil, nil); res.Lacks() != row.want {
				t.Errorf("the scenario had to do without something: %v", !row.want)
			}
		})
	}
}

// TestLacks: a scenario that missed something may run again if all its other failures stand, because they are about
// messages that came.
func TestLacks(t *testing.T) {
	missing, wrong := Failure{Clause: "AS-001", Missing: true}, Failure{Clause: "AS-002"}
	stands := Failure{Clause: "AS-002", Finding: verdict.Finding{At: 1}}
	by := func(f Failure) Failure { f.Monitor = "m"; return f }
	said := []transcript.Record{{N: 1, Dir: transcript.Received, Kind: transcript.Frame}}
	for _, row := range []struct {
		reason string
		res    Result
		want   bool
	}{
		{"nothing was found", Result{Outcome: verdict.NotTested}, true},
		{"two are missing", Result{Failures: []Failure{missing, missing}}, true},
		{"one is missing, one is wrong", Result{Failures: []Failure{missing, wrong}}, false},
		{"one is missing, one is about a message", Result{Failures: []Failure{missing, stands}, Records: said}, true},
		{"one is about a message, and none is missing", Result{Failures: []Failure{stands}, Records: said}, false},
		{"a monitor's failure is about a message", Result{Failures: []Failure{by(stands)}, Records: said}, true},
		{"a monitor has kept its clause", Result{Failures: []Failure{missing},
			Monitors: []verdict.Judgement{{Clause: "AS-003", Outcome: verdict.Passed}}}, true},
		{"a monitor found a failure", Result{Failures: []Failure{missing, by(wrong)}}, false},
	} {
		if row.res.Lacks() != row.want {
			t.Errorf("%s: %v", row.reason, !row.want)
		}
	}
}

// TestStands: a failure stands if it is about a message that came. It does not stand if it is about how a connection
// ended, even if it names a message after which something was missing.
func TestStands(t *testing.T) {
	w := world(t, false, "@AS-001")
	appendReceived(w, "A", transcript.Stream, "message")
	appendReceived(w, "A", transcript.Closed, "end")
	for _, row := range []struct {
		reason string
		check  verdict.Finding
		want   bool
	}{
		{"a message", verdict.Finding{At: 1}, true},
		{"a message in place of what was awaited", verdict.Finding{At: 1, Miss: &verdict.Miss{At: 1}}, true},
		{"a message followed by the end of the connection", verdict.Finding{At: 1, Miss: &verdict.Miss{At: 2}}, false},
		{"a message followed by a timeout", verdict.Finding{At: 1, Miss: &verdict.Miss{Late: true}}, true},
		// something else came
		{"the end", verdict.Finding{At: 2}, false},
		{"no record", verdict.Finding{}, false},
	} {
		w.failures = nil
		row.check.Clauses = []string{"AS-001"}
		_ = w.Judge(row.check)
		if f := w.failures[0]; f.Stands(w.T.All()) != row.want {
			t.Errorf("%s: %v", row.reason, !row.want)
		}
	}
}

// TestMissingOfAKind: one wrong message in a group of differences makes the whole group wrong.
func TestMissingOfAKind(t *testing.T) {
	w := world(t, false, "@AS-001")
	check := verdict.Finding{Clauses: []string{"AS-001"}, Group: "g", Miss: &verdict.Miss{Late: true}}
	_ = w.Judge(check, check)
	if f := w.failures[0]; !f.Missing || f.Count != 2 {
		t.Errorf("two that are missing: %+v", f)
	}
	check.Miss = nil
	_ = w.Judge(check)
	if f := w.failures[0]; f.Missing || f.Count != 3 {
		t.Errorf("two that are missing, one that is wrong: %+v", f)
	}
}

// TestNotOpened: a connection that did not open within its limit counts as missing; a refused one does not.
func TestNotOpened(t *testing.T) {
	refused := errors.New("refused")
	for _, row := range []struct {
		reason string
		open   func(context.Context) error
		late   bool
	}{
		{"late", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, true},
		{"refused", func(context.Context) error { return refused }, false},
	} {
		w := world(t, false)
		w.Env.Profile.Limits.Open.Duration = time.Millisecond
		w.Env.Driver.(*fake).open = func(ctx context.Context, _ driver.OpenOptions,
			_ driver.Sink) error {
			return row.open(ctx)
		}
		if row.reason == "refused" {
			w.Env.Profile.Limits.Open.Duration = time.Minute
		}
		_, err := w.Open(t.Context(), driver.OpenOptions{Party: "A"})
		if miss := NotOpened(err); miss == nil || miss.Late != row.late || miss.Reason != err.Error() {
			t.Errorf("%s: %v, %+v", row.reason, err, miss)
		}
	}
	if NotOpened(nil) != nil {
		t.Error("a connection that is open is a miss")
	}
}
