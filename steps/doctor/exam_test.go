package doctor

import (
	"strings"
	"testing"
)

// TestTell: text of a target is shown on one line, and neither moves the cursor nor reorders it.
func TestTell(t *testing.T) {
	var out strings.Builder
	e := NewExam(&out, Checkup{}, nil, nil, nil)
	e.AddLine(Failed, "ws", "it says %s", "a\x1b[2J\x07\u202eb\u2066\nc")
	want := "failed        ws                       it says a\\u001b[2J\\u0007\\u202eb\\u2066 c\n"
	if out.String() != want || !e.Failed() {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}
