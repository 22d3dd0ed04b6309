package replay

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"parley/transport/recording"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Bounds of what has come and was not compared yet. The other side is not read while there is more.
const (
	maxWaiting      = 2000     // messages of a thread
	maxWaitingBytes = 64 << 20 // of all threads; each has room for one message more
)

// thread is a series of messages whose order counts: what comes on a stream or socket, or the answers to one request.
type thread struct {
	conn  string // as recorded
	reply int    // number of the request as it was sent now; 0: the stream or socket
	place string // of requests and openings that a client makes
}

// waitingRecords is what has come and was not compared yet. It is safe for concurrent use.
type waitingRecords struct {
	read func(transcript.Record) message
	dir  transcript.Dir

	mu      sync.Mutex
	n       int // records so far
	bytes   int
	queued  map[thread][]message
	left    map[string]bool // connections that end: nothing of them waits for room
	closed  bool
	changed chan struct{} // closed and replaced whenever something comes or goes
}

func newWaiting(dir transcript.Dir, read func(transcript.Record) message) *waitingRecords {
	return &waitingRecords{dir: dir, read: read, queued: map[thread][]message{}, left: map[string]bool{},
		changed: make(chan struct{})}
}

// numberRecord numbers a record.
func (w *waitingRecords) numberRecord() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	return w.n
}

// sinkRecord is a driver.Sink. It blocks while there is no room.
func (w *waitingRecords) sinkRecord(r transcript.Record) int {
	r.N = w.numberRecord()
	if isCompared(r, w.dir) {
		w.putRecord(thread{conn: r.Conn, reply: r.Reply}, r)
	}
	return r.N
}

// putRecord adds what has come to a thread. It blocks while there is no room.
func (w *waitingRecords) putRecord(key thread, r transcript.Record) {
	m := w.read(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.hasRoom(key, len(r.Bytes)) {
		changed := w.changed
		w.mu.Unlock()
		<-changed
		w.mu.Lock()
	}
	if w.closed {
		return
	}
	w.bytes += len(r.Bytes)
	w.queued[key] = append(w.queued[key], m)
	w.wakeWaiters()
}

// hasRoom reports whether there is room for a message. The caller holds w.mu.
func (w *waitingRecords) hasRoom(key thread, size int) bool {
	n := len(w.queued[key])
	return n == 0 || w.closed || w.left[key.conn] || n < maxWaiting && w.bytes+size <= maxWaitingBytes
}

// wakeWaiters wakes those who wait. The caller holds w.mu.
func (w *waitingRecords) wakeWaiters() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// lookAt returns what waits in a thread, and a channel that closes when more comes anywhere. The caller only reads it.
func (w *waitingRecords) lookAt(key thread) ([]message, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.queued[key]
	return all[:len(all):len(all)], w.changed
}

// removeFirst removes the first n messages of a thread.
func (w *waitingRecords) removeFirst(key thread, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.queued[key][:n] {
		w.bytes -= len(m.Bytes)
	}
	if w.queued[key] = slices.Clone(w.queued[key][n:]); len(w.queued[key]) == 0 {
		delete(w.queued, key)
	}
	w.wakeWaiters()
}

// takeOne removes a message of a thread.
func (w *waitingRecords) takeOne(key thread, at int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes -= len(w.queued[key][at].Bytes)
	if w.queued[key] = slices.Delete(slices.Clone(w.queued[key]), at, at+1); len(w.queued[key]) == 0 {
		delete(w.queued, key)
	}
	w.wakeWaiters()
}

// connEnds says that a connection ends, or begins anew: what comes on one that ends does not wait for room.
func (w *waitingRecords) connEnds(conn string, ends bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ends {
		w.left[conn] = true
	} else {
		delete(w.left, conn)
	}
	w.wakeWaiters()
}

// stopWaiting ends all waiting for room.
func (w *waitingRecords) stopWaiting() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.wakeWaiters()
}

