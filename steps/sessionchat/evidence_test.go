package sessionchat

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/internal/llm"
	"parley/steps/sessionchat/model"
)

// asRecorded returns what a request's record keeps of a text with the directive of the nonce k.
func asRecorded(t *testing.T, text string) string {
	t.Helper()
	b := llm.New()
	err := b.Answer(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: text}}},
		func(llm.Part) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	calls := b.Requests("k")
	if len(calls) != 1 {
		t.Fatalf("%d requests bear the nonce", len(calls))
	}
	return calls[0].Messages[0].Text
}

func TestSame(t *testing.T) {
	const head = "[[echo k]] "
	long := func(n int) string { return head + strings.Repeat("x", n-len(head)) }
	wide := head + strings.Repeat("很长的文字 👋🏽 ", 4000)
	note := fmt.Sprintf(" …[clipped from %d bytes]", llm.MaxText)
	rows := []struct {
		reason   string
		came     string // the text that reached the model
		sent     string
		want     bool
		recorded bool // came is already in recorded form
	}{
		{"a short text", head + "你好", head + "你好", true, false},
		{"a blank less", head + "你好", head + "你好 ", false, false},
		{"a blank more", " " + head, head, false, false},
		{"other capitals", head + "a", head + "A", false, false},
		{"an accent composed", head + "\u00e9", head + "e\u0301", false, false},
		{"another line break", head + "a\nb", head + "a\r\nb", false, false},
		{"nothing", "", head, false, true},
		{"as long as a record keeps", long(llm.MaxText), long(llm.MaxText), true, false},
		{"one byte longer", long(llm.MaxText + 1), long(llm.MaxText + 1), true, false},
		{"much longer", long(3 * llm.MaxText), long(3 * llm.MaxText), true, false},
		{"long, in characters of several bytes", wide, wide, true, false},
		{"long, and a byte of it is lost", long(3*llm.MaxText - 1), long(3 * llm.MaxText), false, false},
		{"long, and a blank after it", wide + " ", wide, false, false},
		{"long, and its beginning is another", strings.Replace(long(2*llm.MaxText), "x", "y", 1), long(2 * llm.MaxText),
			false, false},
		{"cut to what a record keeps", long(llm.MaxText), long(3 * llm.MaxText), false, false},
		{"cut at 64 KiB less one", long(64<<10 - 1), long(3 * llm.MaxText), false, false},
		{"a short text that ends in the note of a long one", head + note, head + note, true, false},
		{"a short text for which the note of a long one stands", head + note, long(llm.MaxText), false, true},
		{"a note of another length", long(1000) + " …[clipped from 7 bytes]", long(2 * llm.MaxText), false, true},
		{"a note with something behind it", long(1000) + fmt.Sprintf(" …[clipped from %d bytes] x", 2*llm.MaxText),
			long(2 * llm.MaxText), false, true},
		{"a long text that has such a note within", head + note + wide, head + note + wide, true, false},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			came := r.came
			if !r.recorded {
				came = asRecorded(t, came)
			}
			if got := same(came, r.sent); got != r.want {
				t.Errorf("same is %v", got)
			}
		})
	}
}

// TestExcerpt checks that two long texts are briefly quoted where they differ.
func TestExcerpt(t *testing.T) {
	base := strings.Repeat("很长", 100)
	for _, r := range []struct{ reason, a, b, has string }{
		{"in the middle", base + "HERE" + base, base + "THERE" + base, "HERE"},
		{"at the end", base + "HERE", base, "HERE"},
		{"where it breaks off", base, base + "THERE", "600 bytes"},
		{"nothing", "", base, "0 bytes"},
		{"no difference", base, base, "600 bytes"},
		{"in what is no text", "a\xff", "a\xfe", `\xff`},
	} {
		got := model.Excerpt(r.a, r.b)
		if !strings.Contains(got, r.has) || len(got) > 500 || !utf8.ValidString(got) {
			t.Errorf("%s: %s", r.reason, got)
		}
	}
}

func TestQuoted(t *testing.T) {
	for _, r := range []struct {
		reason string
		in     []string
		want   string
	}{
		{"nothing", nil, "none"},
		{"two", []string{"a", "b\n"}, `"a", "b\n"`},
		{"a long one", []string{strings.Repeat("很", 27)}, `"` + strings.Repeat("很", 26) + `…"`},
		{"many", strings.Fields("a b c d e f g h"), `"a", "b", "c", "d", "e", "f", and 2 more`},
	} {
		if got := quoted(r.in); got != r.want {
			t.Errorf("%s: %s, want %s", r.reason, got, r.want)
		}
	}
}
