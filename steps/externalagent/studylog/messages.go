package studylog

import (
	"fmt"
	"slices"

	"parley/internal/words"
	vocab "parley/protocol/externalagent"
	wjson "parley/transport/wire/json"
)

// wire is what went over the wire and should be in the log. A nil wire knows no messages.
type wire struct {
	messages []Message
	groups   map[uint64][]*group // by the hash of type and payload; several if hashes collide
	all      []*group            // in order
	odd      map[way][]oddLine   // lines of the session's types that equal no message
	oddLines int
	oddBytes int
	lines    map[way]int    // number of lines of the session's types, including internal ones
	loose    []looseLine    // lines that equal no message and name no session
	within   map[string]int // type → its first internal line
}

// way is a type in a direction.
type way struct{ typ, direction string }

// group is all messages with one type and payload, and the lines that equal them.
type group struct {
	typ     string
	payload any
	sent    map[string][]int // direction → indexes of the messages
	lines   map[string]int   // direction → number of lines
	first   map[string]int   // direction → the first of these lines
	within  map[string]int   // direction → number of lines that wrap its payload
	strays  map[string][]stray
}

// looseLine is a line that is judged only once the file is known to have one session.
type looseLine struct {
	way
	oddLine
}

// stray is a line of another session that equals a message.
type stray struct {
	line int
	id   string
}

// oddLine is a line that equals no message.
type oddLine struct {
	line    int
	payload any // nil if there was no room to keep it
}

// newWire returns nil for nil messages.
func newWire(messages []Message) *wire {
	if messages == nil {
		return nil
	}
	w := &wire{groups: map[uint64][]*group{}, odd: map[way][]oddLine{}, lines: map[way]int{}, within: map[string]int{}}
	for _, m := range messages {
		if m.Type == "" || m.Type == vocab.RelayJoin || m.Type == vocab.RelayJoined {
			continue // the host need not log it
		}
		w.add(m)
	}
	return w
}

func (w *wire) add(m Message) {
	// Normalise the caller's payload to what a decoder returns.
	if v, _, err := wjson.Decode([]byte(wjson.Compact(m.Payload))); err == nil {
		m.Payload = v
	}
	w.messages = append(w.messages, m)
	sum := sumOf(m.Type, m.Payload)
	g := w.find(sum, m.Type, m.Payload)
	if g == nil {
		g = &group{typ: m.Type, payload: m.Payload, sent: map[string][]int{}, lines: map[string]int{},
			first: map[string]int{}, within: map[string]int{}, strays: map[string][]stray{}}
		w.groups[sum] = append(w.groups[sum], g)
		w.all = append(w.all, g)
	}
	g.sent[m.Direction] = append(g.sent[m.Direction], len(w.messages)-1)
	for _, d := range []string{vocab.In, vocab.Out} {
		if at := (way{m.Type, d}); w.odd[at] == nil {
			w.odd[at] = []oddLine{}
		}
	}
}

func (w *wire) find(sum uint64, typ string, payload any) *group {
	if w == nil {
		return nil
	}
	for _, g := range w.groups[sum] {
		if g.typ == typ && wjson.Equal(g.payload, payload) {
			return g
		}
	}
	return nil
}

// expects reports whether the log must have any message.
func (w *wire) expects() bool {
	return w != nil && slices.ContainsFunc(w.messages, func(m Message) bool { return !m.Optional })
}

// knows reports whether any message has the given type.
func (w *wire) knows(typ string) bool { return w != nil && w.odd[way{typ, vocab.In}] != nil }

// line takes a line and reports whether its message went over the wire in that direction.
func (w *wire) line(b *book, sum uint64, typ, direction string, payload wjson.Object, line int) bool {
	if w == nil {
		return false
	}
	at := way{typ, direction}
	if w.lines[at]++; direction == vocab.Internal && w.within[typ] == 0 {
		w.within[typ] = line
	}
	if g := w.find(sum, typ, payload); g != nil {
		if g.lines[direction]++; g.lines[direction] == 1 {
			g.first[direction] = line
		}
		return len(g.sent[direction]) > 0
	}
	if g, pointer := w.around(typ, direction, payload); g != nil {
		g.within[direction]++
		b.breaks(Finding{Clause: "EA-093", Line: line, Record: w.messages[g.sent[direction][0]].Record,
			Expected: "the payload of the " + typ + " on the wire", Observed: "a wrapper around it: the payload is at " +
				plain("/payload"+pointer)})
		return true
	}
	if w.odd[at] == nil || w.oddLines >= maxOdd {
		return false
	}
	w.oddLines++
	odd := oddLine{line, payload}
	if w.oddBytes += weight(payload); w.oddBytes > maxOddBytes {
		odd.payload = nil
	}
	w.odd[at] = append(w.odd[at], odd)
	return false
}

