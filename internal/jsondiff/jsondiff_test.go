package jsondiff_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/jsondiff"
)

func TestDiff(t *testing.T) {
	list := strings.Split("a b c d e f g h i j", " ")
	other := strings.Split("a b c d e f g h i k", " ")
	for _, tt := range []struct {
		reason    string
		want, got any
		diff      string
	}{
		{"equal", map[string]any{"a": 1}, map[string]any{"a": 1.0}, ""},
		{"no list, and an empty one", []string(nil), []string{}, ""},
		{"texts", "a < b", `c "d"`, "- \"a < b\"\n+ \"c \\\"d\\\"\"\n"},
		{"a member", map[string]any{"agentName": "General", "id": "x"}, map[string]any{"agentName": "Debugger", "id": "x"},
			"  {\n-   \"agentName\": \"General\",\n+   \"agentName\": \"Debugger\",\n    \"id\": \"x\"\n  }\n"},
		{"a member that is missing: the comma before it is no difference", map[string]any{"a": 1, "b": nil},
			map[string]any{"a": 1}, "  {\n    \"a\": 1\n-   \"b\": null\n  }\n"},
		{"far lines", list, other, "  …\n    \"g\",\n    \"h\",\n    \"i\",\n-   \"j\"\n+   \"k\"\n  ]\n"},
	} {
		if diff := cmp.Diff(tt.diff, jsondiff.Diff(tt.want, tt.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestLines(t *testing.T) {
	if diff := cmp.Diff("+ message \"\"\n", jsondiff.Lines(nil, []string{`message ""`})); diff != "" {
		t.Error(diff)
	}
}
