package sessionchat

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestRepeatedTexts: what two members of an object say alike counts once; what a list says twice counts twice.
func TestRepeatedTexts(t *testing.T) {
	for text, want := range map[string][]string{
		`"a"`:                               {"a"},
		`{"role":"assistant","text":"a b"}`: {"assistant", "a b"},
		`{"text":"a","content":"a"}`:        {"a"},
		`{"text":"a","content":[{"type":"text","text":"a"}]}`:                             {"a", "text"},
		`{"text":"ab","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`: {"a", "text", "b", "text"},
		`{"text":"ba","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`: {"a", "text", "b", "text", "ba"},
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":"a"}]}`:             {"a", "text", "a", "text"},
		`{"text":"a","content":[{"text":"a"},{"text":"a"}]}`:                              {"a", "a"},
		`{"message":{"text":"a"},"copy":{"text":"a","more":"b"}}`:                         {"b", "a"},
		`{"1":"a","2":"a","3":"a","4":"a","5":"","6":7,"7":null,"8":{},"9":[],"10":"a"}`:  {"a"},
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got := texts(v); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
