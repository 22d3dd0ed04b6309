package exchange

import (
	"sync"
	"time"

	"parley/transport/transcript"
)

// Limit is the longest that the exchanges which messages of a type begin may last.
type Limit struct {
	Type string // see Name
	Max  time.Duration
}

// Timed says how a limit was kept. An exchange without an answer counts once it has lasted longer than the limit: until
// its connection, or the traffic, ended.
type Timed struct {
	Limit
	Exchanges int // that were timed
	Late      int // of these, those that lasted longer
	Slowest   time.Duration
	At        transcript.Record // with which the slowest began
	Answered  bool              // whether the slowest was answered
}

// Limits times exchanges. It is safe for concurrent use.
type Limits struct {
	mu  sync.Mutex
	all []Timed
}

// NewLimits returns the Limits.
func NewLimits(all ...Limit) *Limits {
	l := &Limits{}
	for _, one := range all {
		l.all = append(l.all, Timed{Limit: one})
	}
	return l
}

// Timed returns how each limit was kept so far.
func (l *Limits) Timed() []Timed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Timed(nil), l.all...)
}

// Watch times the exchanges of one traffic: add gets its records as seen at the client's end, in their order, which
// decode decodes; end ends what has no answer. One goroutine at a time calls them.
func (l *Limits) Watch(protocol string, decode func(*transcript.Record)) (add func(transcript.Record), end func()) {
	now := time.Duration(0)
	pair := New(protocol, func(x *Exchange) { l.take(x, now) })
	add = func(r transcript.Record) {
		now = max(now, r.At)
		decode(&r)
		pair.Add(r)
	}
	return add, pair.End
}

// take takes an exchange that ended by now.
func (l *Limits) take(x *Exchange, now time.Duration) {
	if !x.Awaited {
		return
	}
	took, name := now-x.Request.At, Name(x.Request)
	if x.Answer != nil {
		took = x.Answer.At - x.Request.At
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.all {
		one := &l.all[i]
		if one.Type != name || x.Answer == nil && took <= one.Max {
			continue
		}
		if one.Exchanges++; took > one.Max {
			one.Late++
		}
		if took >= one.Slowest {
			one.Slowest, one.At, one.Answered = took, x.Request, x.Answer != nil
			one.At.Bytes, one.At.Event = nil, nil
		}
	}
}
