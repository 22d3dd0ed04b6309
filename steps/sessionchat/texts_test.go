package sessionchat

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	vocab "parley/protocol/sessionchat"
)

// TestRepeatedTexts: what two members of an object say alike counts once; what a list says twice counts twice.
func TestRepeatedTexts(t *testing.T) {
	for text, want := range map[string][]string{
		`"a"`:                               {"a"},
		`{"role":"assistant","text":"a b"}`: {"assistant", "a b"},
		`{"text":"a","content":"a"}`:        {"a"},
		`{"text":"a","content":[{"type":"text","text":"a"}]}`:                             {"a", "text"},
		`{"text":"ab","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`: {"text", "text", "ab"},
		`{"text":"ba","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`: {"a", "text", "b", "text", "ba"},
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":"a"}]}`:             {"a", "text", "a", "text"},
		`{"text":"a","content":[{"text":"a"},{"text":"a"}]}`:                              {"a", "a"},
		`{"message":{"text":"a"},"copy":{"text":"a","more":"b"}}`:                         {"b", "a"},
		`{"1":"a","2":"a","3":"a","4":"a","5":"","6":7,"7":null,"8":{},"9":[],"10":"a"}`:  {"a", ""},
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

// BenchmarkTexts takes a message of 20,000 blocks that are said once more as one text, and one of objects within each
// other.
func BenchmarkTexts(b *testing.B) {
	var blocks []any
	for range 20_000 {
		blocks = append(blocks, map[string]any{vocab.Type: "text", vocab.Text: "ab"})
	}
	deep := any("ab")
	for range 20_000 {
		deep = map[string]any{vocab.Text: "ab", vocab.Content: deep}
	}
	for name, v := range map[string]any{
		"blocks": map[string]any{vocab.Text: strings.Repeat("ab", 20_000), vocab.Content: blocks}, "deep": deep,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				texts(v)
			}
		})
	}
}
