package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// We use chromedp's pipe and its protocol types, but not its actions: those wait for each answer in turn and switch
// on features that we do not need, and their events are not ordered with the answers. Here commands can be pipelined,
// and all messages about a page are handled in order.

// lenient reads what a browser sends: pages may put any bytes into its strings.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

// errEnded is the cause of failure after the page or the browser has ended.
var errEnded = errors.New("the page has ended")

// client is the protocol client of one browser.
type client struct {
	pipe *chromedp.PipeConn

	mu       sync.Mutex
	last     int64
	waiting  map[int64]*waiter
	sessions map[target.SessionID]*session
	out      []*cdproto.Message
	wake     chan struct{} // capacity one
	lost     chan struct{} // closed once the connection is gone
	isLost   bool
	work     sync.WaitGroup
}

type waiter struct {
	session *session
	answer  chan *cdproto.Message // capacity one; closed when no answer will come
}

// session is the protocol session of a page; the zero id is the browser itself.
type session struct {
	c     *client
	id    target.SessionID
	ended chan struct{} // closed when the page is gone
	gone  bool          // guarded by c.mu
	owner *session      // the page of a worker, whose events are handled in the page's order; a page's own session

	mu     sync.Mutex
	events []func() // handlers to run, in order of arrival
	heard  chan struct{}
	handle func(*cdproto.Message) // set by runHandlers
}

func newClient(r io.ReadCloser, w io.WriteCloser) *client {
	c := &client{pipe: chromedp.NewPipeConn(r, w), waiting: map[int64]*waiter{}, sessions: map[target.SessionID]*session{},
		wake: make(chan struct{}, 1), lost: make(chan struct{})}
	c.sessions[""] = c.newSession("")
	c.work.Go(c.readMessages)
	c.work.Go(c.writeMessages)
	return c
}

func (c *client) newSession(id target.SessionID) *session {
	s := &session{c: c, id: id, ended: make(chan struct{}), heard: make(chan struct{}, 1)}
	s.owner = s
	return s
}

// browserSession returns the session of the browser itself.
func (c *client) browserSession() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[""]
}

// registerSession registers the session of a page.
func (c *client) registerSession(id target.SessionID) *session {
	return c.addSession(c.newSession(id))
}

// attachTo registers the session of a worker.
func (c *client) attachTo(id target.SessionID, owner *session, handle func(*cdproto.Message)) *session {
	s := c.newSession(id)
	s.owner, s.handle = owner, handle
	return c.addSession(s)
}

func (c *client) addSession(s *session) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isLost || s.owner.gone {
		s.gone = true
		close(s.ended)
		return s
	}
	c.sessions[s.id] = s
	return s
}

// readMessages reads from the browser until it ends.
func (c *client) readMessages() {
	for {
		m := new(cdproto.Message)
		if err := c.pipe.Read(context.Background(), m); err != nil {
			var syntax *jsontext.SyntacticError
			var semantic *json.SemanticError
			if errors.As(err, &syntax) || errors.As(err, &semantic) {
				continue // not a message
			}
			c.endAllSessions()
			return
		}
		c.dispatchMessage(m)
	}
}

func (c *client) dispatchMessage(m *cdproto.Message) {
	c.mu.Lock()
	if m.ID != 0 {
		w := c.waiting[m.ID]
		delete(c.waiting, m.ID)
		c.mu.Unlock()
		if w != nil {
			w.answer <- m
			close(w.answer)
		}
		return
	}
	s := c.sessions[m.SessionID]
	c.mu.Unlock()
	switch {
	case m.SessionID == "" && string(m.Method) == target.DetachedFromTarget.Method:
		var e target.EventDetachedFromTarget
		if json.Unmarshal(m.Params, &e, lenient) == nil {
			c.endSession(e.SessionID)
		}
	case m.SessionID != "" && s != nil:
		s.owner.queueHandler(func() { s.handle(m) })
	}
}

