package sessionchat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
)

// turn is one chat, from its arrival to its result: the query operation of the source. Its fields are written under
// Server.mu, or before it starts; its answer belongs to its goroutine.
type turn struct {
	s           *Server
	c           *conn // the connection that asked and gets the messages
	interrupter *conn // the connection that interrupted
	sess        *session
	queue       string
	agentID     string
	content     string
	model       string
	reserved    int // its part of manager.bytes

	ctx     context.Context // of the backend's answer
	cancel  context.CancelCauseFunc
	started time.Time

	view    TurnView
	kept    *Turn // its entry in the session's history; nil until the session is obtained
	request llm.Request
	answer  strings.Builder // text sent so far
}

// startTurn runs the first turn of a queue. The caller holds the lock.
func (s *Server) startTurn(t *turn) {
	if s.ending {
		return
	}
	ctx, cancelTimeout := context.WithTimeoutCause(s.ctx, s.o.Limits.Turn, errTooLate)
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.started = time.Now()
	t.sess.running = append(t.sess.running, t)
	s.turns.Go(func() {
		defer cancelTimeout()
		defer t.cancel(nil)
		err := t.obtainSession()
		if err == nil {
			err = t.askBackend()
		}
		t.finishTurn(err)
	})
}

// removeTurn removes a turn and starts the next one. The caller holds the lock.
func (s *Server) removeTurn(t *turn) {
	delete(t.c.turns, t)
	t.sess.running = slices.DeleteFunc(t.sess.running, func(o *turn) bool { return o == t })
	t.countAsHistory()
	s.m.releaseSession(t.sess)
	if next := s.m.dequeueTurn(t); next != nil {
		s.startTurn(next)
	}
}

// countAsHistory counts the turn's text as its session's, as far as it is in the history. The caller holds the lock.
func (t *turn) countAsHistory() {
	t.s.m.bytes -= t.reserved
	t.reserved = 0
	t.s.m.updateWeight(t.sess)
}

// obtainSession is get_or_create_client of the source: it takes the session from memory, else from the store, else
// makes a new one, saves it, and then announces it (SC-006 to SC-011, SC-018). It can't be interrupted: a turn gets a
// session, or fails.
func (t *turn) obtainSession() error {
	sess, s := t.sess, t.s
	sess.loading.Lock()
	defer sess.loading.Unlock()
	if err := t.loadSession(); err != nil {
		return err
	}

	s.mu.Lock()
	v := TurnView{Conn: t.c.info.ID, AgentID: t.agentID, Key: sess.key, SessionID: sess.id, Turn: 1}
	v.Resumed = t.view.Resumed
	if n := len(sess.turns); n > 0 {
		v.Turn = sess.turns[n-1].N + 1
	}
	v.SessionID = s.o.Policy.SessionID(v)
	t.view = v
	kept := &Turn{N: v.Turn, Content: t.content}
	what := s.o.Policy.Persist(v, AtStart)
	s.mu.Unlock()

	if err := t.saveTurn(what, *kept); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.kept = kept
	sess.loaded, sess.id = true, v.SessionID
	sess.turns = append(sess.turns, kept)
	t.countAsHistory() // from here on it counts as the session's
	t.request = llm.Request{
		API: llm.APIInProcess, Model: t.model, Stream: true,
		Messages: s.o.Policy.History(v, conversationSoFar(sess.turns)),
	}
	t.sendToAsker(proto.SystemMessage,
		map[string]any{proto.Subtype: "init", proto.Model: t.model, "resumed": v.Resumed})
	return nil
}

// loadSession reads a session that is not in memory. The caller holds sess.loading.
func (t *turn) loadSession() error {
	sess, s := t.sess, t.s
	s.mu.Lock()
	loaded := sess.loaded
	if !loaded {
		sess.storeKey = s.o.Policy.Key(t.c.info, t.agentID, InStore)
	}
	s.mu.Unlock()
	if loaded {
		return nil
	}
	ctx, cancel := t.s.storeContext()
	defer cancel()
	stored, found, err := s.store.Lookup(ctx, sess.storeKey)
	if err != nil {
		return &storeError{err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, found = s.o.Policy.Known(sess.key, stored, found)
	if !found {
		return nil
	}
	t.view.Resumed = true
	sess.id, sess.turns = stored.SessionID, nil
	for i := range stored.Turns {
		sess.turns = append(sess.turns, &stored.Turns[i])
	}
	s.m.updateWeight(sess)
	return nil
}

// saveTurn stores a turn. An interrupt does not cancel that: the turn so far is part of the history.
func (t *turn) saveTurn(what Saving, kept Turn) error {
	if !what.Session {
		return nil
	}
	row := &kept
	if !what.Turn {
		row = nil
	}
	ctx, cancel := t.s.storeContext()
	defer cancel()
	if err := t.s.store.Save(ctx, t.sess.storeKey, t.view.SessionID, row); err != nil {
		return &storeError{err}
	}
	return nil
}

func (s *Server) storeContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 2*s.o.Limits.Store)
}

// askBackend asks the backend and sends each piece of the answer as it arrives (SC-012, SC-020).
func (t *turn) askBackend() error {
	if err := context.Cause(t.ctx); err != nil { // do not ask the backend for a turn that has ended
		return err
	}
	return t.s.o.Backend.Answer(t.ctx, t.request, func(p llm.Part) error {
		if p.Call != nil {
			return t.sendPiece(fmt.Sprintf("[The tool %s was asked for; there are no tools here.]", p.Call.Name))
		}
		return t.sendPiece(p.Text)
	})
}

// sendPiece sends a piece of the answer, unless the turn has ended.
func (t *turn) sendPiece(text string) error {
	if text == "" {
		return nil
	}
	if t.answer.Len()+len(text) > t.s.o.Limits.Answer {
		return fmt.Errorf("the answer is longer than %d bytes", t.s.o.Limits.Answer)
	}
	if err := t.tellPiece(text); err != nil {
		return err
	}
	t.answer.WriteString(text)
	t.c.AwaitRoom(t.ctx, min(smooth, t.s.o.Limits.Outgoing/2))
	return nil
}

func (t *turn) tellPiece(text string) error {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	if !t.s.m.reserveBytes(len(text)) {
		return errNoMemory
	}
	t.reserved += len(text)
	t.sendToAsker(proto.StreamMessage, map[string]any{proto.Text: text})
	return nil
}