// unclaimed takes a line that equals no message and names no session.
func (w *wire) unclaimed(typ, direction string, payload any, line int) {
	if w == nil || w.oddLines >= maxOdd {
		return
	}
	w.oddLines++
	if w.oddBytes += weight(payload); w.oddBytes > maxOddBytes {
		payload = nil
	}
	w.loose = append(w.loose, looseLine{way{typ, direction}, oddLine{line, payload}})
}

// merge assigns the lines without a session to the session, because the file has no other.
func (w *wire) merge() {
	if w == nil {
		return
	}
	for _, l := range w.loose {
		w.lines[l.way]++
		if l.direction == vocab.Internal && w.within[l.typ] == 0 {
			w.within[l.typ] = l.line
		}
		if w.odd[l.way] != nil {
			w.odd[l.way] = append(w.odd[l.way], l.oddLine)
			slices.SortFunc(w.odd[l.way], func(a, b oddLine) int { return a.line - b.line })
		}
	}
	w.loose = nil
}

// elsewhere takes a line of another session, which a message may have been logged as by mistake.
func (w *wire) elsewhere(sum uint64, typ, direction string, payload any, line int, id string) {
	if g := w.find(sum, typ, payload); g != nil && len(g.strays[direction]) < len(g.sent[direction]) {
		g.strays[direction] = append(g.strays[direction], stray{line, id})
	}
}

// adopt assigns the lines of other sessions that equal messages to the session, which has no lines of its own: they
// have the wrong id, which is reported.
func (w *wire) adopt() {
	if w == nil {
		return
	}
	for _, g := range w.all {
		for direction, lines := range g.strays {
			for _, l := range lines {
				w.lines[way{g.typ, direction}]++
				if g.lines[direction]++; g.lines[direction] == 1 {
					g.first[direction] = l.line
				}
			}
			delete(g.strays, direction)
		}
	}
}

// weight estimates the memory use of a value.
func weight(v any) int {
	n := 48
	switch v := v.(type) {
	case string:
		n += len(v)
	case wjson.Number:
		n += len(v)
	case []any:
		for _, x := range v {
			n += weight(x)
		}
	case wjson.Object:
		for key, x := range v {
			n += len(key) + weight(x)
		}
	}
	return n
}

// end judges each message. partly says that a part of the log was not judged, which may contain missing messages.
func (w *wire) end(b *book, complete, partly bool) {
	var absent []int
	found, counts := 0, func(Message) bool { return true } // required messages, if there are any
	if w.expects() {
		counts = func(m Message) bool { return !m.Optional }
	}
	for _, g := range w.all {
		for _, d := range []string{vocab.In, vocab.Out} {
			there, not := g.judge(b, d, w.messages)
			for _, i := range there {
				if counts(w.messages[i]) {
					found++
				}
				if complete && !w.messages[i].Optional {
					b.kept("EA-107", g.any(d))
				}
			}
			absent = append(absent, not...)
		}
	}
	slices.Sort(absent)
	paired := w.paired(absent, partly)
	var missing []int
	for _, i := range absent {
		m := w.messages[i]
		switch {
		case m.Optional && !paired[way{m.Type, m.Direction}]:
		case w.differs(b, i):
			if counts(m) {
				found++
			}
			if complete && !m.Optional {
				b.kept("EA-107", 0)
			}
		case !m.Optional:
			missing = append(missing, i)
		}
	}
	if !partly {
		w.inside(b, missing)
	}
	w.missing(b, missing, found, complete, partly)
	w.rest(b)
}

// paired reports for which types and directions the lines that equal no message belong to the messages without a
// line: the numbers of lines and messages are equal, and so are those left over. Only then can a line be matched with
// an optional message, which the log may omit.
func (w *wire) paired(absent []int, partly bool) map[way]bool {
	sent, left := map[way]int{}, map[way]int{}
	for _, m := range w.messages {
		sent[way{m.Type, m.Direction}]++
	}
	for _, i := range absent {
		left[way{w.messages[i].Type, w.messages[i].Direction}]++
	}
	out := map[way]bool{}
	for at, n := range left {
		out[at] = !partly && sent[at] == w.lines[at] && n == len(w.odd[at])
	}
	return out
}

// inside judges types whose messages the log must have but has only on internal lines, whatever the payloads
// (EA-091).
func (w *wire) inside(b *book, missing []int) {
	told := map[string]bool{}
	for _, i := range missing {
		typ := w.messages[i].Type
		line := w.within[typ]
		if told[typ] || line == 0 || right(typ) == "" || w.lines[way{typ, vocab.In}]+w.lines[way{typ, vocab.Out}] > 0 {
			continue
		}
		told[typ] = true
		b.breaks(Finding{Clause: "EA-091", Line: line, Record: w.messages[i].Record,
			Expected: fmt.Sprintf("a line with direction %q for the %s, its direction on the wire", w.messages[i].Direction,
				typ),
			Observed: `"internal" on every line of that type`})
	}
}

