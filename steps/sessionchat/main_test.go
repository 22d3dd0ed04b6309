package sessionchat

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// settle reports a difference. A known mistake is passed over, and reported once it is none, so that no mark outlives it.
func settle(t *testing.T, open, diff string) {
	t.Helper()
	switch {
	case open == "" && diff != "":
		t.Error(diff)
	case open != "" && diff == "":
		t.Errorf("this is right now; take the mark away: %s", open)
	case open != "":
		t.Skipf("known mistake: %s\n%s", open, diff)
	}
}
