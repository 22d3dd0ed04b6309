package studylog

import (
	"fmt"

	vocab "parley/protocol/externalagent"
)

// senders is who sends what, sections 4.1 and 4.2, as the host sees it.
var senders = map[string]string{
	vocab.SessionStart: vocab.In, vocab.SnapshotGet: vocab.In, vocab.ToolCall: vocab.In, vocab.AgentMessage: vocab.In,
	vocab.SessionEnd: vocab.In,

	vocab.SessionStarted: vocab.Out, vocab.SnapshotState: vocab.Out, vocab.ToolResult: vocab.Out,
	vocab.StateUpdated: vocab.Out,
	vocab.UserMessage:  vocab.Out, vocab.SessionEnded: vocab.Out, vocab.ErrorMessage: vocab.Out,
}

// right is the direction of a type; "" for those that are free.
func right(typ string) string { return senders[typ] }

var sender = map[string]string{vocab.In: "an agent", vocab.Out: "a host"}

// window finds lines whose direction is the wrong one (EA-091): no line with the same type and payload has the right
// one. The lines of a message stand close together, so it is enough to know the latest 65536 different messages.
type window struct {
	size     int
	compared bool // what went over the wire is known
	seen     map[uint64]*logged
	ring     []uint64 // in order of arrival
	next     int

	internal int  // the first line with a type that has a direction of its own, and with internal; 0: none
	other    bool // there are such lines with in or out
}

// logged is what is known of the lines with one type and payload.
type logged struct {
	typ   string
	right bool // one of them has the right direction
	wrong int  // the first one with the other; 0: none
	count int  // of these
}

func newWindow(size int) *window { return &window{size: size, seen: map[uint64]*logged{}} }

// line takes a line. sent: its message went over the wire in that very direction, whoever its type belongs to.
func (w *window) line(b *book, sum uint64, typ, direction string, sent bool, line int) {
	want := right(typ)
	if want == "" {
		return
	}
	if direction == vocab.Internal {
		if w.internal == 0 {
			w.internal = line
		}
		return
	}
	w.other = true
	if sent {
		want = direction
	}
	// An agent may send what only hosts do, by mistake: that comes in, and is refused.
	if want == vocab.Out && direction == vocab.In && !w.compared {
		return
	}
	m := w.seen[sum]
	if m == nil {
		m = w.add(b, sum, typ)
	}
	if direction == want {
		m.right = true
		b.kept("EA-091", line)
		return
	}
	if m.count++; m.wrong == 0 {
		m.wrong = line
	}
}

func (w *window) add(b *book, sum uint64, typ string) *logged {
	m := &logged{typ: typ}
	if len(w.ring) < w.size {
		w.ring = append(w.ring, sum)
	} else {
		w.seen[w.ring[w.next]].judge(b)
		delete(w.seen, w.ring[w.next])
		w.ring[w.next] = sum
		w.next = (w.next + 1) % w.size
	}
	w.seen[sum] = m
	return m
}

func (m *logged) judge(b *book) {
	if m.right || m.wrong == 0 {
		return
	}
	want := right(m.typ)
	other := vocab.In
	if want == vocab.In {
		other = vocab.Out
	}
	found := fmt.Sprintf("%q, and no line with the same payload and %q", other, want)
	if m.count > 1 {
		found = fmt.Sprintf("%q on %d lines with the same payload, and none with %q", other, m.count, want)
	}
	b.breaks(Finding{Clause: "EA-091", Line: m.wrong, Expected: fmt.Sprintf("direction %q of type %s, which %s sends",
		want, m.typ, sender[want]), Observed: found})
}

// end judges what is left.
func (w *window) end(b *book) {
	for _, sum := range w.ring {
		w.seen[sum].judge(b)
	}
}

// alone judges a log in which everything that was sent or received is internal: none of it has a direction. It is not
// told of a line, because a host may well have such events of its own.
func (w *window) alone(b *book) {
	if w.internal > 0 && !w.other {
		b.breaks(Finding{Clause: "EA-091", Line: w.internal,
			Expected: `lines with direction "in" or "out" for what was received and sent`,
			Observed: `every line of a type of a message is "internal"`})
	}
}