// judge judges the messages of one direction and returns which are in the log and which are not. Messages that are
// not optional are matched first.
func (g *group) judge(b *book, direction string, messages []Message) (in, not []int) {
	sent := slices.SortedStableFunc(slices.Values(g.sent[direction]), func(i, j int) int {
		switch x, y := messages[i].Optional, messages[j].Optional; {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	})
	there := min(len(sent), g.lines[direction])
	if there == 0 && len(sent) > 0 && g.within[direction] == 0 {
		there = g.elsewhere(b, direction)
	}
	for range there {
		b.kept("EA-093", g.any(direction))
	}
	there = min(len(sent), there+g.within[direction]) // a wrapper has been reported already
	return sent[:there], sent[there:]
}

// elsewhere judges messages that no line has with their direction, but some lines have with another one (EA-091). If
// the type has a fixed direction, the window already reports lines with the opposite one.
func (g *group) elsewhere(b *book, direction string) int {
	sent := g.sent[direction]
	opposite := vocab.In
	if direction == vocab.In {
		opposite = vocab.Out
	}
	spare := g.lines[opposite] - len(g.sent[opposite])
	told := spare > 0 && right(g.typ) == direction && len(g.sent[opposite]) == 0
	there := min(len(sent), max(0, spare)+g.lines[vocab.Internal])
	if there > 0 && !told {
		line := g.first[vocab.Internal]
		if line == 0 {
			line = g.first[opposite]
		}
		b.breaks(Finding{Clause: "EA-091", Line: line,
			Expected: fmt.Sprintf("a line with direction %q for the %s, its direction on the wire", direction, g.typ),
			Observed: "its payload only with other directions"})
	}
	return there
}

// any returns a line of the group, preferably one with the direction.
func (g *group) any(direction string) int {
	for _, d := range []string{direction, vocab.In, vocab.Out, vocab.Internal} {
		if line := g.first[d]; line > 0 {
			return line
		}
	}
	return 0
}

// differs compares a message with the next line of its type and direction that equals no message.
func (w *wire) differs(b *book, i int) bool {
	m := w.messages[i]
	at := way{m.Type, m.Direction}
	if len(w.odd[at]) == 0 {
		return false
	}
	l := w.odd[at][0]
	w.odd[at] = w.odd[at][1:]
	f := Finding{Clause: "EA-093", Line: l.line, Record: m.Record, Expected: "the payload of the " + m.Type +
		" on the wire", Observed: "another one"}
	if l.payload != nil {
		where, want, got := differ(m.Payload, l.payload, "")
		f.Expected += fmt.Sprintf(", which has %s at %s", want, plain("/payload"+where))
		f.Observed = got
	}
	b.breaks(f)
	return true
}

// missing judges the messages that the log must have and that it lacks.
func (w *wire) missing(b *book, missing []int, found int, complete, partly bool) {
	missing = slices.DeleteFunc(missing, func(i int) bool {
		ended := w.messages[i].Type == vocab.SessionEnded
		if ended {
			b.note(0, "session.ended is not in the log: it may have been complete before")
		}
		return ended
	})
	switch {
	case !complete:
		if len(missing) > 0 {
			b.note(0, "not in the log (yet): "+words.Counted(len(missing), "message")+" of the session")
		}
		return
	case found > 0:
		b.kept("EA-010", 0)
	case len(missing) > 0 && !partly:
		b.breaks(Finding{Clause: "EA-010", Expected: "the log of a session that has ended", Observed: "none of its " +
			words.Counted(len(missing), "message")})
	}
	if partly && len(missing) > 0 {
		b.note(0, "the unjudged part of the log may contain the missing messages of the session: "+words.Counted(len(missing),
			"message"))
		return
	}
	for _, i := range missing {
		m := w.messages[i]
		b.breaks(Finding{Clause: "EA-107", Record: m.Record,
			Expected: fmt.Sprintf("a line for the %s %s on the wire", m.Type, show(m.Payload)), Observed: w.nowhere(m)})
	}
}

// nowhere describes a message without a line, or with one of another session only.
func (w *wire) nowhere(m Message) string {
	if g := w.find(sumOf(m.Type, m.Payload), m.Type, m.Payload); g != nil && len(g.strays[m.Direction]) > 0 {
		l := g.strays[m.Direction][0]
		return fmt.Sprintf("none; line %d has it with another sessionId, %s", l.line, show(l.id))
	}
	return "none"
}

// rest notes the lines that equal no message.
func (w *wire) rest(b *book) {
	n := 0
	for _, lines := range w.odd {
		n += len(lines)
	}
	if n > 0 {
		b.note(0, words.Counted(n, "line")+" of the types of the session's messages without a message")
	}
}
