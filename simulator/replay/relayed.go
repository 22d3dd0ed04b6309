package replay

import (
	"slices"

	wjson "parley/transport/wire/json"
)

// relayed finds what a target passes on from one connection to another: in which order it does, when several
// connections send at once, is no property of the target.
type relayed map[string]map[string]bool // what the harness has sent → on which connections

func (t *tape) sent() relayed {
	out := relayed{}
	for _, act := range t.acts {
		if !act.json || act.name == "" {
			continue
		}
		key := wjson.Compact(act.value)
		if out[key] == nil {
			out[key] = map[string]bool{}
		}
		out[key][act.Conn] = true
	}
	return out
}

// has reports whether a message of the target is one that the harness has sent on another connection.
func (r relayed) has(m message) bool {
	if !m.json || m.name == "" {
		return false
	}
	conns := r[wjson.Compact(m.value)]
	return len(conns) > 1 || len(conns) == 1 && !conns[m.Conn]
}

// match pairs messages that both sides have passed on, wherever they came among the others.
func (r relayed) match(g *gap, ofB relayed) {
	alike := func(two [2]int) bool { return wjson.Equal(g.a[two[0]].value, g.b[two[1]].value) }
	candidates, free := unpaired(g.pairs, len(g.a), 0), unpaired(g.pairs, len(g.b), 1)
	for _, two := range g.pairs {
		if !alike(two) {
			candidates, free = append(candidates, two[0]), append(free, two[1])
		}
	}
	free = slices.DeleteFunc(free, func(j int) bool { return !ofB.has(g.b[j]) })
	for _, i := range candidates {
		at := slices.IndexFunc(free, func(j int) bool { return alike([2]int{i, j}) })
		if at < 0 || !r.has(g.a[i]) {
			continue
		}
		j := free[at]
		free = slices.Delete(free, at, at+1)
		g.pairs = slices.DeleteFunc(g.pairs, func(two [2]int) bool { return two[0] == i || two[1] == j })
		g.gone[g.a[i].N], g.gone[-g.b[j].N] = true, true
		g.m.pairs = append(g.m.pairs, pair{a: g.a, b: g.b, i: i, j: j})
	}
}
