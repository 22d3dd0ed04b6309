package steps

import (
	"maps"
	"slices"
	"sync"
	"time"

	"parley/steps/obligation"
)

// Waits knows which scenarios of a run wait, and for what, for whoever shows that while the run goes on. A nil *Waits
// knows nothing. It is safe for concurrent use.
type Waits struct {
	protocol Protocol

	mu  sync.Mutex
	all map[*World]Awaited // one for each scenario that waits

	asking sync.Mutex // held while models read records: World.owing
}

// NewWaits returns a Waits for the scenarios of a protocol; nil if it has no model, which says what is owed.
func NewWaits(p Protocol) *Waits {
	if _, modelled := p.(Modelled); !modelled {
		return nil
	}
	return &Waits{protocol: p, all: map[*World]Awaited{}}
}

// begin notes that a scenario waits, and returns the function that notes that it no longer does.
func (s *Waits) begin(w *World, a Awaited) (end func()) {
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[w] = a
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, w)
	}
}

// Longest says what the scenario that has waited the longest waits for, as TellWait does, of those that have waited for
// at least some time for what is owed; "" if there is none. Only the models of these read records, each of them once.
func (s *Waits) Longest(least time.Duration) string {
	if s == nil {
		return ""
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	s.mu.Lock()
	all := maps.Clone(s.all)
	s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(all, func(_ *World, a Awaited) bool { return now.Sub(a.Since) < least })
	oldest := slices.SortedFunc(maps.Keys(all), func(a, b *World) int { return all[a].Since.Compare(all[b].Since) })
	for _, w := range oldest {
		if w.owing == nil {
			w.owing = NewOwing(s.protocol, w.Env.Role, "", obligation.Ours)
		}
		owed, _ := w.owing.Read(w.T)
		if text := TellWait(all[w], owed, now); text != "" {
			return text
		}
	}
	return ""
}
