package sessionchat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/model"
	proto "parley/protocol/sessionchat"
)

// turn is one chat, from its arrival to its result: the query operation of the source. Its fields are written under
// Server.mu, or before it starts; its answer belongs to its goroutine.
type turn struct {
	s           *Server
	c           *conn // that asked, and is told
	interrupter *conn // that interrupted
	sess        *session
	queue       string
	agentID     string
	content     string
	model       string
	reserved    int // bytes of manager.bytes

	ctx     context.Context // of the backend's answer
	cancel  context.CancelCauseFunc
	started time.Time

	view    TurnView
	kept    *Turn // its place in the session's history; nil until the session is obtained
	request model.Request
	answer  strings.Builder // what was told so far
}

// Why the context of a turn ends.
var (
	errInterrupted = errors.New("interrupted")
	errGone        = errors.New("the connection has ended")
	errClosing     = errors.New("the server closes")
	errTooLate     = errors.New("the turn took too long")
)

var errNoMemory = errors.New("too much text is in work")

// storeError is a failure of the store.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// StoreFailed is the code of a turn whose session could not be read or saved; the binding names none for it.
const StoreFailed = "store_failed"

// start runs a turn that is first in its queue. Locked.
func (s *Server) start(t *turn) {
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
		err := t.obtain()
		if err == nil {
			err = t.ask()
		}
		t.finish(err)
	})
}

// forget takes a turn from the books, and starts the one behind it. Locked.
func (s *Server) forget(t *turn) {
	delete(t.c.turns, t)
	t.sess.running = slices.DeleteFunc(t.sess.running, func(o *turn) bool { return o == t })
	s.m.bytes -= t.reserved
	s.m.release(t.sess)
	if next := s.m.dequeue(t); next != nil {
		s.start(next)
	}
}

// obtain is get_or_create_client of the source: the session in memory, else from the store, else a new one; saved, and then told
// of (SC-006 to SC-011, SC-018). It is not interrupted: a turn has a session, or fails.
func (t *turn) obtain() error {
	sess, s := t.sess, t.s
	sess.loading.Lock()
	defer sess.loading.Unlock()
	if err := t.load(); err != nil {
		return err
	}

	s.mu.Lock()
	v := TurnView{Conn: t.c.info.ID, AgentID: t.agentID, Key: sess.key, SessionID: sess.id, Turn: 1, Resumed: t.view.Resumed}
	if n := len(sess.turns); n > 0 {
		v.Turn = sess.turns[n-1].N + 1
	}
	v.SessionID = s.o.Policy.SessionID(v)
	t.view = v
	kept := &Turn{N: v.Turn, Content: t.content}
	what := s.o.Policy.Persist(v, AtStart)
	s.mu.Unlock()

	if err := t.save(what, *kept); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.kept = kept
	sess.loaded, sess.id = true, v.SessionID
	sess.turns = append(sess.turns, kept)
	s.m.reweigh(sess)
	t.request = model.Request{
		API: model.APIInProcess, Model: t.model, Stream: true,
		Messages: s.o.Policy.History(v, messages(sess.turns)),
	}
	t.tell(proto.SystemMessage, map[string]any{"subtype": "init", "model": t.model, "resumed": v.Resumed})
	return nil
}

// load reads a session that is not in memory. sess.loading is held.
func (t *turn) load() error {
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
	s.m.reweigh(sess)
	return nil
}

// save keeps a turn. An interrupt does not end it: what was said is history.
func (t *turn) save(what Saving, kept Turn) error {
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

// ask has the backend answer, and tells each piece as it comes (SC-012, SC-020).
func (t *turn) ask() error {
	if err := context.Cause(t.ctx); err != nil { // nothing is asked for a turn that has ended
		return err
	}
	return t.s.o.Backend.Answer(t.ctx, t.request, func(p model.Part) error {
		if p.Call != nil {
			return t.say(fmt.Sprintf("[The tool %s was asked for; there are no tools here.]", p.Call.Name))
		}
		return t.say(p.Text)
	})
}

// say tells a piece of the answer, unless the turn has been ended.
func (t *turn) say(text string) error {
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
	t.c.awaitRoom(t.ctx)
	return nil
}

func (t *turn) tellPiece(text string) error {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	if !t.s.m.reserve(len(text)) {
		return errNoMemory
	}
	t.reserved += len(text)
	t.tell(proto.StreamMessage, map[string]any{"text": text})
	return nil
}

// finish ends the turn: the whole answer, then, once it is saved, the result.
func (t *turn) finish(err error) {
	s := t.s
	s.mu.Lock()
	if ended := context.Cause(t.ctx); ended != nil && !isStoreError(err) {
		err = ended
	}
	if err == nil {
		t.tell(proto.AssistantMessage, map[string]any{"role": model.RoleAssistant, "content": t.answer.String()})
	}
	var what Saving
	var kept Turn
	if t.kept != nil {
		t.kept.Answer, t.kept.Outcome = t.answer.String(), outcome(err)
		s.m.reweigh(t.sess)
		what, kept = s.o.Policy.Persist(t.view, AtEnd), *t.kept
	}
	s.mu.Unlock()

	if failed := t.save(what, kept); failed != nil {
		err = failed
	}
	if isStoreError(err) {
		s.o.Logger.Error("store failed", "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.tell(proto.ResultMessage, t.result(err))
	s.forget(t)
}

// tell sends a message of the turn to the connection that asked. The result goes to the one that interrupted, too, if that
// is another: it has nothing else to go by. Locked.
func (t *turn) tell(kind string, body map[string]any) {
	id := t.view.SessionID
	if t.kept == nil { // a session that could not be saved has no id to go by
		id = t.sess.id
	}
	msg := newMessage(kind, t.agentID, id, body)
	t.s.emit(t.c, msg)
	if kind == proto.ResultMessage && t.interrupter != nil && t.interrupter != t.c {
		t.s.emit(t.interrupter, msg)
	}
}

// result is the body of the last message. Locked.
func (t *turn) result(err error) map[string]any {
	body := map[string]any{
		"subtype":     outcome(err),
		"duration_ms": time.Since(t.started).Milliseconds(),
		"num_turns":   t.view.Turn,
	}
	if body["subtype"] == proto.Failed {
		body["code"], body["text"] = failure(err)
	}
	return body
}

// outcome is the subtype of a result.
func outcome(err error) string {
	switch {
	case err == nil:
		return proto.Success
	case errors.Is(err, errInterrupted), errors.Is(err, errGone), errors.Is(err, errClosing):
		return proto.Interrupted
	}
	return proto.Failed
}

func isStoreError(err error) bool {
	_, is := errors.AsType[*storeError](err)
	return is
}

// failure names what went wrong, without what the store says of itself.
func failure(err error) (code, text string) {
	switch {
	case errors.Is(err, ErrFull), errors.Is(err, errNoMemory):
		return proto.Overloaded, "there is no room left for this turn: try again later"
	case isStoreError(err):
		return StoreFailed, "the session could not be read or saved: send the chat again"
	}
	return proto.ModelFailed, fmt.Sprintf("the model failed: %v", err)
}
