package studylog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	wjson "parley/wire/json"
)

// show is a value for a reader: on one line, short, and without anything that a terminal would obey.
func show(v any) string { return plain(wjson.Compact(v)) }

// plain keeps the start of a text, whatever is in it.
func plain(text string) string {
	const most = 160
	var b strings.Builder
	for i, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if b.Len() > most || i > 4*most {
			b.WriteString("…")
			break
		}
		if strconv.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// begins is how a line begins.
func begins(text []byte) string { return plain(string(text[:min(len(text), 1<<10)])) }

// field says what stands in a field.
func field(name string, v any, there bool) string {
	if !there {
		return "no " + name
	}
	if kind := wjson.Kind(v); kind != "null" {
		return fmt.Sprintf("%s %s (%s)", name, show(v), kind)
	}
	return name + " null"
}

// differ finds the first place, keys in the order of their bytes, where two values that are not equal differ.
func differ(want, got any, pointer string) (at, wanted, found string) {
	switch w := want.(type) {
	case wjson.Object:
		g, ok := got.(wjson.Object)
		if !ok {
			break
		}
		keys := maps.Clone(w)
		maps.Copy(keys, g)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			below := pointer + wjson.FormatPointer(key)
			x, here := w[key]
			y, there := g[key]
			switch {
			case !there:
				return below, show(x), "nothing"
			case !here:
				return below, "nothing", show(y)
			case !wjson.Equal(x, y):
				return differ(x, y, below)
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			if !wjson.Equal(w[i], g[i]) {
				return differ(w[i], g[i], pointer+wjson.FormatPointer(strconv.Itoa(i)))
			}
		}
	}
	return pointer, show(want), show(got)
}
