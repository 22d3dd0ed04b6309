package load

import (
	"fmt"
	"sync"
	"time"

	"parley/internal/httpclient"
	"parley/steps"
)

// mutex is that of a session, or the one that a peer shares with its session.
type mutex struct {
	own    sync.Mutex
	shared *sync.Mutex
}

// Lock implements sync.Locker.
func (m *mutex) Lock() {
	if m.shared != nil {
		m.shared.Lock()
		return
	}
	m.own.Lock()
}

// Unlock implements sync.Locker.
func (m *mutex) Unlock() {
	if m.shared != nil {
		m.shared.Unlock()
		return
	}
	m.own.Unlock()
}

// pair makes the peer of a session whose protocol has two parties, such as the host of an agent.
func (s *session) pair() {
	paired, ok := s.by.(steps.LoadPaired)
	if !ok {
		return
	}
	if by := paired.Peer(); by != nil {
		s.peer = &session{l: s.l, n: s.n, by: by, main: s, jar: httpclient.NewJar()}
		s.peer.mu.shared = &s.mu.own
	}
}

// party names the present connection.
func (s *session) party() string {
	if s.main != nil {
		return fmt.Sprintf("S%d.peer%d", s.n+1, s.lives)
	}
	return fmt.Sprintf("S%d.%d", s.n+1, s.lives)
}

// joins connects a peer, and returns when it is ready or cannot be.
func (s *session) joins() {
	ready := make(chan struct{})
	s.mu.Lock()
	s.act, s.begun, s.dialing, s.ready = steps.LoadConnect, s.l.now(), true, ready
	s.mu.Unlock()
	s.dial()
	late := time.NewTimer(s.l.o.Timeout)
	defer late.Stop()
	select {
	case <-ready:
	case <-late.C:
		s.mu.Lock()
		s.finish("the other party has no answer within "+s.l.o.Timeout.String(), "session "+s.party())
		s.mu.Unlock()
	case <-s.l.ctx.Done():
	}
}

// joined ends the connecting of a peer. It is no act: only a failure counts. The caller holds the lock.
func (s *session) joined(kind, example string) {
	s.act, s.broken = "", kind != ""
	if s.broken {
		s.l.meter.lost(kind, example)
	}
	if s.ready != nil {
		close(s.ready)
		s.ready = nil
	}
}

// parties returns the session, and its peer if it has one.
func (s *session) parties() []*session {
	if s.peer == nil {
		return []*session{s}
	}
	return []*session{s, s.peer}
}
