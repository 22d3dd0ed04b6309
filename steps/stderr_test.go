package steps

import (
	"strings"
	"testing"
	"time"

	"parley/target"
	"parley/transcript"
)

// crying is a target with output on stderr.
type crying struct {
	target.Running
	text string
}

func (c crying) Stderr() string { return c.text }

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
			if got := w.Cry(r.stderr); got != r.want {
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
	said(w, "A", transcript.Stream, "hello")
	if _, miss = w.Await(t.Context(), Wait{Conn: "A", Greeting: true, Within: time.Millisecond,
		Match: nothing}); strings.Contains(miss.Reason, "stderr") {
		t.Errorf("one that has said something: %v", miss)
	}
}
