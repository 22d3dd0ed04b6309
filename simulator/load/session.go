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

// arriveAct begins an act that is due, or has it wait for the one in progress.
func (s *session) arriveAct(due time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, due)
	if s.act == "" {
		s.beginNextAct()
	}
}

// beginNextAct begins the next act that is due. The caller holds the lock.
func (s *session) beginNextAct() {
	if len(s.pending) == 0 || s.l.over.Load() {
		return
	}
	due := s.pending[0]
	if s.pending = s.pending[1:]; len(s.pending) == 0 {
		s.pending = nil
	}
	acts := s.l.plan.Acts
	name := acts[(s.n+s.next)%len(acts)]
	if s.mustReconnect() || s.peer != nil && s.peer.mustReconnect() {
		name = steps.LoadReconnect
	} else {
		s.next++
	}
	s.act, s.due, s.begun = name, due, s.l.elapsed()
	if name == steps.LoadReconnect {
		s.dialing = true
		s.l.work.Go(s.dialAnew)
		return
	}
	s.sendInOrder(s.by.Act(name))
}

// mustReconnect reports whether it is to connect anew. The caller holds the lock.
func (s *session) mustReconnect() bool { return s.broken || s.conn == nil || s.life.isOver() }

// connectFirst begins the first act, and calls done once the connection is open or could not be opened.
func (s *session) connectFirst(due time.Duration, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.act, s.due, s.begun, s.dialing = steps.LoadConnect, due, s.l.elapsed(), true
	s.l.work.Go(func() {
		defer done()
		s.dialAnew()
	})
}

// dialAnew opens a connection, after the end of the earlier one.
func (s *session) dialAnew() {
	s.endConnection()
	s.mu.Lock()
	if s.peer != nil && s.peer.mustReconnect() {
		s.mu.Unlock()
		s.peer.joinPeer()
		s.mu.Lock()
	}
	s.lives++
	o := s.by.Dial()
	o.Party, o.MaxEvent, o.Jar = s.partyName(), int(s.l.o.Profile.Limits.MaxEvent), s.jar
	v := &life{name: o.Party, session: s.n}
	s.life, s.broken, s.early, s.out = v, false, false, nil
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(s.l.ctx, s.l.o.Timeout)
	defer cancel()
	conn, err := s.l.driver.Open(ctx, o, func(r transcript.Record) int { return s.takeRecord(v, r) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialing = false
	if err != nil {
		s.life, v.over = nil, true
		s.l.judge.submitLife(v)
		s.finishAct("not connected", err.Error())
		return
	}
	s.conn, s.begun = conn, s.l.elapsed()
	if s.early {
		s.finishAct("", "")
		return
	}
	s.flushWaiting()
}

// endConnection ends the connection, and has its life judged. Every other one is reset, as clients do that crash.
func (s *session) endConnection() {
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
		s.l.judge.submitLife(v)
	}
}

// takeRecord takes a record of a connection, and returns its number.
func (s *session) takeRecord(v *life, r transcript.Record) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.At = s.l.elapsed()
	n := v.addRecord(r)
	s.l.countMessages(r)
	if v != s.life || s.broken || r.Late {
		return n
	}
	switch r.Kind {
	case transcript.Closed:
		s.failAct("connection lost", r.Label)
		return n
	case transcript.Failure:
		if s.conn != nil { // otherwise dial says so
			s.failAct("request failed", r.Label)
		}
		return n
	}
	r.N = n
	s.l.plan.Decode(&r)
	s.applyStep(v, s.by.HandleRecord(&r))
	return n
}

// failAct fails the act in progress, or counts an error without one. The caller holds the lock.
func (s *session) failAct(kind, example string) {
	if s.act == "" || s.dialing {
		s.l.meter.countLost(kind, example)
		s.broken = true
		return
	}
	s.finishAct(kind, example)
}

// applyStep does what a record means. The caller holds the lock.
func (s *session) applyStep(v *life, step steps.LoadStep) {
	for _, f := range step.Findings {
		s.l.judge.addFinding(v, f)
	}
	s.sendInOrder(step.Send)
	if step.Other != nil && s.main != nil && s.main.life != nil {
		s.main.applyStep(s.main.life,
			steps.LoadStep{Send: step.Other.Send, Done: step.Other.Done, Failed: step.Other.Failed})
	}
	switch {
	case step.Failed != "":
		s.failAct(step.Failed, "act "+s.act+" of session "+v.name)
	case step.Done && s.conn == nil:
		s.early = true
	case step.Done:
		s.finishAct("", "")
	}
}

