package replay

import (
	"cmp"
	"slices"

	"parley/transport/transcript"
)

// gap notes what stands between the pairs of a conversation in a thread.
type gap struct {
	m            *meeting
	key          thread
	a, b         []message
	pairs        [][2]int
	gone         map[int]bool // numbers of messages of A, negative ones of B, that are paired in another way
	onlyA, onlyB []int        // indices into a and b, and into the deviations
	atA, atB     []int
}

// note notes all that is in no pair.
func (g *gap) note() {
	i, j := 0, 0
	for _, two := range g.pairs {
		g.close(i, two[0], j, two[1], false)
		i, j = two[0]+1, two[1]+1
	}
	g.close(i, len(g.a), j, len(g.b), true)
	g.reorder()
}

// close notes what stands between indices of both sides. tail says that no pair follows.
func (g *gap) close(i, iEnd, j, jEnd int, tail bool) {
	for i < iEnd && j < jEnd && g.openA(i) && g.openB(j) {
		g.add(Instead, i, j)
		if i, j = i+1, j+1; g.a[i-1].Kind == transcript.Closed || g.b[j-1].Kind == transcript.Closed {
			return // nothing can come behind it
		}
	}
	for ; i < iEnd; i++ {
		if g.openA(i) && !g.spare(g.a[i], g.b) && (!tail || g.movedBack(g.a[i]) || g.shown(g.a[i])) {
			g.onlyA, g.atA = append(g.onlyA, i), append(g.atA, len(g.m.found.Deviations))
			g.add(OnlyA, i, -1)
		}
	}
	for ; j < jEnd; j++ {
		if g.openB(j) && !g.spare(g.b[j], g.a) && (!tail || g.moved(g.b[j]) || g.shownBack(g.b[j])) {
			g.onlyB, g.atB = append(g.onlyB, j), append(g.atB, len(g.m.found.Deviations))
			g.add(OnlyB, -1, j)
		}
	}
}

// moved reports whether A has sent a message of this sort at an earlier place of the thread, where B has not.
func (g *gap) moved(one message) bool {
	return slices.ContainsFunc(g.onlyA, func(i int) bool { return g.a[i].sort == one.sort })
}

// movedBack is moved for a message of A.
func (g *gap) movedBack(one message) bool {
	return slices.ContainsFunc(g.onlyB, func(j int) bool { return g.b[j].sort == one.sort })
}

// openA reports whether a message of A is in no pair, and came before the harness did something else than on the other
// side.
func (g *gap) openA(i int) bool { return !g.gone[g.a[i].N] && g.a[i].N <= g.m.endA }

// openB is openA for a message of B.
func (g *gap) openB(j int) bool { return !g.gone[-g.b[j].N] && g.b[j].N <= g.m.endB }

// spare reports whether a message need not have one like it on the other side.
func (g *gap) spare(one message, other []message) bool {
	return !g.m.o.Words && one.repeats() && recordedToo(other, one)
}

// shown reports whether B was observed long enough to say that it did not send a message of A.
func (g *gap) shown(one message) bool {
	after := g.m.a.before(one.N)
	if g.m.b.late[g.m.twin[g.key.reply]] && g.key.reply != 0 {
		return false
	}
	return g.m.b.closed[g.key.conn] || g.m.b.until(g.key)-g.m.b.at(g.m.twin[after]) >= g.m.o.Quiet
}

// shownBack is shown for a message of B.
func (g *gap) shownBack(one message) bool {
	after := g.m.numbered(one)
	if g.m.a.late[g.key.reply] {
		return false
	}
	return g.m.a.closed[g.key.conn] || g.m.a.until(g.key)-g.m.a.at(after) >= g.m.o.Quiet
}

// add notes a deviation. An index below 0 stands for nothing.
func (g *gap) add(kind DeviationKind, i, j int) {
	d := Deviation{Kind: kind, Conn: g.key.conn}
	if i >= 0 {
		d.A, d.AtA, d.AtB = g.m.a.wire(g.a, i), g.a[i].N, g.m.twin[g.m.a.before(g.a[i].N)]
	}
	if j >= 0 {
		d.B, d.AtB = g.m.b.wire(g.b, j), g.b[j].N
	}
	if i < 0 {
		d.AtA = g.m.numbered(g.b[j])
	}
	d.Conn = cmp.Or(d.Conn, connOf(g.a, i), connOf(g.b, j))
	g.m.found.Deviations = append(g.m.found.Deviations, d)
}

func connOf(all []message, at int) string {
	if at < 0 {
		return ""
	}
	return all[at].Conn
}

// numbered returns the number of the act in A behind which a message of B came.
func (m *meeting) numbered(one message) int {
	return m.back[m.b.before(one.N)]
}

// reorder makes one deviation of two where both sides sent one message at different places.
func (g *gap) reorder() {
	gone := map[int]bool{}
	all := g.m.found.Deviations
	for n, i := range g.onlyA {
		for k, j := range g.onlyB {
			x, y := g.atA[n], g.atB[k]
			if x >= len(all) || y >= len(all) || gone[x] || gone[y] || g.a[i].sort != g.b[j].sort {
				continue
			}
			all[x].Kind, all[x].B, all[x].AtB = Order, g.m.b.wire(g.b, j), g.b[j].N
			gone[x], gone[y] = true, true
			all[y].Kind = ""
			break
		}
	}
	g.m.found.Deviations = slices.DeleteFunc(all, func(d Deviation) bool { return d.Kind == "" })
}
