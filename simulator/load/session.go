package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/internal/httpclient"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// session is a session under load. Its connection reads in goroutines of its driver; a goroutine of its own exists only
// while it sends or connects.
type session struct {
	l    *run
	n    int      // from 0
	next int      // index of its next act
	peer *session // its other party, which has no acts; nil if there is none
	main *session // the session whose peer it is; nil if it is none

	mu      mutex
	by      steps.LoadSession
	conn    driver.Conn // nil while it connects, and after a failure to do so
	life    *life       // of the connection
	lives   int
	jar     *httpclient.Jar // of all its connections
	dialing bool
	broken  bool          // the last act has failed: the next one connects anew
	early   bool          // it was ready before the driver had said that the connection is open
	ready   chan struct{} // of a peer that connects: closed when it is ready, or cannot be

	act     string // in progress; "" for none
	due     time.Duration
	begun   time.Duration
	pending []time.Duration // acts that are due, oldest first
	out     []driver.Message
	sending bool
}

// arrive begins an act that is due, or has it wait for the one in progress.
func (s *session) arrive(due time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, due)
	if s.act == "" {
		s.proceed()
	}
}

// proceed begins the next act that is due. The caller holds the lock.
func (s *session) proceed() {
	if len(s.pending) == 0 || s.l.over.Load() {
		return
	}
	due := s.pending[0]
	if s.pending = s.pending[1:]; len(s.pending) == 0 {
		s.pending = nil
	}
	acts := s.l.plan.Acts
	name := acts[(s.n+s.next)%len(acts)]
	if s.worn() || s.peer != nil && s.peer.worn() {
		name = steps.LoadReconnect
	} else {
		s.next++
	}
	s.act, s.due, s.begun = name, due, s.l.now()
	if name == steps.LoadReconnect {
		s.dialing = true
		s.l.work.Go(s.dial)
		return
	}
	s.post(s.by.Act(name))
}

// worn reports whether it is to connect anew. The caller holds the lock.
func (s *session) worn() bool { return s.broken || s.conn == nil || s.life.tired() }

// connect begins the first act, and calls done once the connection is open or could not be opened.
func (s *session) connect(due time.Duration, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.act, s.due, s.begun, s.dialing = steps.LoadConnect, due, s.l.now(), true
	s.l.work.Go(func() {
		defer done()
		s.dial()
	})
}

