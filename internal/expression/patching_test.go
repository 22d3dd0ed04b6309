package expression

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPatched: the operations of a JSON Patch apply in sequence, or none does.
func TestPatched(t *testing.T) {
	add := func(path string, v any) any { return map[string]any{"op": "add", "path": path, "value": v} }
	huge := map[string]any{"a": strings.Repeat("x", maxPatched)}
	text := map[string]any{"a": strings.Repeat("x", maxPatched/2)}
	copied := map[string]any{"op": "copy", "from": "/a", "path": "/b"}
	for _, r := range []struct {
		reason     string
		value      any
		operations any
		want       any
		err        string
	}{
		{"none", map[string]any{"a": 1}, []any{}, map[string]any{"a": 1}, ""},
		{"in sequence", map[string]any{}, []any{add("/a", []any{}), add("/a/-", 1.5), add("/a/0", "x")},
			map[string]any{"a": []any{"x", 1.5}}, ""},
		{"the whole value", map[string]any{"a": 1}, []any{map[string]any{"op": "replace", "path": "", "value": []any{1}}},
			[]any{1}, ""},
		{"a member that is not there", map[string]any{}, []any{map[string]any{"op": "remove", "path": "/a"}}, nil,
			"do not apply"},
		{"a parent that is not there", map[string]any{}, []any{add("/a/b", 1)}, nil, "do not apply"},
		{"an index that counts from the end", []any{1}, []any{map[string]any{"op": "remove", "path": "/-1"}}, nil,
			"do not apply"},
		{"a test that fails", map[string]any{"a": 1},
			[]any{map[string]any{"op": "test", "path": "/a", "value": 2}}, nil, "do not apply"},
		{"another operation", map[string]any{}, []any{map[string]any{"op": "set", "path": "/a", "value": 2}}, nil,
			"no JSON Patch"},
		{"what is no list", map[string]any{}, map[string]any{"op": "remove"}, nil, "no JSON Patch"},
		{"what is too large stays", huge, []any{map[string]any{"op": "remove", "path": "/b"}}, huge, ""},
		{"what would be too large stays", text, []any{copied, copied, copied}, text, ""},
	} {
		t.Run(r.reason, func(t *testing.T) {
			e, err := Compile("patched(it, act)", []string{"it", "act"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Value(Scope{"it": r.value, "act": r.operations})
			if (err != nil) != (r.err != "") || err != nil && !strings.Contains(err.Error(), r.err) {
				t.Fatalf("%v, want %q", err, r.err)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
