package verdict

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Text returns a baseline as YAML, its comments before the rows.
func (b *Baseline) Text(comments ...string) string {
	var out strings.Builder
	for _, c := range comments {
		out.WriteString("# " + c + "\n")
	}
	if len(b.Expected) == 0 {
		return out.String() + "expected: []\n"
	}
	out.WriteString("expected:\n")
	for _, e := range b.Expected {
		lead := "  - "
		add := func(key, value string, quoted bool) {
			if value == "" {
				return
			}
			if quoted {
				value = quote(value)
			}
			out.WriteString(lead + key + ": " + value + "\n")
			lead = "    "
		}
		add("clause", e.Clause, false)
		add("role", e.Role, false)
		add("driver", e.Driver, false)
		if e.Flaky {
			add("flaky", "true", false)
		}
		add("reason", e.Reason, true)
		add("expires", e.Expires, false)
	}
	return out.String()
}

// quote returns a text as a YAML scalar on one line.
func quote(text string) string {
	b, err := yaml.MarshalWithOptions(text, yaml.JSON())
	if err != nil {
		return fmt.Sprintf("%q", text)
	}
	return strings.TrimSpace(string(b))
}

// DropRows returns the text of a baseline without some of its rows, which are numbered from 0. All other lines stay
// as they are: comments, order, blank lines. It fails if the rows do not stand on lines of their own.
func DropRows(text []byte, drop func(row int) bool) ([]byte, error) {
	before, err := ParseBaseline(text)
	if err != nil {
		return nil, err
	}
	var wanted []Expected
	for i, e := range before.Expected {
		if !drop(i) {
			wanted = append(wanted, e)
		}
	}
	if len(wanted) == len(before.Expected) {
		return text, nil
	}
	out := withoutRows(text, drop, len(wanted) == 0)
	if after, err := ParseBaseline(out); err != nil || !slices.Equal(after.Expected, wanted) {
		return nil, errRowLines
	}
	return out, nil
}

var errRowLines = errors.New("the rows cannot be dropped one by one: " +
	"write each on lines of its own, beginning with \"- \"")

// withoutRows removes the lines of rows; empty says that no row remains.
func withoutRows(text []byte, drop func(int) bool, empty bool) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	gone := make([]bool, len(lines))
	for i, row := range rowLines(lines) {
		for n := row.first; drop(i) && n <= row.last; n++ {
			gone[n] = true
		}
	}
	var out []byte
	for i, line := range lines {
		if empty && bytes.HasPrefix(line, []byte("expected:")) {
			line = bytes.Replace(line, []byte("expected:"), []byte("expected: []"), 1)
		}
		if !gone[i] {
			out = append(out, line...)
		}
	}
	return out
}

// rowSpan is the lines of a row, numbered from 0, without blank lines and comments behind it.
type rowSpan struct{ first, last int }

// rowLines finds the rows of a block sequence by their indentation.
func rowLines(lines [][]byte) (rows []rowSpan) {
	dash, inside := -1, false
	for i, line := range lines {
		text := bytes.TrimRight(line, " \t\r\n")
		words := bytes.TrimLeft(text, " ")
		indent := len(text) - len(words)
		switch {
		case len(words) == 0 || words[0] == '#':
		case bytes.HasPrefix(text, []byte("expected:")):
			inside = true
		case !inside:
		case bytes.HasPrefix(words, []byte("-")) && (dash < 0 || indent == dash):
			dash = indent
			rows = append(rows, rowSpan{i, i})
		case dash < 0 || indent <= dash:
			inside = false
		default:
			rows[len(rows)-1].last = i
		}
	}
	return rows
}
