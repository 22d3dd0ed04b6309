package target

import (
	"strings"
	"testing"
)

// TestLastWordsAreBounded: every scenario repeats why a target did not start, so that this is short whatever it said.
func TestLastWordsAreBounded(t *testing.T) {
	flood := strings.Repeat("x", 1<<20)
	for name, err := range map[string]error{
		"a line":       &StartError{Command: []string{"a"}, Stderr: flood},
		"both outputs": &StartError{Command: []string{"a"}, Stderr: flood, Stdout: flood},
		"a hook":       &HookError{Name: "add-agent", Output: flood},
	} {
		if n := len(err.Error()); n > 3*lastWords || n < lastWords {
			t.Errorf("%s: %d bytes of words", name, n)
		}
	}
}
