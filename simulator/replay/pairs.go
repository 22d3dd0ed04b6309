package replay

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"parley/transport/transcript"
)

// comparer compares two recordings of one scenario.
type comparer struct {
	o     Options
	ids   *ids
	a, b  *recordedMessages
	twin  map[int]int         // number of an act of the harness in A → its number in B
	back  map[int]int         // the reverse of twin
	lanes map[string]string   // conversation of B → what it is called in A, where that differs
	solo  map[laneOfConn]bool // conversations that the harness had on one side alone
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

// pairActs pairs what the harness did, by connection and conversation, as long as it did the same.
func (m *comparer) pairActs() {
	m.endA, m.endB = math.MaxInt, math.MaxInt
	a, b := m.lanesOf(m.a.acts), m.lanesOf(m.b.acts)
	m.nameLanes(a, b)
	theirs := map[laneOfConn][]message{}
	for key, acts := range b {
		theirs[laneOfConn{key.conn, m.laneOf(key.lane)}] = acts
	}
	for key, mine := range a {
		n := 0
		for n < len(mine) && n < len(theirs[key]) && doneAlike(mine[n], theirs[key][n]) {
			m.twin[mine[n].N] = theirs[key][n].N
			m.back[theirs[key][n].N] = mine[n].N
			m.pairs = append(m.pairs, pair{a: mine, b: theirs[key], i: n, j: n, act: true})
			n++
		}
		switch {
		case key.lane != "" && theirs[key] == nil: // a talk of the harness's own, such as to measure the target's pace
			m.solo[key] = true
		default:
			m.endA, m.endB = min(m.endA, firstAct(mine[n:])), min(m.endB, firstAct(theirs[key][n:]))
		}
	}
	for key, acts := range theirs {
		switch {
		case a[key] != nil:
		case key.lane == "":
			m.endB = min(m.endB, firstAct(acts))
		default:
			m.solo[key] = true
		}
	}
	m.found.Parted = m.endA != math.MaxInt || m.endB != math.MaxInt
}

// laneOfConn is what belongs to one conversation on one connection.
type laneOfConn struct{ conn, lane string }

// lanesOf sorts the acts of a harness. Its answers to a client's requests are left out: they follow from those.
func (m *comparer) lanesOf(acts []message) map[laneOfConn][]message {
	out := map[laneOfConn][]message{}
	for _, one := range acts {
		if one.Reply == 0 || one.Kind != transcript.Response && one.Kind != transcript.Open {
			key := laneOfConn{one.Conn, m.messageLane(one)}
			out[key] = append(out[key], one)
		}
	}
	return out
}

// messageLane returns which conversation a message belongs to; "" for the only one.
func (m *comparer) messageLane(one message) string {
	if m.found.Mapped {
		return ""
	}
	return m.o.Messages.Lane(one.value)
}

// nameLanes finds out which conversation of A one of B is, where the harness gave them other names: the first of
// these is the first of those, if there are as many.
func (m *comparer) nameLanes(a, b map[laneOfConn][]message) {
	onlyA, onlyB := unmatchedLanes(a, b), unmatchedLanes(b, a)
	for conn, theirs := range onlyB {
		if mine := onlyA[conn]; len(mine) == len(theirs) {
			for i, lane := range theirs {
				m.lanes[lane] = mine[i]
			}
		}
	}
}

// unmatchedLanes returns the conversations on each connection that the other side has not, in their order.
func unmatchedLanes(mine, theirs map[laneOfConn][]message) map[string][]string {
	out := map[string][]string{}
	var keys []laneOfConn
	for key := range mine {
		if _, common := theirs[key]; !common && key.lane != "" {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(x, y laneOfConn) int { return mine[x][0].N - mine[y][0].N })
	for _, key := range keys {
		out[key.conn] = append(out[key.conn], key.lane)
	}
	return out
}

// laneOf returns the name that A has for a conversation of B.
func (m *comparer) laneOf(lane string) string { return cmp.Or(m.lanes[lane], lane) }

// firstAct returns the number of the first act that is not the end of a connection.
func firstAct(acts []message) int {
	for _, m := range acts {
		if m.Kind != transcript.Closed {
			return m.N
		}
	}
	return math.MaxInt
}

// doneAlike reports whether two acts of the harness are the same, but for what they contain. What they are in the
// protocol their labels say, whatever the wire of a target is.
func doneAlike(a, b message) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case transcript.Request:
		return a.Type == b.Type
	case transcript.Open, transcript.Closed:
		return true
	}
	return a.messageSort == b.messageSort || a.Label != "" && a.Label == b.Label
}

// sortThreads sorts what a target did by the threads in which the order counts. Answers are in those of A's requests.
func (m *comparer) sortThreads() (a, b map[thread][]message, order []thread) {
	a, b = map[thread][]message{}, map[thread][]message{}
	put := func(to map[thread][]message, key thread, one message) {
		if a[key] == nil && b[key] == nil {
			order = append(order, key)
		}
		to[key] = append(to[key], one)
	}
	for _, one := range m.a.came {
		put(a, m.threadOf(one, one.Reply), one)
	}
	for _, one := range m.b.came {
		reply := one.Reply
		if reply != 0 {
			if reply = m.back[one.Reply]; reply == 0 {
				continue // the harness did not ask that in A
			}
		}
		put(b, m.threadOf(one, reply), one)
	}
	return a, b, order
}

