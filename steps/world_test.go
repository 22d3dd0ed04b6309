package steps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/driver"
	"parley/transport/transcript"
)

func TestIsClause(t *testing.T) {
	for tag, want := range map[string]bool{
		"AS-042": true, "AS-042a": true, "EA-001": true,
		"": false, "AS-04": false, "AS042": false, "as-042": false, "A-0042": false, "AS-x42": false, "preflight-1": false,
		"two-clients": false,
	} {
		if got := IsClause(tag); got != want {
			t.Errorf("%q is a clause: %v", tag, got)
		}
	}
}

func TestTags(t *testing.T) {
	w := world(t, false, "@AS-001", "@sse", "@two-clients")
	if !w.Judges("AS-001") || w.Judges("AS-002") || w.Judges("sse") {
		t.Error("the scenario judges what it is tagged with, and nothing else")
	}
	if !w.HasTag("@sse") || w.HasTag("sse") || w.HasTag("@ws") {
		t.Error("the scenario has other tags than were given")
	}
	if a, b := w.Serial(), w.Serial(); a != 1 || b != 2 {
		t.Errorf("serial numbers are %d, %d", a, b)
	}
	w.Note("%d notes", 1)
	if got := w.sumUpResult(nil, nil).Notes; len(got) != 1 || got[0] != "1 notes" {
		t.Errorf("notes are %q", got)
	}
}

// appendReceived appends a record of the target on a connection.
func appendReceived(w *World, conn string, kind transcript.Kind, label string) int {
	return w.T.Append(transcript.Record{Conn: conn, Dir: transcript.Received, Kind: kind, Label: label})
}

func labelled(want string) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool { return r.Label == want }
}

