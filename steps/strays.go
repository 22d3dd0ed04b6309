package steps

import (
	"fmt"
	"sync"
)

// strays are what a target said to one scenario about another: where that happens, scenarios that run side by side disturb each other.
type strays struct {
	mu     sync.Mutex
	clause string
	first  string
	count  int
}

// Strayed takes note of an answer that came to a client of another scenario, which breaks a clause.
func (w *World) Strayed(clause, nonce, seen string) {
	s := &w.Env.strays
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count++; s.count == 1 {
		s.clause, s.first = clause, fmt.Sprintf("a client of scenario %s was told what a client of scenario %s had asked: %s", w.Nonce, nonce, seen)
	}
}

// Strays tells how many answers came to clients of other scenarios, the first of them, and the clause that this breaks; 0 for none.
func (e *Env) Strays() (count int, clause, first string) {
	e.strays.mu.Lock()
	defer e.strays.mu.Unlock()
	return e.strays.count, e.strays.clause, e.strays.first
}

// disturbed reports whether what is missing in this scenario may have gone to another that runs beside it.
func (w *World) disturbed() bool {
	if !w.beside {
		return false
	}
	count, _, _ := w.Env.Strays()
	return count > 0
}
