package replay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/cut"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Difference is a message that is not what was recorded.
type Difference struct {
	N       int    // number of the recorded record; 0: nothing like it was recorded
	Message string // what it is about, for people: "A event agent_switched"
	Missing bool   // it did not come, or could not be sent
	Extra   bool   // it was not recorded
	Places  []Place
	Maybe   []Ignore // what to ignore if the places that look as if they may differ do
	Diff    string   // all of that for people, on several lines, without a line end

	recorded, came *message
	ids            *ids
	why            string // why it could not be sent
}

// Place is one place at which a message is not as recorded.
type Place struct {
	At       string // JSON Pointer into the message; "" for the whole of it, "status", "content type"
	Recorded string // on one line, bounded; "" if it was not recorded
	Came     string // "" if it did not come
	Maybe    bool   // nothing says that it may differ, but it looks as if: see Ignore
}

// String returns Diff. It has no ids and times that are drawn anew.
func (d Difference) String() string { return d.Diff }

// Bounds of what is shown.
const (
	maxShown  = 400 // characters of a value
	maxLines  = 60  // of a message
	maxNamed  = 3   // places in the first line
	nearLines = 1   // around a line that differs
	maxDepth  = 30  // steps by which a line is indented
)

// showValue is a value for people, on one line and bounded; times are left out.
func showValue(s string) string {
	return cut.Text(transcript.Printable(timeText.ReplaceAllString(s, "«time»")), maxShown)
}

// renderDiff makes Diff.
func (d Difference) renderDiff() string {
	var b strings.Builder
	b.WriteString(d.Message)
	if d.N > 0 {
		fmt.Fprintf(&b, " (record %d)", d.N)
	}
	switch {
	case d.why != "":
		b.WriteString(" cannot be sent: " + d.why)
	case d.Missing:
		b.WriteString(" did not come")
		writeWhole(&b, '-', showValue(string(d.recorded.Bytes)))
	case d.Extra:
		b.WriteString(" came, and was not recorded")
		writeWhole(&b, '+', showValue(d.ids.renderReceived(d.came.Bytes)))
	default:
		b.WriteString(d.namePlaces())
		d.writeTree(&b)
	}
	return b.String()
}

func writeWhole(b *strings.Builder, mark byte, text string) {
	if text != "" {
		fmt.Fprintf(b, "\n  %c %s", mark, text)
	}
}

// namePlaces names the places, in the form that --ignore takes.
func (d Difference) namePlaces() string {
	var names []string
	for _, p := range d.Places {
		if p.At != "" {
			names = append(names, showValue(p.At))
		}
	}
	if len(names) == 0 {
		return ""
	}
	if n := len(names) - maxNamed; n > 0 {
		names = append(names[:maxNamed:maxNamed], fmt.Sprintf("and %d more", n))
	}
	return " at " + strings.Join(names, ", ")
}

// nameMaybe names the places that look as if they may differ.
func (d Difference) nameMaybe() (out []Ignore) {
	for _, p := range d.Places {
		if !p.Maybe {
			continue
		}
		path, _ := wjson.ParsePointer(p.At)
		for n, token := range path {
			if _, err := strconv.Atoi(token); err == nil {
				path[n] = "*"
			}
		}
		one := Ignore{Type: d.recorded.name, Pointer: wjson.FormatPointer(path...)}
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// treeLine is a line of a message.
type treeLine struct {
	mark  byte // ' ', '-' or '+'
	depth int
	text  string
}

// tree renders a recorded message with what came in its places.
type tree struct {
	places map[string]Place
	inside map[string][]string // pointer of an object or array → the names of what came in it and was not recorded
	lines  []treeLine
}

// writeTree writes the lines that differ, with those around them and above them.
func (d Difference) writeTree(b *strings.Builder) {
	t := tree{places: map[string]Place{}, inside: map[string][]string{}}
	for _, p := range d.Places {
		if p.At != "" && p.At[0] != '/' { // the status, or the content type
			fmt.Fprintf(b, "\n  - %s\n  + %s", p.Recorded, p.Came)
			continue
		}
		t.places[p.At] = p
		if p.Recorded == "" && p.At != "" {
			at := jsontext.Pointer(p.At)
			t.inside[string(at.Parent())] = append(t.inside[string(at.Parent())], at.LastToken())
		}
	}
	if len(t.places) == 0 {
		return
	}
	t.addValue(0, "", "", d.recorded.value)
	t.writeDiffering(b)
}

// addValue adds the lines of a value. name is that of the member, with a colon.
func (t *tree) addValue(depth int, name, at string, v any) {
	if p, differs := t.places[at]; differs {
		if p.Recorded != "" {
			t.lines = append(t.lines, treeLine{'-', depth, name + p.Recorded})
		}
		if p.Came != "" {
			t.lines = append(t.lines, treeLine{'+', depth, name + p.Came})
		}
		return
	}
	if !t.differsInside(at) {
		t.lines = append(t.lines, treeLine{' ', depth, name + cut.Text(showValue(wjson.Compact(v)), 100)})
		return
	}
	switch v := v.(type) {
	case wjson.Object:
		t.lines = append(t.lines, treeLine{' ', depth, name + "{"})
		names := slices.AppendSeq(slices.Clone(t.inside[at]), maps.Keys(v))
		slices.Sort(names)
		for _, member := range names {
			t.addValue(depth+1, wjson.Compact(member)+": ", at+wjson.FormatPointer(member), v[member])
		}
		t.lines = append(t.lines, treeLine{' ', depth, "}"})
	case []any:
		t.lines = append(t.lines, treeLine{' ', depth, name + "["})
		for i := range len(v) + len(t.inside[at]) {
			var one any
			if i < len(v) {
				one = v[i]
			}
			t.addValue(depth+1, "", at+"/"+strconv.Itoa(i), one)
		}
		t.lines = append(t.lines, treeLine{' ', depth, "]"})
	}
}

// differsInside reports whether something in a value differs.
func (t *tree) differsInside(at string) bool {
	for place := range t.places {
		if strings.HasPrefix(place, at+"/") {
			return true
		}
	}
	return false
}

// writeDiffering writes the lines that differ, those above them, and those next to them.
func (t *tree) writeDiffering(b *strings.Builder) {
	keep := make([]bool, len(t.lines))
	for i, l := range t.lines {
		if l.mark == ' ' {
			continue
		}
		for j := max(0, i-nearLines); j <= min(len(t.lines)-1, i+nearLines); j++ {
			keep[j] = true
		}
		depth := l.depth
		for j := i; j >= 0; j-- {
			if t.lines[j].depth < depth {
				keep[j], depth = true, t.lines[j].depth
			}
		}
	}
	wrote, gap := 0, false
	for i, l := range t.lines {
		switch {
		case !keep[i]:
			gap = true
			continue
		case wrote == maxLines:
			b.WriteString("\n    …")
			return
		case gap && wrote > 0:
			b.WriteString("\n    " + strings.Repeat("  ", min(l.depth, maxDepth)) + "…")
		}
		gap = false
		wrote++
		fmt.Fprintf(b, "\n  %c %s%s", l.mark, strings.Repeat("  ", min(l.depth, maxDepth)), cut.Text(
			transcript.Printable(l.text), 2*maxShown))
	}
}