func TestAwait(t *testing.T) {
	hopeless := func(r *transcript.Record) string {
		if r.Label == "no" {
			return "it was refused"
		}
		return ""
	}
	rows := []struct {
		reason string
		script func(w *World)
		wait   Wait
		n      int // the matching record; 0: none
		miss   *verdict.Miss
		cut    bool
	}{
		{"it is there", func(w *World) { appendReceived(w, "A", transcript.Stream, "yes") }, Wait{Greeting: true}, 1, nil,
			false},
		{"it is before the mark", func(w *World) {
			appendReceived(w, "A", transcript.Stream, "yes")
			appendReceived(w, "A", transcript.Closed, "gone")
		}, Wait{After: 1}, 0, &verdict.Miss{Reason: "gone", At: 2}, false},
		{"another connection's does not count", func(w *World) {
			appendReceived(w, "B", transcript.Stream, "yes")
			appendReceived(w, "A", transcript.Closed, "gone")
		}, Wait{Greeting: true}, 0, &verdict.Miss{Reason: "gone", At: 2}, false},
		{"nor does another connection's end", func(w *World) {
			appendReceived(w, "B", transcript.Closed, "gone")
			appendReceived(w, "A", transcript.Stream, "yes")
		}, Wait{Greeting: true}, 2, nil, false},
		{"nor what makes another hopeless", func(w *World) {
			appendReceived(w, "B", transcript.Stream, "no")
			appendReceived(w, "A", transcript.Stream, "yes")
		}, Wait{Greeting: true, Hopeless: hopeless}, 2, nil, false},
		{"the connection ends first", func(w *World) {
			appendReceived(w, "A", transcript.Closed, "gone")
			appendReceived(w, "A", transcript.Stream, "yes")
		}, Wait{Greeting: true}, 0, &verdict.Miss{Reason: "gone", At: 1}, false},
		{"the connection had ended before the frame", func(w *World) {
			appendReceived(w, "A", transcript.Closed, "gone")
			w.T.Append(transcript.Record{Conn: "A", Dir: transcript.Sent, Kind: transcript.Frame})
			w.T.Append(transcript.Record{Conn: "A", Dir: transcript.Received, Kind: transcript.Failure, Reply: 2})
			appendReceived(w, "A", transcript.Stream, "yes")
		}, Wait{After: 2}, 0, &verdict.Miss{Reason: "gone", At: 1}, false},
		{"it had been opened again", func(w *World) {
			appendReceived(w, "A", transcript.Closed, "gone")
			appendReceived(w, "A", transcript.Open, "socket")
			w.T.Append(transcript.Record{Conn: "A", Dir: transcript.Sent, Kind: transcript.Frame})
			w.T.Append(transcript.Record{Conn: "A", Dir: transcript.Received, Kind: transcript.Failure, Reply: 3})
			appendReceived(w, "A", transcript.Stream, "yes")
		}, Wait{After: 3}, 5, nil, false},
		{"a request may have been received", func(w *World) {
			appendReceived(w, "A", transcript.Closed, "gone")
			w.T.Append(transcript.Record{Conn: "A", Dir: transcript.Sent, Kind: transcript.Request})
			w.T.Append(transcript.Record{Conn: "A", Dir: transcript.Received, Kind: transcript.Failure, Reply: 2})
			appendReceived(w, "A", transcript.Stream, "yes")
		}, Wait{After: 2}, 4, nil, false},
		{"it can no longer come", func(w *World) {
			appendReceived(w, "A", transcript.Stream, "no")
			appendReceived(w, "A", transcript.Stream, "yes")
		}, Wait{Greeting: true, Hopeless: hopeless}, 0, &verdict.Miss{Reason: "it was refused", At: 1}, false},
		{"the awaited record may itself be hopeless", func(w *World) { appendReceived(w, "A", transcript.Stream, "yes") },
			Wait{Greeting: true, Hopeless: func(*transcript.Record) string { return "never" }}, 1, nil, false},
		{"an awaited end is no miss", func(w *World) { appendReceived(w, "A", transcript.Closed, "yes") },
			Wait{Greeting: true}, 1, nil, false},
		{"the time is over", func(w *World) { appendReceived(w, "A", transcript.Stream, "other") },
			Wait{Greeting: true, Within: time.Millisecond}, 0,
			&verdict.Miss{Reason: "no such message within 1ms", Late: true}, false},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			w := world(t, false)
			r.script(w)
			r.wait.Conn, r.wait.Match = "A", labelled("yes")
			rec, miss := w.Await(t.Context(), r.wait)
			if rec.N != r.n {
				t.Errorf("record %d came, want %d", rec.N, r.n)
			}
			if diff := cmp.Diff(r.miss, miss); diff != "" {
				t.Errorf("miss; want(-) got(+):\n%s", diff)
			}
			if miss != nil && miss.Error() != miss.Reason {
				t.Errorf("the error is %q", miss.Error())
			}
			if w.cut {
				t.Error("the scenario counts as cut off")
			}
		})
	}
}

// TestAwaitInFlood: a target that is still sending much when the time is up may have sent the awaited message; one that
// has sent as much before, and then nothing, has not.
func TestAwaitInFlood(t *testing.T) {
	for _, goesOn := range []bool{true, false} {
		t.Run(fmt.Sprint("goes on ", goesOn), func(t *testing.T) {
			t.Parallel()
			w := world(t, false)
			appendReceived(w, "A", transcript.Stream, "noise")
			next := func(r *transcript.Record) bool {
				if r.N > flood {
					if !goesOn {
						return false
					}
					time.Sleep(time.Millisecond)
				}
				appendReceived(w, "A", transcript.Stream, "noise")
				return false
			}
			// the noise is read long before the end, however busy the machine is
			_, miss := w.Await(t.Context(), Wait{Conn: "A", Greeting: true, Within: 3 * time.Second, Match: next})
			if miss == nil || miss.Late == goesOn || w.cut != goesOn ||
				goesOn != strings.Contains(miss.Reason, "still sending when the time was up") {
				t.Errorf("%+v, cut off: %v", miss, w.cut)
			}
		})
	}
}

func TestAwaitWakesUp(t *testing.T) {
	w := world(t, false)
	asked := make(chan struct{})
	var target sync.WaitGroup
	target.Go(func() {
		<-asked
		appendReceived(w, "A", transcript.Stream, "yes")
	})
	appendReceived(w, "A", transcript.Stream, "first")
	rec, miss := w.Await(t.Context(), Wait{Conn: "A", Greeting: true, Match: func(r *transcript.Record) bool {
		if r.Label == "first" {
			close(asked)
		}
		return r.Label == "yes"
	}})
	if miss != nil || rec.N != 2 {
		t.Errorf("record %d came: %v", rec.N, miss)
	}
	target.Wait()
}

