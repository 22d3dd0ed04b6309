package faultrule

import (
	"slices"
	"sync"

	"parley/internal/script"
)

// Inside carries out faults inside a program whose messages are of type M: it loses, doubles, holds back and changes
// them. It is safe for concurrent use, and keeps its state for as long as it exists.
type Inside[M any] struct {
	set *Set
	as  Form[M]

	mu    sync.Mutex
	conns map[string]*inside[M]
}

// Form is how a program writes and reads its messages.
type Form[M any] struct {
	TypeOf func(body []byte) string // in the protocol; "": its type is beside the body
	Write  func(m M) Content
	Read   func(m M, c Content) M // the message with other content
}

type inside[M any] struct {
	met  State
	late [2]Late[M]
}

// NewInside returns the faults of a file, with all counts at zero, for a program. It fails, naming the file, if one is
// not for messages or none of those that a program can have.
func NewInside[M any](name string, set *Set, as Form[M]) (*Inside[M], error) {
	can := append([]string{"drop", "duplicate", "reorder", "behind"}, memberEdits...)
	err := set.rejectOthers(name, "messages of a program", can)
	return &Inside[M]{set: set, as: as, conns: map[string]*inside[M]{}}, err
}

// Pass returns what passes on a connection, from a side, instead of a message.
func (x *Inside[M]) Pass(conn string, from Side, m M) (out []M) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.conns[conn]
	if c == nil {
		c = &inside[M]{}
		x.conns[conn] = c
	}
	now := x.as.Write(m)
	in := script.Message{Party: conn, Kind: "message", Type: x.as.TypeOf(now.Body), Body: now.Body}
	if in.Type == "" {
		in.Type = now.Event
	}
	late, copies, edited := &c.late[from], 1, false
	waiting := late.Len()
	var holds *Rule
	for _, h := range x.set.MatchAndCount(&c.met, Message{in, from}) {
		switch {
		case !h.Due:
		case h.Edits():
			var ok bool
			now, ok = h.Edit(now, x.as.TypeOf)
			edited = edited || ok
		case copies != 1: // only the first one applies
		case h.Do == "duplicate":
			copies += h.N
		default:
			copies = 0
			if h.Do != "drop" {
				holds = h.Rule
			}
		}
	}
	if edited {
		m = x.as.Read(m, now)
	}
	if holds != nil {
		late.Hold(m, in, holds)
	}
	return append(slices.Repeat([]M{m}, copies), late.Overtaken(waiting, in, true)...)
}
