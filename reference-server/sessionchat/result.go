package sessionchat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
)

// Reasons for the end of a turn's context.
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

// StoreFailed is the code for a turn whose session could not be read or saved; the binding names none for it.
const StoreFailed = "store_failed"

// finish ends the turn: it sends the whole answer and, once that is saved, the result.
func (t *turn) finish(err error) {
	s := t.s
	s.mu.Lock()
	if ended := context.Cause(t.ctx); ended != nil && !isStoreError(err) {
		err = ended
	}
	if err == nil {
		t.tell(proto.AssistantMessage, map[string]any{"role": llm.RoleAssistant, "content": t.answer.String()})
	}
	var what Saving
	var kept Turn
	if t.kept != nil {
		t.kept.Answer, t.kept.Outcome = t.answer.String(), outcome(err)
		t.unreserve()
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

// tell sends a message of the turn to the connection that asked. If another connection interrupted, that also gets
// the result, because it has no other confirmation. The caller holds the lock.
func (t *turn) tell(kind string, body map[string]any) {
	id := t.view.SessionID
	if t.kept == nil { // a session that could not be saved has no id
		id = t.sess.id
	}
	msg := newMessage(kind, t.agentID, id, body)
	t.s.emit(t.c, msg)
	if kind == proto.ResultMessage && t.interrupter != nil && t.interrupter != t.c {
		t.s.emit(t.interrupter, msg)
	}
}

// result returns the body of the last message. The caller holds the lock.
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

// outcome returns the subtype of a result.
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

// failure describes what went wrong, without details of the store.
func failure(err error) (code, text string) {
	switch {
	case errors.Is(err, ErrFull), errors.Is(err, errNoMemory):
		return proto.Overloaded, "there is no room left for this turn: try again later"
	case isStoreError(err):
		return StoreFailed, "the session could not be read or saved: send the chat again"
	}
	return proto.ModelFailed, fmt.Sprintf("the model failed: %v", err)
}
