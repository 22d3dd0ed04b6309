package runner

import (
	"sync"
	"time"

	"parley/steps"
)

// longWait is how long a scenario waits before it is shown: most messages come within milliseconds.
const longWait = 2 * time.Second

// WaitObserver is an optional interface of observers that show what scenarios wait for.
type WaitObserver interface {
	// ShowWaits gets a function that says in a line what a scenario that has waited for long waits for, if that is owed;
	// "" if none does. It is safe for concurrent use, during the run and after it.
	ShowWaits(longest func() string)
}

// shownWaits knows what the scenarios of a run wait for, if its observer shows that.
type shownWaits struct {
	once sync.Once
	all  *steps.Waits // nil: nobody shows it
}

// toShow returns what scenarios tell what they wait for, and lets the observer show it, before any scenario begins.
func (s *shownWaits) toShow(r *run) *steps.Waits {
	s.once.Do(func() {
		o, ok := r.o.Observer.(WaitObserver)
		if !ok {
			return
		}
		if s.all = steps.NewWaits(r.protocol); s.all != nil {
			o.ShowWaits(func() string { return r.redact.String(s.all.Longest(longWait)) })
		}
	})
	return s.all
}
