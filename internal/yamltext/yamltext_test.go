package yamltext

import (
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

type row struct {
	A any    `yaml:"a"`
	B string `yaml:"b"`
}

// deeply returns a text that would take the parser a gigabyte.
func deeply(begin, open, shut string) string {
	return begin + strings.Repeat(open, 30_000) + "x" + strings.Repeat(shut, 30_000)
}

// stairs nests n mappings by indentation.
func stairs(n int) string {
	var b strings.Builder
	b.WriteString("a:\n")
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return b.String()
}

func TestRefused(t *testing.T) {
	const deep = "nested deeper than 64 levels"
	for _, c := range []struct{ text, want string }{
		{deeply("a: ", "[", "]"), "[1:68] it is " + deep}, {deeply("a: ", "[{", ""), deep}, {deeply("", "- ", ""), deep},
		{deeply("", "? ", ""), deep}, {deeply("a: ", "&b ", ""), deep}, {deeply("a: ", "!!str ", ""), deep},
		{stairs(600), deep}, {"a: [", "["}, {"a: 1\na: 2", "a"},
	} {
		_, err := Parse([]byte(c.text))
		var place yaml.Error
		if !errors.As(err, &place) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v", c.text, err)
		}
	}
}

func TestStrict(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: !x\n", "[1:4] the tag !x means nothing here (leave it out)"},
		{"- !y {a: 1}", "!y"}, {"a: 1\nc: 2", "[2:1] unknown key \"c\""},
		{"b: [1]", "[1:4] expected text, found a list"}, {"a: {{", "["}, {deeply("a: ", "[", "]"), "nested"},
	} {
		if err := Strict([]byte(c.text), &row{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v", c.text, err)
		}
	}
	for _, text := range []string{"\ufeffb: x", "b: x", "b: !!str 7",
		"a: " + strings.Repeat("[", 60) + strings.Repeat("]", 60),
		"a: &b {x: 1}\nb: \"[[[[\"", stairs(0),
		"# " + strings.Repeat("x", 999) + "\nb: z " + strings.Repeat("[y](z) ", 200),
		"", "b: |\n" + strings.Repeat(" ", 600) + "x"} {
		if err := Strict([]byte(text), &row{}); err != nil {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// TestPlain checks that mistakes are told in the words of somebody who writes YAML, with their place and the mend.
func TestPlain(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[1]", "[1:1] expected a mapping, found a list"}, {"x", "[1:1] expected a mapping, found text"},
		{"7", "[1:1] expected a mapping, found a number"}, {"null", "[1:1] expected a mapping, found nothing"},
		{"b: x\nb: y", `[2:1] the key "b" is given twice (first in line 1)`},
		{"b: x: y", "[1:4] a colon and a blank within a value (put the value in quotes)"},
		{"b: \"x", `[1:4] the text is not closed by "`}, {"b: 'x", "[1:4] the text is not closed by '"},
		{"a: [1", "[1:4] the list is not closed by ]"}, {"a: {x: 1", "[1:4] the mapping is not closed by }"},
		{"a: *x", "[1:5] there is no anchor &x for *x"}, {"a:\n\tb: x", "[2:1] a tab cannot indent a line (use blanks)"},
		{"a: 1\n---\na: 2", "[3:2] a second document (write one, without ---)"},
		{"n: x", "[1:4] expected a whole number, found text"},
		{"n: 99999999999999999999", "[1:4] 99999999999999999999 is out of range here"},
		{"t: x", "[1:4] expected true or false, found text"},
		{"\xff\xfea\x00", "it is UTF-16 (save it as UTF-8)"}, {"a: \xff", "it is not UTF-8 (save it as UTF-8)"},
	} {
		var v struct {
			A any    `yaml:"a"`
			B string `yaml:"b"`
			N int8   `yaml:"n"`
			T bool   `yaml:"t"`
		}
		if err := Strict([]byte(c.text), &v); err == nil || err.Error() != c.want {
			t.Errorf("%q: %v\nwant %s", c.text, err, c.want)
		}
	}
}

// FuzzStrict: no input ends the process.
func FuzzStrict(f *testing.F) {
	for _, text := range []string{"a: !x", "a: [1, {b: 2}]\nb: |\n x\n", "- &a x\n- *a", "? a\n: b", "a: !!binary x",
		"<<: *a"} {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		_ = Strict([]byte(text), &row{})
		_, _ = Parse([]byte(text))
	})
}
