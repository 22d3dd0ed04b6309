package orchestrator

import (
	"crypto/sha256"

	proto "parley/protocol/sessionruntime"
)

// seen remembers the ids of the most recent messages. Different senders may use the same id; messages without an id
// are all distinct.
type seen struct {
	limit int
	set   map[digest]struct{}
	order []digest // a ring buffer once it is full
	next  int      // next position in the ring
}

// digest keeps ids of any length small.
type digest [sha256.Size]byte

func newSeen(limit int) seen { return seen{limit: limit, set: map[digest]struct{}{}} }

func digestOf(msg proto.Message) digest {
	return sha256.Sum256([]byte(msg.Sender + "\x00" + msg.ID))
}

func (s *seen) has(d digest) bool {
	_, has := s.set[d]
	return has
}

func (s *seen) add(d digest) {
	if s.has(d) {
		return
	}
	s.set[d] = struct{}{}
	if len(s.order) < s.limit {
		s.order = append(s.order, d)
		return
	}
	delete(s.set, s.order[s.next])
	s.order[s.next] = d
	s.next = (s.next + 1) % s.limit
}

// collected bounds the total output that turns keep.
type collected struct {
	limit, bytes int
	pieces       []piece // oldest first
}

type piece struct {
	t     *turn
	bytes int
}

// add records a piece of a turn's output, dropping the oldest pieces if necessary. A piece that does not fit is not
// kept.
func (c *collected) add(t *turn, payload any) {
	p := piece{t, weight(payload)}
	if p.bytes > c.limit {
		return
	}
	t.Output = append(t.Output, payload)
	c.pieces = append(c.pieces, p)
	c.bytes += p.bytes
	for c.bytes > c.limit {
		oldest := c.pieces[0]
		oldest.t.Output = oldest.t.Output[1:]
		c.bytes -= oldest.bytes
		c.pieces[0] = piece{}
		c.pieces = c.pieces[1:]
	}
}

// weight estimates the memory of a value in bytes.
func weight(v any) int {
	const each = 64
	switch v := v.(type) {
	case string:
		return each + len(v)
	case []any:
		w := each
		for _, v := range v {
			w += weight(v)
		}
		return w
	case object:
		w := each
		for name, v := range v {
			w += len(name) + weight(v)
		}
		return w
	}
	return each
}
