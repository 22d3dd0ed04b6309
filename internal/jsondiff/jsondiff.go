// Package jsondiff shows how two values differ, as a person reads them in messages: as JSON. The comparison is that of
// go-cmp; its own report has the syntax of Go, which says nothing to those who write a target in another language.
package jsondiff

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"parley/internal/jsonform"
)

// around is how many equal lines are shown before and after a difference.
const around = 3

// Diff returns the lines of two values as indented JSON: "- " before those of want alone, "+ " before those of got
// alone, "  " before others. Equal lines far from any difference are "  …". It returns "" if the values are equal as
// JSON; an empty list equals none.
func Diff(want, got any) string { return diffLines(jsonLines(want), jsonLines(got), sameLine) }

// Lines is Diff for lines of text, which are shown as they are.
func Lines(want, got []string) string { return diffLines(want, got) }

func diffLines(want, got []string, o ...cmp.Option) string {
	r := &reporter{}
	want, got = append([]string{}, want...), append([]string{}, got...) // go-cmp reports a nil list as a whole
	if cmp.Equal(want, got, append(o, cmp.Reporter(r))...) {
		return ""
	}
	return r.text()
}

// sameLine leaves out of account the comma that separates a member from the next.
var sameLine = cmp.Comparer(func(a, b string) bool { return strings.TrimSuffix(a, ",") == strings.TrimSuffix(b, ",") })

// jsonLines returns a value as lines of JSON.
func jsonLines(v any) []string {
	_, list := v.([]string)
	b, err := json.Marshal(v, jsonform.Unescaped, json.FormatNilSliceAsNull(!list), jsontext.WithIndent("  "))
	if err != nil {
		return strings.Split(fmt.Sprint(v), "\n")
	}
	return strings.Split(string(b), "\n")
}

// line is a line of the report: its sign and its text.
type line struct {
	sign byte
	text string
}

// reporter collects the lines as go-cmp has aligned them.
type reporter struct {
	path  cmp.Path
	lines []line
}

// PushStep implements the reporter of go-cmp.
func (r *reporter) PushStep(s cmp.PathStep) { r.path = append(r.path, s) }

// PopStep implements the reporter of go-cmp.
func (r *reporter) PopStep() { r.path = r.path[:len(r.path)-1] }

// Report implements the reporter of go-cmp.
func (r *reporter) Report(result cmp.Result) {
	want, got := r.path.Last().Values()
	if result.Equal() {
		r.lines = append(r.lines, line{' ', got.String()})
		return
	}
	if want.IsValid() {
		r.lines = append(r.lines, line{'-', want.String()})
	}
	if got.IsValid() {
		r.lines = append(r.lines, line{'+', got.String()})
	}
}

// text returns the differences with the lines around them.
func (r *reporter) text() string {
	near := make([]bool, len(r.lines))
	for i, l := range r.lines {
		if l.sign != ' ' {
			for j := max(0, i-around); j <= min(len(near)-1, i+around); j++ {
				near[j] = true
			}
		}
	}
	var b strings.Builder
	for i, l := range r.lines {
		switch {
		case near[i]:
			fmt.Fprintf(&b, "%c %s\n", l.sign, l.text)
		case i == 0 || near[i-1]:
			b.WriteString("  …\n")
		}
	}
	return b.String()
}
