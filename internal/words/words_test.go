package words

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNear(t *testing.T) {
	known := []string{"AS-008", "AS-080", "AS-081", "AC-080", "run", "report", "session-id", "x"}
	for _, tt := range []struct {
		reason, word string
		n            int
		want         []string
	}{
		{"a letter replaced", "reporz", 3, []string{"report"}},
		{"a letter missing", "repot", 3, []string{"report"}},
		{"a letter too many", "reeport", 3, []string{"report"}},
		{"neighbours swapped", "rnu", 3, []string{"run"}},
		{"capitals and the wrong dash", "Session_ID", 3, []string{"session-id"}},
		{"several: the nearest first, the equally near in their order", "AS-08O", 3, []string{"AS-080", "AS-081", "AS-008"}},
		{"no more than asked for", "AS-08O", 1, []string{"AS-080"}},
		{"the word itself", "run", 3, []string{"run"}},
		{"another letter is not a word of one letter", "y", 3, nil},
		{"nothing like it", "frobnicate", 3, nil},
		{"nothing", "", 3, nil},
	} {
		if diff := cmp.Diff(tt.want, Near(tt.word, known, tt.n)); diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", tt.reason, tt.word, diff)
		}
	}
}

func TestSuggest(t *testing.T) {
	for _, tt := range []struct{ reason, word, want string }{
		{"a near word", "evnt", `did you mean "event"?`},
		{"the nearest of two", "evend", `did you mean "event"?`},
		{"nothing like it", "zzz", "see help"},
	} {
		if got := Suggest(tt.word, []string{"events", "event"}, "see help"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}
