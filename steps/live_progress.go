package steps

import (
	"sync"
	"time"
)

// Progress is what a Live does at the moment.
type Progress struct {
	Step   string    // the text of the step that is executed; "": none is
	Since  time.Time // when the step began
	Awaits *Awaited  // nil: the step waits for no record
}

// Awaited is a record that a step waits for.
type Awaited struct {
	Party  string // on whose connection it is expected
	What   string // short name of what is awaited; the text of the step if it has none
	After  int    // number of the record that causes it; 0: none does
	Since  time.Time
	Within time.Duration // how long it may take
}

// progress holds the Progress of a Live.
type progress struct {
	mu      sync.Mutex
	now     Progress
	changed chan struct{}
}

// change replaces the progress, and wakes who waits for that.
func (p *progress) change(do func(now *Progress)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(&p.now)
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Progress returns what the session does at the moment, and a channel that closes when that changes.
func (l *Live) Progress() (Progress, <-chan struct{}) {
	p := &l.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.now, p.changed
}

// startWaiting says that the step waits for a record, and returns the function that says that it no longer does.
func (p *progress) startWaiting(a Awaited) (stop func()) {
	if p == nil { // no live session
		return func() {}
	}
	p.change(func(now *Progress) { now.Awaits = &a })
	return func() { p.change(func(now *Progress) { now.Awaits = nil }) }
}