// TestCutOff: after the run is interrupted, or the scenario's time is up, nothing is the target's fault.
func TestCutOff(t *testing.T) {
	w := world(t, false, "@AS-001")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	_, miss := w.Await(ctx, Wait{Conn: "A", Greeting: true, Match: labelled("yes")})
	if diff := cmp.Diff(&verdict.Miss{NotOwed: true, Reason: "the scenario was cut off: interrupted"}, miss); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	err := w.Need(verdict.Finding{Clauses: []string{"AS-001"}, Expected: "yes", Observed: miss.Reason})
	if got, _ := w.deriveOutcome(err); got != "not-tested" || len(w.failures) > 0 {
		t.Errorf("the scenario is %s, with failures %v", got, w.failures)
	}
}

func TestBetween(t *testing.T) {
	w := world(t, false)
	for _, r := range []transcript.Record{
		{Conn: "A", Dir: transcript.Received}, {Conn: "B", Dir: transcript.Received}, {Conn: "A", Dir: transcript.Sent},
		{Conn: "A", Dir: transcript.Received}, {Conn: "A", Dir: transcript.Noted}, {Conn: "A", Dir: transcript.Received},
	} {
		w.T.Append(r)
	}
	rows := []struct {
		reason        string
		after, before int
		want          []int
	}{
		{"all that was received", 0, 0, []int{1, 4, 6}},
		{"above the mark", 1, 0, []int{4, 6}},
		{"below the bound", 0, 6, []int{1, 4}},
		{"between the two", 1, 6, []int{4}},
		{"nothing", 4, 6, nil},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			var got []int
			for _, rec := range w.Between("A", r.after, r.before) {
				got = append(got, rec.N)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestOpenAndFinish(t *testing.T) {
	w := world(t, false)
	var opened []driver.OpenOptions
	w.Env.Driver = &fake{open: func(_ context.Context, o driver.OpenOptions, _ driver.Sink) error {
		opened = append(opened, o)
		return nil
	}}
	for _, party := range []string{"A", "B", "A"} {
		if _, err := w.Open(t.Context(), driver.OpenOptions{Party: party, URL: "u"}); err != nil {
			t.Fatal(err)
		}
	}
	if opened[0].MaxEvent != int(w.Env.Profile.Limits.MaxEvent) || opened[0].URL != "u" {
		t.Errorf("opened with %+v", opened[0])
	}
	ends := func() (n int) {
		for _, r := range w.T.All() {
			if r.Kind == transcript.Closed {
				n++
			}
		}
		return n
	}
	if ends() != 1 {
		t.Errorf("%d connections were closed; want the one whose party has a new one", ends())
	}
	var order []string
	w.AtEnd(func() { order = append(order, fmt.Sprint("first, after ", ends())) })
	w.AtEnd(func() { order = append(order, "second") })
	w.Finish()
	if got := strings.Join(order, "; "); got != "first, after 1; second" {
		t.Errorf("at the end comes %q", got)
	}
	if ends() != 3 {
		t.Errorf("%d ends are recorded for 3 connections", ends())
	}
}

// TestLate: records of a target after we have closed its connection are kept, but no step or monitor sees them.
func TestLate(t *testing.T) {
	w := world(t, false)
	w.T = transcript.New(func(r *transcript.Record) { r.Event = &transcript.Event{Type: "told"} })
	tap := driver.NewTap(w.T.Append)
	say := func() { tap.Sink(transcript.Record{Conn: "A", Dir: transcript.Received, Kind: transcript.Frame}) }
	say()
	tap.Close()
	say()
	if all := w.T.All(); len(all) != 2 || all[0].Event == nil || all[1].Event != nil ||
		!strings.Contains(all[1].Line(0), "not judged") {
		t.Errorf("kept is %+v", all)
	}
	if n := len(w.Between("A", 0, 0)); n != 1 {
		t.Errorf("a step sees %d records", n)
	}
	if _, miss := w.Await(t.Context(), Wait{Conn: "A", After: 1, Within: time.Millisecond,
		Match: func(*transcript.Record) bool { return true }}); miss == nil {
		t.Error("a step gets what it has not waited for in time")
	}
	m := monitor.Monitor{Name: "m", Clauses: []string{"AS-001"},
		Check: func(records []transcript.Record) []verdict.Finding {
			return []verdict.Finding{{Clauses: []string{"AS-001"}, OK: len(records) == 1, At: 1}}
		}}
	if res := w.sumUpResult([]monitor.Monitor{m}, nil); res.Monitors[0].Outcome != verdict.Passed ||
		len(res.Records) != 2 {
		t.Error("a monitor sees what came late, or it is not kept")
	}
}

func TestOpenFails(t *testing.T) {
	refused := errors.New("refused")
	w := world(t, false)
	w.Env.Driver = &fake{open: func(context.Context, driver.OpenOptions, driver.Sink) error { return refused }}
	if _, err := w.Open(t.Context(), driver.OpenOptions{Party: "A"}); !errors.Is(err, refused) || w.cut {
		t.Errorf("Open: %v; cut off: %v", err, w.cut)
	}
	w.Env.Driver = &fake{open: func(ctx context.Context, _ driver.OpenOptions, _ driver.Sink) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	w.Env.Profile.Limits.Open.Duration = time.Millisecond
	if _, err := w.Open(t.Context(), driver.OpenOptions{Party: "A"}); !errors.Is(err, context.DeadlineExceeded) || w.cut {
		t.Errorf("Open of a target that hangs: %v; cut off: %v", err, w.cut)
	}
	w.Env.Driver = &fake{open: func(context.Context, driver.OpenOptions, driver.Sink) error { return refused }}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Open(ctx, driver.OpenOptions{Party: "A"}); !errors.Is(err, refused) || !w.cut {
		t.Errorf("Open, interrupted: %v; cut off: %v", err, w.cut)
	}
	w.Finish()
}

func TestLost(t *testing.T) {
	w := world(t, false)
	defer w.T.Release()
	for range transcript.MaxRecords + 3 {
		appendReceived(w, "A", transcript.Stream, "")
	}
	res := w.sumUpResult(nil, nil)
	if lost := transcript.MaxRecords + 3 - len(res.Records); res.Lost != lost || lost < 3 || len(res.Notes) != 1 ||
		!strings.Contains(res.Notes[0], fmt.Sprintf("%d records were not stored", lost)) {
		t.Errorf("%d are lost; notes: %q", res.Lost, res.Notes)
	}
}

// TestResetTwice: if it is unknown whether the target received a request, a missing answer proves nothing.
func TestResetTwice(t *testing.T) {
	w := world(t, false, "@AS-001", "@AS-002")
	_ = w.Judge(verdict.Finding{Clauses: []string{"AS-002"}, OK: true})
	w.T.Remark("A", "%sPOST /message", driver.Repeated)
	appendReceived(w, "A", transcript.Failure, driver.ResetTwice+"read: connection reset by peer")
	failed := func(r *transcript.Record) string {
		if r.Kind == transcript.Failure {
			return r.Label
		}
		return ""
	}
	_, miss := w.Await(t.Context(), Wait{Conn: "A", Greeting: true, Match: labelled("yes"), Hopeless: failed})
	if miss == nil || miss.At != 2 {
		t.Fatalf("the wait ended with %v", miss)
	}
	err := w.Need(verdict.Finding{Clauses: []string{"AS-001"}, Expected: "yes", Observed: miss.Reason})
	res := w.sumUpResult(nil, err)
	// the skipped steps may judge both
	const why = "reset twice: read: connection reset by peer"
	want := []verdict.Judgement{
		{Clause: "AS-001", Outcome: verdict.NotTested, Reason: why, Unfinished: true},
		{Clause: "AS-002", Outcome: verdict.NotTested, Reason: why, Unfinished: true}}
	if diff := cmp.Diff(want, res.Clauses); diff != "" {
		t.Errorf("clauses; want(-) got(+):\n%s", diff)
	}
	if len(res.Notes) != 1 || !strings.HasPrefix(res.Notes[0], "1 requests failed because") {
		t.Errorf("notes %q", res.Notes)
	}
}
