package differential

import (
	"cmp"
	"maps"
	"slices"

	"parley/reports"
	"parley/simulator/replay"
)

// maxValues bounds the pairs of values of an entry.
const maxValues = 5

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// bestOf returns the occurrence that shows a difference best. It prefers one that a clause decides, then one that no
// other difference may have caused, then few other differences in the message, then short messages.
func bestOf(all []occurrence) occurrence {
	return slices.MinFunc(all, func(x, y occurrence) int {
		return cmp.Or(cmp.Compare(btoi(len(x.decided) == 0), btoi(len(y.decided) == 0)),
			cmp.Compare(btoi(x.behind), btoi(y.behind)),
			cmp.Compare(len(x.dev.Places), len(y.dev.Places)),
			cmp.Compare(length(x.dev.A)+length(x.dev.B), length(y.dev.A)+length(y.dev.B)))
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func length(w *replay.Wire) int {
	if w == nil {
		return 0
	}
	return len(w.Text)
}

// valuesOf returns the most frequent pairs of values.
func valuesOf(all []occurrence) []Value {
	count := map[Value]int{}
	for _, o := range all {
		if o.dev.Kind == replay.Changed && len(o.dev.Places) > 0 {
			p := o.dev.Places[o.at]
			count[Value{A: p.Recorded, B: p.Came}]++
		}
	}
	var out []Value
	for v, n := range count {
		v.Count = n
		out = append(out, v)
	}
	slices.SortFunc(out, func(x, y Value) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	return out[:min(len(out), maxValues)]
}

func mostFrequent(of map[string]int) string {
	best := ""
	for _, key := range sortedKeys(of) {
		if best == "" || of[key] > of[best] {
			best = key
		}
	}
	return best
}

func exampleOf(o occurrence) Example {
	e := Example{Scenario: o.id, Name: o.a.Name, Driver: o.driver, Conn: o.dev.Conn, Diff: o.dev.Diff,
		A: messageOf(o.dev.A, "a", o.a), B: messageOf(o.dev.B, "b", o.b)}
	if w := cmp.Or(o.dev.A, o.dev.B); w != nil {
		e.Act, e.Said = w.Act, w.Said
	}
	return e
}

func messageOf(w *replay.Wire, side string, sc *reports.Scenario) *Message {
	if w == nil {
		return nil
	}
	m := &Message{Record: w.N, What: w.What, Text: w.Text, After: w.After}
	if sc.Transcript != nil {
		m.Transcript = side + "/" + sc.Transcript.Path
	}
	return m
}