// endSession ends a session: waits for its answers fail.
func (c *client) endSession(id target.SessionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		return
	}
	delete(c.sessions, id)
	c.endLocked(s)
	for id, w := range c.sessions {
		if w.owner == s {
			delete(c.sessions, id)
			c.endLocked(w)
		}
	}
}

func (c *client) endLocked(s *session) {
	if s.gone {
		return
	}
	s.gone = true
	for n, w := range c.waiting {
		if w.session == s {
			delete(c.waiting, n)
			close(w.answer)
		}
	}
	close(s.ended)
}

func (c *client) endAllSessions() {
	_ = c.pipe.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isLost {
		return
	}
	c.isLost = true
	close(c.lost) // first, so that whoever sees a session end can tell why
	for id, s := range c.sessions {
		if id != "" {
			delete(c.sessions, id)
		}
		c.endLocked(s)
	}
}

// writeMessages writes queued messages, so that senders never wait for the browser.
func (c *client) writeMessages() {
	for {
		select {
		case <-c.wake:
		case <-c.lost:
			return
		}
		c.mu.Lock()
		out := c.out
		c.out = nil
		c.mu.Unlock()
		for _, m := range out {
			if c.pipe.Write(context.Background(), m) != nil {
				c.endAllSessions()
				return
			}
		}
	}
}

// close ends the connection, and waits until nothing more is read.
func (c *client) close() {
	c.endAllSessions()
	c.work.Wait()
}

// queueHandler queues a handler in the session's order.
func (s *session) queueHandler(do func()) {
	s.mu.Lock()
	s.events = append(s.events, do)
	s.mu.Unlock()
	select {
	case s.heard <- struct{}{}:
	default:
	}
}

// isGone reports whether the page has ended.
func (s *session) isGone() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// runHandlers runs handlers until stop closes, or until the session has ended and everything is handled.
func (s *session) runHandlers(stop <-chan struct{}) {
	for {
		s.mu.Lock()
		events := s.events
		s.events = nil
		s.mu.Unlock()
		for _, do := range events {
			do()
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-s.heard:
		case <-stop:
			return
		case <-s.ended:
			s.mu.Lock()
			rest := len(s.events)
			s.mu.Unlock()
			if rest == 0 {
				return
			}
		}
	}
}

// reply is the pending answer to a command.
type reply[R any] struct {
	s      *session
	method string
	answer <-chan *cdproto.Message
}

// startCommand sends a command without waiting.
func startCommand[P, R any](s *session, c cdp.Command[P, R], params P) reply[R] {
	w := &waiter{session: s, answer: make(chan *cdproto.Message, 1)}
	r := reply[R]{s: s, method: c.Method, answer: w.answer}
	m := &cdproto.Message{SessionID: s.id, Method: cdproto.MethodType(c.Method)}
	var err error
	if m.Params, err = json.Marshal(params, lenient); err != nil {
		panic("browser: " + c.Method + ": " + err.Error()) // cannot happen with our own types
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.gone {
		close(w.answer)
		return r
	}
	s.c.last++
	m.ID = s.c.last
	s.c.waiting[m.ID] = w
	s.c.out = append(s.c.out, m)
	select {
	case s.c.wake <- struct{}{}:
	default:
	}
	return r
}

// awaitReply waits for the answer.
func (r reply[R]) awaitReply(ctx context.Context) (R, error) {
	select {
	case m := <-r.answer:
		return r.decode(m)
	case <-ctx.Done():
		var none R
		return none, context.Cause(ctx)
	}
}

// decode decodes an answer; nil means that none will come.
func (r reply[R]) decode(m *cdproto.Message) (out R, err error) {
	switch {
	case m == nil:
		err = errEnded
	case m.Error != nil:
		err = m.Error
	default:
		err = json.Unmarshal(m.Result, &out, lenient)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", r.method, err)
	}
	return out, err
}

// callCommand sends a command and waits for its answer.
func callCommand[P, R any](ctx context.Context, s *session, c cdp.Command[P, R], params P) (R, error) {
	return startCommand(s, c, params).awaitReply(ctx)
}
