package agentselect

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestClip checks that a server's text is never cut within a character.
func TestClip(t *testing.T) {
	for pad := range 4 {
		text := strings.Repeat("x", pad) + strings.Repeat("代理", 100)
		if got := clip(text); !utf8.ValidString(got) || !strings.HasSuffix(got, "…") || len(got) > 200+len("…") {
			t.Errorf("clip leaves %q", got)
		}
	}
}
