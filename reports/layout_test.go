package reports

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "切换": 4, "é": 1, "e\u0301": 1, "🙂": 2, "（": 2, "·–…": 3} {
		if got := columnWidth(s); got != want {
			t.Errorf("columns(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		reason, in string
		limit      int
		want       []string
	}{
		{"a line that fits stays", "one two", 7, []string{"one two"}},
		{"breaks at a space", "one two three", 8, []string{"one two", "three"}},
		{"spaces at the break go", "one     two", 5, []string{"one", "two"}},
		{"leading spaces stay", "  one two", 6, []string{"  one", "two"}},
		{"a long word is cut", "abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"breaks between wide characters", "切换主代理", 4, []string{"切换", "主代", "理"}},
		{"a wide character is never halved", "切换主", 3, []string{"切", "换", "主"}},
		{"no line begins with a closing mark", "切换，主", 4, []string{"切", "换，", "主"}},
		{"JSON breaks after a comma", `{"a":1,"b":2}`, 10, []string{`{"a":1,`, `"b":2}`}},
		{"no limit", "one two", 0, []string{"one two"}},
		{"only spaces", "      ", 3, []string{"      "}},
	} {
		if got := wrap(tt.in, tt.limit); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

// FuzzWrap: lines stay within the limit, and only spaces are lost.
func FuzzWrap(f *testing.F) {
	f.Add("one two  切换主代理 {\"a\":1,\"b\":2}", 7)
	f.Add(strings.Repeat("x", 300), 20)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 2 || limit > 200 || !utf8.ValidString(s) {
			t.Skip()
		}
		lines := wrap(makeVisible(strings.ReplaceAll(s, "\n", " ")), limit)
		for _, line := range lines {
			if n := columnWidth(strings.TrimRight(line, " ")); n > limit {
				t.Errorf("%q has %d columns, limit %d", line, n, limit)
			}
		}
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if got, want := squeeze(strings.Join(lines, "")),
			squeeze(makeVisible(strings.ReplaceAll(s, "\n", " "))); got != want {
			t.Errorf("text became %q, want %q", got, want)
		}
	})
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"切换主", 4, "切…"}, {"切换", 4, "切换"}, {"abc", 0, ""}} {
		if got := shorten(tt.in, tt.n); got != tt.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestCommandLines(t *testing.T) {
	const command = `parley run --tags '@AS-085 and not @slow' --target "my server.yaml" --strict`
	want := []string{`parley run`, `--tags '@AS-085 and not @slow'`, `--target "my server.yaml"`, `--strict`}
	if got := commandLines(command, 20); !slices.Equal(got, want) {
		t.Errorf("narrow: %q, want %q", got, want)
	}
	if got := commandLines(command, 0); !slices.Equal(got, []string{command}) {
		t.Errorf("without limit: %q", got)
	}
}
