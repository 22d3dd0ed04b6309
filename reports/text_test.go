package reports

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVisible(t *testing.T) {
	for _, tt := range []struct{ reason, in, want string }{
		{"glyphs of any script stay", "héllo 切换 🙂 %d <b>", "héllo 切换 🙂 %d <b>"},
		{"line breaks and tabs stay", "a\n\tb", "a\n\tb"},
		{"a carriage return moves a cursor", "a\r\n", `a\r` + "\n"},
		{"control characters", "\x00\x1b[2J\x7f\u0085", `\x00\x1b[2J\x7f\u0085`},
		{"bytes that are not UTF-8", "a\xff\xc3(", `a\xff\xc3(`},
		{"the replacement character itself is UTF-8", "\ufffd", "\ufffd"},
		{"marks that turn the text around", "\u202eabc\u2066", `\u202eabc\u2066`},
		{"a BOM", "\ufeffdata", `\ufeffdata`},
		{"line separators", "\u2028", `\u2028`},
		{"characters invalid in XML", "\ufffe\U0001ffff", `\ufffe\U0001ffff`},
	} {
		if got := makeVisible(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
	if got, want := oneLine("a\n\tb"), `a\n\tb`; got != want {
		t.Errorf("oneLine: %q, want %q", got, want)
	}
}

// TestPresentable: the copy has no raw text, and the original is unchanged.
func TestPresentable(t *testing.T) {
	r := sample()
	p := makePresentable(r)
	if diff := cmp.Diff(sample(), r); diff != "" {
		t.Errorf("the original changed:\n%s", diff)
	}
	if got, want := p.Runs[0].Scenarios[8].Failures[0].Observed, "error "+shown; got != want {
		t.Errorf("observed is %q, want %q", got, want)
	}
	if got, want := p.Runs[0].TargetStderr[:24], "INFO listening on :3000\n"; got != want {
		t.Errorf("stderr begins %q, want %q", got, want)
	}
	if p.Started != r.Started || p.Runs[0].Scenarios[0].Transcript == r.Runs[0].Scenarios[0].Transcript {
		t.Error("the time was lost, or a pointer is shared")
	}
}
