package steps

import (
	"slices"
	"sync"
)

// again records events that a target sent a second time without being asked.
type again struct {
	mu    sync.Mutex
	kinds []string
	first string
	count int
}

// CameAgain records an event of a kind that came a second time without breaking a clause.
func (e *Env) CameAgain(kind, seen string) {
	a := &e.again
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count++; a.count == 1 {
		a.first = seen
	}
	if !slices.Contains(a.kinds, kind) {
		a.kinds = append(a.kinds, kind)
		slices.Sort(a.kinds)
	}
}

// Again returns how many events came a second time, their kinds, and the first of them; 0 for none.
func (e *Env) Again() (count int, kinds []string, first string) {
	e.again.mu.Lock()
	defer e.again.mu.Unlock()
	return e.again.count, slices.Clone(e.again.kinds), e.again.first
}
