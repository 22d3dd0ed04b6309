package studylog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	wjson "parley/transport/wire/json"
)

// show formats a value for display: on one line, short, and without control characters for a terminal.
func show(v any) string { return plain(wjson.Compact(v)) }

// plain returns the beginning of a text, with nothing but graphic characters.
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

// begins returns the beginning of a line.
func begins(text []byte) string { return plain(string(text[:min(len(text), 1<<10)])) }

// field describes the content of a field.
func field(name string, v any, there bool) string {
	if !there {
		return "no " + name
	}
	if kind := wjson.Kind(v); kind != "null" {
		return fmt.Sprintf("%s %s (%s)", name, show(v), kind)
	}
	return name + " null"
}

// differ finds the first place, with keys in byte order, where two unequal values differ.
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