// dial opens a connection, after the end of the earlier one.
func (s *session) dial() {
	s.leave()
	s.mu.Lock()
	if s.peer != nil && s.peer.worn() {
		s.mu.Unlock()
		s.peer.joins()
		s.mu.Lock()
	}
	s.lives++
	o := s.by.Dial()
	o.Party, o.MaxEvent, o.Jar = s.party(), int(s.l.o.Profile.Limits.MaxEvent), s.jar
	v := &life{name: o.Party, session: s.n}
	s.life, s.broken, s.early, s.out = v, false, false, nil
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(s.l.ctx, s.l.o.Timeout)
	defer cancel()
	conn, err := s.l.driver.Open(ctx, o, func(r transcript.Record) int { return s.take(v, r) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialing = false
	if err != nil {
		s.life, v.over = nil, true
		s.l.judge.submit(v)
		s.finish("not connected", err.Error())
		return
	}
	s.conn, s.begun = conn, s.l.now()
	if s.early {
		s.finish("", "")
		return
	}
	s.flush()
}

// leave ends the connection, and has its life judged. Every other one is reset, as clients do that crash.
func (s *session) leave() {
	s.mu.Lock()
	conn, v := s.conn, s.life
	s.conn, s.life = nil, nil
	how := driver.Graceful
	if s.lives%2 == 0 {
		how = driver.Abort
	}
	s.mu.Unlock()
	if conn != nil {
		_ = conn.Close(how)
	}
	if v != nil {
		s.mu.Lock()
		v.over = true
		s.mu.Unlock()
		s.l.judge.submit(v)
	}
}

// take takes a record of a connection, and returns its number.
func (s *session) take(v *life, r transcript.Record) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.At = s.l.now()
	n := v.add(r)
	s.l.count(r)
	if v != s.life || s.broken || r.Late {
		return n
	}
	switch r.Kind {
	case transcript.Closed:
		s.lost("connection lost", r.Label)
		return n
	case transcript.Failure:
		if s.conn != nil { // otherwise dial says so
			s.lost("request failed", r.Label)
		}
		return n
	}
	r.N = n
	s.l.plan.Decode(&r)
	s.apply(v, s.by.HandleRecord(&r))
	return n
}

// lost fails the act in progress, or counts an error without one. The caller holds the lock.
func (s *session) lost(kind, example string) {
	if s.act == "" || s.dialing {
		s.l.meter.lost(kind, example)
		s.broken = true
		return
	}
	s.finish(kind, example)
}

// apply does what a record means. The caller holds the lock.
func (s *session) apply(v *life, step steps.LoadStep) {
	for _, f := range step.Findings {
		s.l.judge.found(v, f)
	}
	s.post(step.Send)
	if step.Other != nil && s.main != nil && s.main.life != nil {
		s.main.apply(s.main.life, steps.LoadStep{Send: step.Other.Send, Done: step.Other.Done, Failed: step.Other.Failed})
	}
	switch {
	case step.Failed != "":
		s.lost(step.Failed, "act "+s.act+" of session "+v.name)
	case step.Done && s.conn == nil:
		s.early = true
	case step.Done:
		s.finish("", "")
	}
}

// finish ends the act in progress; kind says why it failed, "" that it did not. The caller holds the lock.
func (s *session) finish(kind, example string) {
	if s.act == "" {
		return
	}
	if s.main != nil {
		s.joined(kind, example)
		return
	}
	s.l.took(s.act, s.due, kind, example)
	s.act, s.broken = "", kind != ""
	s.proceed()
}

// overdue fails an act that has had no answer for too long.
func (s *session) overdue(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.act != "" && !s.dialing && now-s.begun > s.l.o.Timeout {
		s.finish("no answer within "+s.l.o.Timeout.String(), "act "+s.act+" of session "+s.life.name)
	}
}

// post sends messages in order, from a goroutine of their own: whoever calls may be the connection's reader. The caller
// holds the lock.
func (s *session) post(all []driver.Message) {
	if len(all) > 0 {
		s.out = append(s.out, all...)
		s.flush()
	}
}

// flush sends what waits. The caller holds the lock.
func (s *session) flush() {
	if s.sending || s.conn == nil || len(s.out) == 0 {
		return
	}
	s.sending = true
	s.l.work.Go(s.send)
}

func (s *session) send() {
	for {
		s.mu.Lock()
		if s.conn == nil || len(s.out) == 0 {
			s.sending = false
			s.mu.Unlock()
			return
		}
		conn, m := s.conn, s.out[0]
		if s.out = s.out[1:]; len(s.out) == 0 {
			s.out = nil
		}
		s.mu.Unlock()
		_, _ = conn.Send(s.l.ctx, m) // a failure is a record
	}
}

// rest returns how many acts have no answer, and forgets them.
func (s *session) rest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.pending)
	s.pending = nil
	if s.act != "" {
		n++
		s.act = ""
	}
	s.broken = true // what still comes belongs to no act
	return n
}

// idle reports whether nothing is in progress or due.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.act == "" && len(s.pending) == 0
}

// connected reports whether it has a connection.
func (s *session) connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil && !s.broken
}

// Bounds of a life. From tiredRecords or tiredBytes on, the session's next act is to connect anew; what comes after
// mostRecords or mostBytes is not kept: the life is judged by what came before.
const (
	tiredRecords = 96
	tiredBytes   = 48 << 10
	mostRecords  = 512
	mostBytes    = 256 << 10

	mostComments = 16 // pings, heartbeats and the like
	mostFindings = 8
)

// life has the records of one connection of a session. It is guarded by the session's lock until it is submitted.
type life struct {
	name     string
	session  int
	records  []transcript.Record
	bytes    int
	comments int
	cut      bool // not all records were kept
	over     bool // it is submitted: what still comes is not kept
	findings []verdict.Finding
}

// add keeps a record and returns its number.
func (v *life) add(r transcript.Record) int {
	if v.over {
		return len(v.records)
	}
	if r.Kind == transcript.Comment {
		if v.comments++; v.comments > mostComments {
			return len(v.records)
		}
	}
	if v.cut = v.cut || len(v.records) >= mostRecords || v.bytes+len(r.Bytes) > mostBytes; v.cut {
		return len(v.records)
	}
	r.N, r.Event = len(v.records)+1, nil
	v.records = append(v.records, r)
	v.bytes += len(r.Bytes)
	return r.N
}

// tired reports whether the life is long enough.
func (v *life) tired() bool { return len(v.records) >= tiredRecords || v.bytes >= tiredBytes }

// breaks keeps a broken clause.
func (v *life) breaks(f verdict.Finding) {
	if len(v.findings) < mostFindings {
		v.findings = append(v.findings, f)
	}
}

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
