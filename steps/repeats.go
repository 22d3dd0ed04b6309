package steps

import (
	"slices"
	"sync"
)

// heard counts unsolicited events of a target that break no clause.
type heard struct {
	mu    sync.Mutex
	kinds []string
	first string
	count int
}

func (h *heard) add(kind, seen string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count++; h.count == 1 {
		h.first = seen
	}
	if !slices.Contains(h.kinds, kind) {
		h.kinds = append(h.kinds, kind)
		slices.Sort(h.kinds)
	}
}

func (h *heard) all() (count int, kinds []string, first string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count, slices.Clone(h.kinds), h.first
}

// CameAgain records an event of a kind that came a second time without breaking a clause.
func (e *Env) CameAgain(kind, seen string) { e.again.add(kind, seen) }

// Again returns how many events came a second time, their kinds, and the first of them; 0 for none.
func (e *Env) Again() (count int, kinds []string, first string) { return e.again.all() }

// CameAstray records an event of a kind that belongs to another connection, where no clause forbids that.
func (e *Env) CameAstray(kind, seen string) { e.astray.add(kind, seen) }

// Astray returns how many events of other connections came, their kinds, and the first of them; 0 for none.
func (e *Env) Astray() (count int, kinds []string, first string) { return e.astray.all() }