// finishAct ends the act in progress; kind says why it failed, "" that it did not. The caller holds the lock.
func (s *session) finishAct(kind, example string) {
	if s.act == "" {
		return
	}
	if s.main != nil {
		s.endJoin(kind, example)
		return
	}
	s.l.measureAct(s.act, s.due, kind, example)
	s.act, s.broken = "", kind != ""
	s.beginNextAct()
}

// failOverdue fails an act that has had no answer for too long.
func (s *session) failOverdue(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.act != "" && !s.dialing && now-s.begun > s.l.o.Timeout {
		s.finishAct("no answer within "+s.l.o.Timeout.String(), "act "+s.act+" of session "+s.life.name)
	}
}

// sendInOrder sends messages in order, from a goroutine of their own: whoever calls may be the connection's reader. The
// caller holds the lock.
func (s *session) sendInOrder(all []driver.Message) {
	if len(all) > 0 {
		s.out = append(s.out, all...)
		s.flushWaiting()
	}
}

// flushWaiting sends what waits. The caller holds the lock.
func (s *session) flushWaiting() {
	if s.sending || s.conn == nil || len(s.out) == 0 {
		return
	}
	s.sending = true
	s.l.work.Go(s.sendMessages)
}

func (s *session) sendMessages() {
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

// forgetUnanswered returns how many acts have no answer, and forgets them.
func (s *session) forgetUnanswered() int {
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

// isIdle reports whether nothing is in progress or due.
func (s *session) isIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.act == "" && len(s.pending) == 0
}

// isConnected reports whether it has a connection.
func (s *session) isConnected() bool {
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
	shown    map[string]bool // clauses that the session's findings have shown kept; nil: none
}

// addRecord keeps a record and returns its number.
func (v *life) addRecord(r transcript.Record) int {
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

// isOver reports whether the life is long enough.
func (v *life) isOver() bool { return len(v.records) >= tiredRecords || v.bytes >= tiredBytes }

// addBroken keeps a broken clause.
func (v *life) addBroken(f verdict.Finding) {
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

// pairPeer makes the peer of a session whose protocol has two parties, such as the host of an agent.
func (s *session) pairPeer() {
	paired, ok := s.by.(steps.LoadPaired)
	if !ok {
		return
	}
	if by := paired.Peer(); by != nil {
		s.peer = &session{l: s.l, n: s.n, by: by, main: s, jar: httpclient.NewJar()}
		s.peer.mu.shared = &s.mu.own
	}
}

// partyName names the present connection.
func (s *session) partyName() string {
	if s.main != nil {
		return fmt.Sprintf("S%d.peer%d", s.n+1, s.lives)
	}
	return fmt.Sprintf("S%d.%d", s.n+1, s.lives)
}

// joinPeer connects a peer, and returns when it is ready or cannot be.
func (s *session) joinPeer() {
	ready := make(chan struct{})
	s.mu.Lock()
	s.act, s.begun, s.dialing, s.ready = steps.LoadConnect, s.l.elapsed(), true, ready
	s.mu.Unlock()
	s.dialAnew()
	late := time.NewTimer(s.l.o.Timeout)
	defer late.Stop()
	select {
	case <-ready:
	case <-late.C:
		s.mu.Lock()
		s.finishAct("the other party has no answer within "+s.l.o.Timeout.String(), "session "+s.partyName())
		s.mu.Unlock()
	case <-s.l.ctx.Done():
	}
}

// endJoin ends the connecting of a peer. It is no act: only a failure counts. The caller holds the lock.
func (s *session) endJoin(kind, example string) {
	s.act, s.broken = "", kind != ""
	if s.broken {
		s.l.meter.countLost(kind, example)
	}
	if s.ready != nil {
		close(s.ready)
		s.ready = nil
	}
}

// sessionAndPeer returns the session, and its peer if it has one.
func (s *session) sessionAndPeer() []*session {
	if s.peer == nil {
		return []*session{s}
	}
	return []*session{s, s.peer}
}
