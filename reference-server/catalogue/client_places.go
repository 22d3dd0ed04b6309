package catalogue

import "sync"

// Places is the size of a table that is large enough for every scenario, and too small for a load.
const Places = 256

// Crowd gives clients places in a table that wraps: faults that only a load shows concern those whose place a newer
// client has taken. It is safe for concurrent use.
type Crowd struct {
	mu     sync.Mutex
	places map[string]int
	newest [Places]string
}

// Over returns the newest client in the place of a client; "" if that is itself. A client gets its place when it is
// first named.
func (c *Crowd) Over(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, known := c.places[id]
	if !known {
		if c.places == nil {
			c.places = map[string]int{}
		}
		place = len(c.places) % Places
		c.places[id], c.newest[place] = place, id
	}
	if by := c.newest[place]; by != id {
		return by
	}
	return ""
}
