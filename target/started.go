package target

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

// started holds the processes that a Running has started and not yet stopped. The zero value is empty.
type started struct {
	mu  sync.Mutex
	all map[stopper]bool
}

type stopper interface{ Stop(context.Context) error }

func (s *started) add(p stopper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[stopper]bool{}
	}
	s.all[p] = true
}

func (s *started) forget(p stopper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, p)
}

// stop stops them concurrently.
func (s *started) stop(ctx context.Context) error {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.all))
	s.mu.Unlock()
	errs := make([]error, len(all))
	var stopping sync.WaitGroup
	for i, p := range all {
		stopping.Go(func() { errs[i] = p.Stop(ctx) })
	}
	stopping.Wait()
	return errors.Join(errs...)
}