func (m *comparer) threadOf(one message, reply int) thread {
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

// alignThreads pairs what the targets did, and notes what one of them did alone.
func (m *comparer) alignThreads() {
	a, b, order := m.sortThreads()
	passedA, passedB := m.a.noteSent(), m.b.noteSent()
	for _, key := range order {
		mine, theirs := m.splitByLane(a[key], false), m.splitByLane(b[key], true)
		var all []*unpairedNotes
		for _, lane := range slices.Sorted(maps.Keys(lanesIn(mine, theirs))) {
			g := &unpairedNotes{m: m, key: key, a: mine[lane], b: theirs[lane], gone: map[int]bool{}}
			g.pairs = earliestPairs(g.a, g.b)
			passedA.matchRelayed(g, passedB)
			for _, two := range g.pairs {
				m.pairs = append(m.pairs, pair{a: g.a, b: g.b, i: two[0], j: two[1]})
			}
			all = append(all, g)
		}
		m.pairAcross(all)
		for _, g := range all {
			g.noteUnpaired()
		}
	}
}

// earliestPairs is longest among the messages of sorts that both sides have, so that what one side sends alone moves no
// pair to a later place.
func earliestPairs(a, b []message) [][2]int {
	mine, theirs := indicesAmong(a, b), indicesAmong(b, a)
	pick := func(all []message, at []int) (out []message) {
		for _, i := range at {
			out = append(out, all[i])
		}
		return out
	}
	pairs := longestPairs(pick(a, mine), pick(b, theirs))
	for i, two := range pairs {
		pairs[i] = [2]int{mine[two[0]], theirs[two[1]]}
	}
	return pairs
}

// indicesAmong returns the indices of the messages of which the other side has some of the sort.
func indicesAmong(all, other []message) (out []int) {
	has := map[messageSort]bool{}
	for _, m := range other {
		has[m.messageSort] = true
	}
	for i, m := range all {
		if has[m.messageSort] {
			out = append(out, i)
		}
	}
	return out
}

func lanesIn(a, b map[string][]message) map[string][]message {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// splitByLane sorts a thread by conversation.
func (m *comparer) splitByLane(all []message, ofB bool) map[string][]message {
	out := map[string][]message{}
	for _, one := range all {
		lane := m.messageLane(one)
		if ofB {
			lane = m.laneOf(lane)
		}
		out[lane] = append(out[lane], one)
	}
	for lane := range out {
		if out[lane] = m.plainThread(out[lane]); m.solo[laneOfConn{all[0].Conn, lane}] {
			delete(out, lane)
		}
	}
	return out
}

// pairAcross pairs messages of one sort that are in different conversations: one of the targets takes one for the
// other.
func (m *comparer) pairAcross(all []*unpairedNotes) {
	if len(all) < 2 {
		return
	}
	taken := map[int]bool{} // of B
	for _, x := range all {
		for _, i := range unpairedIndices(x.pairs, len(x.a), 0) {
			for _, y := range all {
				at := slices.IndexFunc(unpairedIndices(y.pairs, len(y.b), 1), func(j int) bool {
					return y != x && y.b[j].messageSort == x.a[i].messageSort && !taken[y.b[j].N]
				})
				if at < 0 || x.a[i].mayRepeat() {
					continue
				}
				j := unpairedIndices(y.pairs, len(y.b), 1)[at]
				taken[y.b[j].N] = true
				x.gone[x.a[i].N], y.gone[-y.b[j].N] = true, true
				m.pairs = append(m.pairs, pair{a: x.a, b: y.b, i: i, j: j})
				break
			}
		}
	}
}

// unpairedIndices returns the indices below n of one side that are in no pair.
func unpairedIndices(pairs [][2]int, n, side int) (out []int) {
	in := map[int]bool{}
	for _, two := range pairs {
		in[two[side]] = true
	}
	for i := range n {
		if !in[i] {
			out = append(out, i)
		}
	}
	return out
}

// plainThread leaves out what is ignored, and all but one of messages in a row whose number depends on a model.
func (m *comparer) plainThread(all []message) (out []message) {
	for _, one := range all {
		ignored := one.name != "" &&
			slices.ContainsFunc(m.o.Ignore, func(i Ignore) bool { return i.ignoresWhole(one.name) })
		n := len(out)
		if !ignored && (m.o.Words || n == 0 || !one.mayRepeat() || out[n-1].messageSort != one.messageSort) {
			out = append(out, one)
		}
	}
	return out
}

// comparePaired compares the content of what was paired, in the order of A.
func (m *comparer) comparePaired() {
	slices.SortStableFunc(m.pairs, func(x, y pair) int { return cmp.Compare(x.a[x.i].N, y.a[y.i].N) })
	for _, p := range m.pairs {
		a, b := p.a[p.i], p.b[p.j]
		if p.act {
			m.learnIDs(a, b)
			continue
		}
		c := comparison{ids: m.ids, ignore: m.o.Ignore, kind: a.name, exact: m.o.Words, apart: true}
		if m.found.Mapped {
			a.Bytes, a.json = nil, false
			b.Bytes, b.json = nil, false
		}
		places := c.compareMessages(a, b)
		if a.N > m.endA && b.N > m.endB {
			continue
		}
		m.found.Compared++
		if len(places) == 0 {
			continue
		}
		d := Difference{N: a.N, Message: a.titleFor(), Places: places, recorded: &a, came: &b, ids: m.ids}
		m.found.Deviations = append(m.found.Deviations, Deviation{Kind: Changed, Conn: a.Conn,
			A: m.a.wireMessage(p.a, p.i), B: m.b.wireMessage(p.b, p.j), Places: places, Diff: d.renderDiff(), AtA: a.N,
			AtB: b.N})
	}
}

// learnIDs learns the ids in what the harness has done on both sides.
func (m *comparer) learnIDs(a, b message) {
	c := comparison{ids: m.ids, kind: a.name}
	c.compareMessages(a, b)
	if a.json && b.json {
		c.compareValues(a.value, b.value, nil) // names that the harness has made up, in any member
	}
	m.ids.oursIn(b.Bytes)
	m.ids.noteSentTexts(b.value)
}
