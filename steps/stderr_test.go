package steps

import (
	"strings"
	"testing"
	"time"

	"parley/target"
	"parley/transport/transcript"
)

// crying is a target with output on stderr.
type crying struct {
	target.Running
	text string
}

func (c crying) Stderr() string { return c.text }

// witness is a target that wrote something at a time.
type witness struct {
	crying
	at time.Time
}

func (w witness) StderrBetween(from, to time.Time) string {
	if w.at.Before(from) || w.at.After(to) {
		return ""
	}
	return w.text
}

// TestCry: a missing answer is reported with the target's stderr.
func TestCry(t *testing.T) {
	w := world(t, false)
	w.Env.Redact = transcript.NewRedactor("s3cret")
	rows := []struct{ reason, stderr, want string }{
		{"nothing", "", ""},
		{"blank lines", "\n \n", ""},
		{"a line", "KeyError: 'x'\n", "; on its stderr: KeyError: 'x'"},
		{"the last lines", "1\n2\n3\n\n4\n", "; on its stderr: 2 / 3 / 4"},
		{"secrets and controls", "token s3cret\x1b[31m\n", "; on its stderr: token " + transcript.Blank + `\u001b[31m`},
		{"much", strings.Repeat("x", 1000) + "end", "; on its stderr: …" + strings.Repeat("x", maxCry-3) + "end"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if got := w.QuoteStderr(r.stderr); got != r.want {
				t.Errorf("got %q, want %q", got, r.want)
			}
		})
	}
	w.Target = crying{text: "KeyError\n"}
	nothing := func(*transcript.Record) bool { return false }
	_, miss := w.Await(t.Context(), Wait{Conn: "A", Greeting: true, Within: time.Millisecond, Match: nothing})
	if miss == nil || !strings.HasSuffix(miss.Reason, "; on its stderr: KeyError") {
		t.Errorf("a silent target: %v", miss)
	}
	appendReceived(w, "A", transcript.Stream, "hello")
	if _, miss = w.Await(t.Context(), Wait{Conn: "A", Greeting: true, Within: time.Millisecond,
		Match: nothing}); strings.Contains(miss.Reason, "stderr") {
		t.Errorf("one that has said something: %v", miss)
	}
}

// TestWrote: a failure has what the target wrote since the acts before it, not before them nor after it.
func TestWrote(t *testing.T) {
	w, began := world(t, false), time.Now()
	at := func(s int) time.Time { return began.Add(time.Duration(s) * time.Second) }
	for i, outcome := range []bool{false, false, true, true, false, true} { // two acts, two outcomes, one act, one outcome
		w.noteStepBegin(outcome, at(10*(i+1)))
	}
	for _, c := range []struct {
		reason        string
		wrote, judged int
		told          bool
	}{
		{"during the first of two acts", 11, 35, true},
		{"during the first outcome", 32, 45, true},
		{"before the acts", 5, 35, false},
		{"before the act that a later outcome follows", 45, 65, false},
		{"after the judgement", 37, 35, false},
		{"since the later act", 51, 65, true},
	} {
		f := Failure{when: w.momentOf(at(c.judged))}
		got := f.Wrote(witness{crying{text: "KeyError"}, at(c.wrote)})
		if want := map[bool]string{true: "KeyError"}[c.told]; got != want {
			t.Errorf("%s: %q, want %q", c.reason, got, want)
		}
	}
	if got := (Failure{when: w.momentOf(at(35))}).Wrote(crying{text: "KeyError"}); got != "" {
		t.Errorf("of a target that knows no times: %q", got)
	}
}
