package replay

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"parley/transcript"
)

// meeting compares two recordings of one scenario.
type meeting struct {
	o     Options
	ids   *ids
	a, b  *tape
	twin  map[int]int // number of an act of the harness in A → its number in B
	pairs []pair
	found Comparison

	endA, endB int // from here on the harness did something else
}

// pair is what was done on both sides.
type pair struct {
	a, b []message // the threads in which they are
	i, j int
	act  bool // by the harness
}

// pairActs pairs what the harness did, by connection, as long as it did the same.
func (m *meeting) pairActs() {
	m.endA, m.endB = math.MaxInt, math.MaxInt
	a, b := byConn(m.a.acts), byConn(m.b.acts)
	for conn, mine := range a {
		theirs := b[conn]
		n := 0
		for n < len(mine) && n < len(theirs) && doneAlike(mine[n], theirs[n]) {
			m.twin[mine[n].N] = theirs[n].N
			m.pairs = append(m.pairs, pair{a: mine, b: theirs, i: n, j: n, act: true})
			n++
		}
		m.endA, m.endB = min(m.endA, firstAct(mine[n:])), min(m.endB, firstAct(theirs[n:]))
	}
	for conn, theirs := range b {
		if a[conn] == nil {
			m.endB = min(m.endB, firstAct(theirs))
		}
	}
	m.found.Parted = m.endA != math.MaxInt || m.endB != math.MaxInt
}

// byConn sorts the acts of a harness by connection. Its answers to a client's requests follow from those.
func byConn(acts []message) map[string][]message {
	out := map[string][]message{}
	for _, m := range acts {
		if m.Reply == 0 || m.Kind != transcript.Response && m.Kind != transcript.Open {
			out[m.Conn] = append(out[m.Conn], m)
		}
	}
	return out
}

// firstAct returns the number of the first act that is not the end of a connection.
func firstAct(acts []message) int {
	for _, m := range acts {
		if m.Kind != transcript.Closed {
			return m.N
		}
	}
	return math.MaxInt
}

// doneAlike reports whether two acts of the harness are the same, but for what they contain.
func doneAlike(a, b message) bool {
	if a.sort != b.sort {
		return false
	}
	if a.Kind == transcript.Request || a.Kind == transcript.Open {
		return strings.Count(placeOf(a.Record), "/") == strings.Count(placeOf(b.Record), "/")
	}
	return true
}

// threads sorts what a target did by the threads in which the order counts. Answers are in those of A's requests.
func (m *meeting) threads() (a, b map[thread][]message, order []thread) {
	a, b = map[thread][]message{}, map[thread][]message{}
	back := map[int]int{}
	for mine, theirs := range m.twin {
		back[theirs] = mine
	}
	put := func(to map[thread][]message, key thread, one message) {
		if a[key] == nil && b[key] == nil {
			order = append(order, key)
		}
		to[key] = append(to[key], one)
	}
	for _, one := range m.a.came {
		put(a, m.thread(one, one.Reply), one)
	}
	for _, one := range m.b.came {
		reply := one.Reply
		if reply != 0 {
			if reply = back[one.Reply]; reply == 0 {
				continue // the harness did not ask that in A
			}
		}
		put(b, m.thread(one, reply), one)
	}
	return a, b, order
}

func (m *meeting) thread(one message, reply int) thread {
	if m.a.atServer && (one.Kind == transcript.Open || one.Kind == transcript.Request) {
		key := askedIn(one.Record)
		key.conn = one.Conn
		return key
	}
	if m.a.atServer {
		reply = 0
	}
	return thread{conn: one.Conn, reply: reply}
}

// align pairs what the targets did, and notes what one of them did alone.
func (m *meeting) align() {
	a, b, order := m.threads()
	for _, key := range order {
		mine, theirs := m.plain(a[key]), m.plain(b[key])
		g := gap{m: m, key: key, a: mine, b: theirs}
		i, j := 0, 0
		for _, two := range longest(mine, theirs) {
			g.close(i, two[0], j, two[1], false)
			m.pairs = append(m.pairs, pair{a: mine, b: theirs, i: two[0], j: two[1]})
			i, j = two[0]+1, two[1]+1
		}
		g.close(i, len(mine), j, len(theirs), true)
		g.reorder()
	}
}