// waitingConns returns the connections of which something waits, sorted.
func (w *waitingRecords) waitingConns() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := map[string]bool{}
	for key := range w.queued {
		names[key.conn] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// waitingThreads returns the threads of openings and requests of which something waits.
func (w *waitingRecords) waitingThreads() []thread {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []thread
	for key := range w.queued {
		if key.place != "" {
			out = append(out, key)
		}
	}
	return out
}

// drainConn removes and returns all that waits of a connection, in the order in which it came.
func (w *waitingRecords) drainConn(conn string) []message {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []message
	for key, q := range w.queued {
		if key.conn == conn {
			all = append(all, q...)
			delete(w.queued, key)
		}
	}
	for _, m := range all {
		w.bytes -= len(m.Bytes)
	}
	slices.SortFunc(all, func(a, b message) int { return a.N - b.N })
	w.wakeWaiters()
	return all
}

// isCompared reports whether a record of a recording.ClientView is one of the other side's that a replay compares. dir
// is that of the other side.
func isCompared(r transcript.Record, dir transcript.Dir) bool {
	if r.Late {
		return false
	}
	switch r.Kind {
	case transcript.Closed:
		return (r.Label == recording.ByClient) == (dir == transcript.Sent)
	case transcript.Open:
		return r.Dir == dir && (dir == transcript.Sent || !refusedLater(r))
	case transcript.Frame:
		return r.Dir == dir
	case transcript.Response, transcript.Stream:
		return r.Dir == dir && dir == transcript.Received
	case transcript.Request:
		return r.Dir == dir && dir == transcript.Sent
	case transcript.Failure:
		return r.Dir == dir && dir == transcript.Received && r.Reply != 0
	}
	return false
}

// isPlayed reports whether a record is one that a replay plays; dir is that of the other side.
func isPlayed(r transcript.Record, dir transcript.Dir) bool {
	switch r.Kind {
	case transcript.Closed:
		return !isCompared(r, dir)
	case transcript.Open, transcript.Frame, transcript.Request, transcript.Response, transcript.Stream:
		return r.Dir != dir && r.Dir != transcript.Noted
	case transcript.Failure:
		return dir == transcript.Sent && r.Dir == transcript.Received && r.Reply != 0
	}
	return false
}

// unpairedNotes notes what stands between the pairs of a conversation in a thread.
type unpairedNotes struct {
	m            *comparer
	key          thread
	a, b         []message
	pairs        [][2]int
	gone         map[int]bool // numbers of messages of A, negative ones of B, that are paired in another way
	onlyA, onlyB []int        // indices into a and b, and into the deviations
	atA, atB     []int
}

// noteUnpaired notes all that is in no pair.
func (g *unpairedNotes) noteUnpaired() {
	i, j := 0, 0
	for _, two := range g.pairs {
		g.noteBetween(i, two[0], j, two[1], false)
		i, j = two[0]+1, two[1]+1
	}
	g.noteBetween(i, len(g.a), j, len(g.b), true)
	g.mergeReordered()
}

// noteBetween notes what stands between indices of both sides. tail says that no pair follows.
func (g *unpairedNotes) noteBetween(i, iEnd, j, jEnd int, tail bool) {
	for i < iEnd && j < jEnd && g.openA(i) && g.openB(j) {
		g.addDeviation(Instead, i, j)
		if i, j = i+1, j+1; g.a[i-1].Kind == transcript.Closed || g.b[j-1].Kind == transcript.Closed {
			return // nothing can come behind it
		}
	}
	for ; i < iEnd; i++ {
		if g.openA(i) && !g.isSpare(g.a[i], g.b) && (!tail || g.movedBack(g.a[i]) || g.observedLongEnough(g.a[i])) {
			g.onlyA, g.atA = append(g.onlyA, i), append(g.atA, len(g.m.found.Deviations))
			g.addDeviation(OnlyA, i, -1)
		}
	}
	for ; j < jEnd; j++ {
		if g.openB(j) && !g.isSpare(g.b[j], g.a) && (!tail || g.isMoved(g.b[j]) || g.shownBack(g.b[j])) {
			g.onlyB, g.atB = append(g.onlyB, j), append(g.atB, len(g.m.found.Deviations))
			g.addDeviation(OnlyB, -1, j)
		}
	}
}

// isMoved reports whether A has sent a message of this sort at an earlier place of the thread, where B has not.
func (g *unpairedNotes) isMoved(one message) bool {
	return slices.ContainsFunc(g.onlyA, func(i int) bool { return g.a[i].messageSort == one.messageSort })
}

// movedBack is moved for a message of A.
func (g *unpairedNotes) movedBack(one message) bool {
	return slices.ContainsFunc(g.onlyB, func(j int) bool { return g.b[j].messageSort == one.messageSort })
}

// openA reports whether a message of A is in no pair, and came before the harness did something else than on the other
// side.
func (g *unpairedNotes) openA(i int) bool { return !g.gone[g.a[i].N] && g.a[i].N <= g.m.endA }

// openB is openA for a message of B.
func (g *unpairedNotes) openB(j int) bool { return !g.gone[-g.b[j].N] && g.b[j].N <= g.m.endB }

// isSpare reports whether a message need not have one like it on the other side.
func (g *unpairedNotes) isSpare(one message, other []message) bool {
	return !g.m.o.Words && one.mayRepeat() && recordedToo(other, one)
}

// observedLongEnough reports whether B was observed long enough to say that it did not send a message of A.
func (g *unpairedNotes) observedLongEnough(one message) bool {
	after := g.m.a.lastActBefore(one.N)
	if g.m.b.late[g.m.twin[g.key.reply]] && g.key.reply != 0 {
		return false
	}
	return g.m.b.closed[g.key.conn] || g.m.b.observedUntil(g.key)-g.m.b.recordTime(g.m.twin[after]) >= g.m.o.Quiet
}

// shownBack is shown for a message of B.
func (g *unpairedNotes) shownBack(one message) bool {
	after := g.m.precedingAct(one)
	if g.m.a.late[g.key.reply] {
		return false
	}
	return g.m.a.closed[g.key.conn] || g.m.a.observedUntil(g.key)-g.m.a.recordTime(after) >= g.m.o.Quiet
}

// addDeviation notes a deviation. An index below 0 stands for nothing.
func (g *unpairedNotes) addDeviation(kind DeviationKind, i, j int) {
	d := Deviation{Kind: kind, Conn: g.key.conn}
	if i >= 0 {
		d.A, d.AtA, d.AtB = g.m.a.wireMessage(g.a, i), g.a[i].N, g.m.twin[g.m.a.lastActBefore(g.a[i].N)]
	}
	if j >= 0 {
		d.B, d.AtB = g.m.b.wireMessage(g.b, j), g.b[j].N
	}
	if i < 0 {
		d.AtA = g.m.precedingAct(g.b[j])
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

// precedingAct returns the number of the act in A behind which a message of B came.
func (m *comparer) precedingAct(one message) int {
	return m.back[m.b.lastActBefore(one.N)]
}

// mergeReordered makes one deviation of two where both sides sent one message at different places.
func (g *unpairedNotes) mergeReordered() {
	gone := map[int]bool{}
	all := g.m.found.Deviations
	for n, i := range g.onlyA {
		for k, j := range g.onlyB {
			x, y := g.atA[n], g.atB[k]
			if x >= len(all) || y >= len(all) || gone[x] || gone[y] || g.a[i].messageSort != g.b[j].messageSort {
				continue
			}
			all[x].Kind, all[x].B, all[x].AtB = Order, g.m.b.wireMessage(g.b, j), g.b[j].N
			gone[x], gone[y] = true, true
			all[y].Kind = ""
			break
		}
	}
	g.m.found.Deviations = slices.DeleteFunc(all, func(d Deviation) bool { return d.Kind == "" })
}

// relayedMessages finds what a target passes on from one connection to another: in which order it does, when several
// connections send at once, is no property of the target.
type relayedMessages map[string]map[string]bool // what the harness has sent → on which connections

func (t *recordedMessages) noteSent() relayedMessages {
	out := relayedMessages{}
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

// hasMessage reports whether a message of the target is one that the harness has sent on another connection.
func (r relayedMessages) hasMessage(m message) bool {
	if !m.json || m.name == "" {
		return false
	}
	conns := r[wjson.Compact(m.value)]
	return len(conns) > 1 || len(conns) == 1 && !conns[m.Conn]
}

// matchRelayed pairs messages that both sides have passed on, wherever they came among the others.
func (r relayedMessages) matchRelayed(g *unpairedNotes, ofB relayedMessages) {
	alike := func(two [2]int) bool { return wjson.Equal(g.a[two[0]].value, g.b[two[1]].value) }
	candidates, free := unpairedIndices(g.pairs, len(g.a), 0), unpairedIndices(g.pairs, len(g.b), 1)
	for _, two := range g.pairs {
		if !alike(two) {
			candidates, free = append(candidates, two[0]), append(free, two[1])
		}
	}
	free = slices.DeleteFunc(free, func(j int) bool { return !ofB.hasMessage(g.b[j]) })
	for _, i := range candidates {
		at := slices.IndexFunc(free, func(j int) bool { return alike([2]int{i, j}) })
		if at < 0 || !r.hasMessage(g.a[i]) {
			continue
		}
		j := free[at]
		free = slices.Delete(free, at, at+1)
		g.pairs = slices.DeleteFunc(g.pairs, func(two [2]int) bool { return two[0] == i || two[1] == j })
		g.gone[g.a[i].N], g.gone[-g.b[j].N] = true, true
		g.m.pairs = append(g.m.pairs, pair{a: g.a, b: g.b, i: i, j: j})
	}
}
