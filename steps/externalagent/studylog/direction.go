package studylog

import (
	"fmt"

	vocab "parley/protocol/externalagent"
)

// senders says which side sends each type, as the host sees it (sections 4.1 and 4.2).
var senders = map[string]string{
	vocab.SessionStart: vocab.In, vocab.SnapshotGet: vocab.In, vocab.ToolCall: vocab.In, vocab.AgentMessage: vocab.In,
	vocab.SessionEnd: vocab.In,

	vocab.SessionStarted: vocab.Out, vocab.SnapshotState: vocab.Out, vocab.ToolResult: vocab.Out,
	vocab.StateUpdated: vocab.Out,
	vocab.UserMessage:  vocab.Out, vocab.SessionEnded: vocab.Out, vocab.ErrorMessage: vocab.Out,
}

// right returns the direction of a type, or "" for types with a free direction.
func right(typ string) string { return senders[typ] }

var sender = map[string]string{vocab.In: "an agent", vocab.Out: "a host"}

// window finds lines with the wrong direction (EA-091), if no line with the same type and payload has the right one.
// The lines of a message are close together, so remembering the latest 65536 distinct messages is enough.
type window struct {
	size     int
	compared bool // the messages on the wire are known
	seen     map[uint64]*logged
	ring     []uint64 // in order of arrival
	next     int

	internal int  // the first internal line of a type that has a direction, or 0
	other    bool // there are such lines with in or out
}

// logged is the state of the lines with one type and payload.
type logged struct {
	typ   string
	right bool // one of them has the right direction
	wrong int  // the first line with the wrong direction, or 0
	count int  // number of such lines
}

func newWindow(size int) *window { return &window{size: size, seen: map[uint64]*logged{}} }

// line takes a line. sent reports whether its message went over the wire in that direction, whoever may send its
// type.
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
	// An agent may send a host's message by mistake, which is received and refused.
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

// end judges the remaining lines.
func (w *window) end(b *book) {
	for _, sum := range w.ring {
		w.seen[sum].judge(b)
	}
}

// alone judges that not all lines of sent or received types are internal, which would show no direction. No single line
// is at fault, because a host may have internal events of such types.
func (w *window) alone(b *book) {
	if w.internal > 0 && !w.other {
		b.breaks(Finding{Clause: "EA-091", Line: w.internal,
			Expected: `lines with direction "in" or "out" for what was received and sent`,
			Observed: `every line of a type of a message is "internal"`})
	}
}