// plain leaves out what is ignored, and all but one of messages in a row whose number depends on a model.
func (m *meeting) plain(all []message) (out []message) {
	for _, one := range all {
		ignored := one.name != "" && slices.ContainsFunc(m.o.Ignore, func(i Ignore) bool { return i.whole(one.name) })
		n := len(out)
		if !ignored && (m.o.Words || n == 0 || !one.repeats() || out[n-1].sort != one.sort) {
			out = append(out, one)
		}
	}
	return out
}

// gap notes what stands between two pairs of a thread.
type gap struct {
	m            *meeting
	key          thread
	a, b         []message
	onlyA, onlyB []int // indices into a and b, and into the deviations
	atA, atB     []int
}

// close notes what stands between indices of both sides. tail says that no pair follows.
func (g *gap) close(i, iEnd, j, jEnd int, tail bool) {
	for i < iEnd && j < jEnd && !g.beyond(g.a[i], g.m.endA) && !g.beyond(g.b[j], g.m.endB) {
		g.add(Instead, i, j)
		if i, j = i+1, j+1; g.a[i-1].Kind == transcript.Closed || g.b[j-1].Kind == transcript.Closed {
			return // nothing can come behind it
		}
	}
	for ; i < iEnd; i++ {
		if !g.beyond(g.a[i], g.m.endA) && !g.spare(g.a[i], g.b) && (!tail || g.movedBack(g.a[i]) || g.shown(g.a[i])) {
			g.onlyA, g.atA = append(g.onlyA, i), append(g.atA, len(g.m.found.Deviations))
			g.add(OnlyA, i, -1)
		}
	}
	for ; j < jEnd; j++ {
		if !g.beyond(g.b[j], g.m.endB) && !g.spare(g.b[j], g.a) && (!tail || g.moved(g.b[j]) || g.shownBack(g.b[j])) {
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

// beyond reports whether a message came after the harness had done something else than on the other side.
func (g *gap) beyond(one message, end int) bool { return one.N > end }

// spare reports whether a message need not have one like it on the other side.
func (g *gap) spare(one message, other []message) bool {
	return !g.m.o.Words && one.repeats() && recordedToo(other, one)
}

// shown reports whether B was observed long enough to say that it did not send a message of A.
func (g *gap) shown(one message) bool {
	after := g.m.a.before(one.N)
	return g.m.b.closed[g.key.conn] || g.m.b.until(g.key)-g.m.b.at(g.m.twin[after]) >= g.m.o.Quiet
}

// shownBack is shown for a message of B.
func (g *gap) shownBack(one message) bool {
	after := g.m.numbered(one)
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
	after := m.b.before(one.N)
	for mine, theirs := range m.twin {
		if theirs == after {
			return mine
		}
	}
	return 0
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

// judge compares the content of what was paired, in the order of A.
func (m *meeting) judge() {
	slices.SortStableFunc(m.pairs, func(x, y pair) int { return cmp.Compare(x.a[x.i].N, y.a[y.i].N) })
	for _, p := range m.pairs {
		a, b := p.a[p.i], p.b[p.j]
		if p.act {
			m.learn(a, b)
			continue
		}
		c := comparison{ids: m.ids, ignore: m.o.Ignore, kind: a.name, exact: m.o.Words}
		places := c.messages(a, b)
		if a.N > m.endA && b.N > m.endB {
			continue
		}
		m.found.Compared++
		if len(places) == 0 {
			continue
		}
		d := Difference{N: a.N, Message: a.title(), Places: places, recorded: &a, came: &b, ids: m.ids}
		m.found.Deviations = append(m.found.Deviations, Deviation{Kind: Changed, Conn: a.Conn,
			A: m.a.wire(p.a, p.i), B: m.b.wire(p.b, p.j), Places: places, Diff: d.render(), AtA: a.N, AtB: b.N})
	}
}

// learn learns the ids in what the harness has done on both sides.
func (m *meeting) learn(a, b message) {
	c := comparison{ids: m.ids, kind: a.name}
	c.messages(a, b)
	if a.json && b.json {
		c.values(a.value, b.value, nil) // names that the harness has made up, in any member
	}
	m.ids.oursIn(b.Bytes)
	m.ids.says(b.value)
}
