package cut

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 3, "日本語"}, {"日本語だ", 3, "日本…"}, {"日本", 1, "…"},
		{"abc", 0, "abc"}, {"abc", -1, "abc"}, {"😀😀😀", 2, "😀…"},
	} {
		if got := Text(c.in, c.width); got != c.want {
			t.Errorf("Text(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
	if got := Line(" a\n\tb  c", 4); got != "a b…" {
		t.Errorf("Line gives %q", got)
	}
}

// TestBytes checks that cut text has only whole characters, and as many as fit.
func TestBytes(t *testing.T) {
	text := "aé日😀\u0301z"
	for n := range len(text) + 2 {
		head, end := Bytes([]byte(text), n), End(text, n)
		if !utf8.Valid(head) || !strings.HasPrefix(text, string(head)) || len(head) > n || n <= len(text) && n-len(head) > 3 {
			t.Errorf("Bytes at %d: %q", n, head)
		}
		if !utf8.ValidString(end) || !strings.HasSuffix(text, end) || len(end) > n || n <= len(text) && n-len(end) > 3 {
			t.Errorf("End at %d: %q", n, end)
		}
	}
	for _, bad := range []string{"\xff\xfe\xfd", "a\x80\x80\x80\x80", "\xe6\x97\xe6\x97",
		"\xf0\x9f\x98\xf0\x9f"} { // not UTF-8: left unchanged
		if got := Bytes([]byte(bad), 3); len(got) != 3 {
			t.Errorf("Bytes of %q: %q", bad, got)
		}
	}
}
