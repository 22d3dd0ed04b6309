package agentclient

import (
	"context"
	"fmt"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentclient/model"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

func (s *suite) asksForNewSession(ctx context.Context) error {
	s.reloads(ctx)
	return s.does(ctx, "the user asks for a new session", click(model.NewSession),
		"AC-043", "AC-054", "AC-096", "AC-107", "AC-056", "AC-117")
}

// reloads waits for the answer if the page reloads its session by itself, as after a lost connection. Otherwise the
// page's session would depend on whether that answer arrives before the answer to the user's next act.
func (s *suite) reloads(ctx context.Context) {
	p := s.now
	if p.first == "" {
		return
	}
	s.settle(ctx)
	_, made := s.requests(model.LoadType, 0)
	for _, load := range made {
		_, _ = s.Await(ctx, steps.Wait{Conn: p.name, After: load.N, Kind: "the answer to a load", Proof: true,
			Match: func(r *transcript.Record) bool { return r.Kind == transcript.Answered && r.Reply == load.N }})
	}
}

// requestsSession waits for a session request, and until the page has handled the answer. preselected says that the
// scenario needs the agent that the user has preselected in it.
func (s *suite) requestsSession(ctx context.Context, preselected bool) (transcript.Record, error) {
	p := s.now
	r, err := s.settled(ctx, model.CreateType, preselected)
	if err != nil {
		return r, err
	}
	s.answered(ctx, r.N)
	given := false
	p.server.set(func() {
		if given = !p.server.refuse && len(p.server.sessions) > 0; given {
			p.session = p.server.sessions[len(p.server.sessions)-1]
		}
	})
	if !given {
		return r, s.quiet(ctx)
	}
	return r, s.knows(ctx, r.N)
}

// showsIDs is the key in Env.Learnt for whether the target shows the id of its session.
type showsIDs struct{}

// knows waits until the page knows its new session. Most pages show its id; the others get the quiet window.
func (s *suite) knows(ctx context.Context, request int) error {
	p, limits := s.now, s.Env.Profile.Limits
	yes, learnt := s.learnt(showsIDs{})
	if learnt && !yes {
		return s.quiet(ctx)
	}
	within := limits.Event.Duration
	if !learnt {
		within = min(within/2, 4*limits.Quiet.Duration)
	}
	_, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: request, Within: within,
		Match: s.looking(func(l *snapshot.Page) bool { return strings.Contains(l.Text, p.session) })})
	if miss == nil || !learnt {
		s.Env.Learnt.Store(showsIDs{}, miss == nil)
	}
	s.settle(ctx)
	return nil
}

func (s *suite) getsSession(ctx context.Context) error {
	if err := s.asksForNewSession(ctx); err != nil {
		return err
	}
	if _, err := s.requestsSession(ctx, false); err != nil {
		return err
	}
	s.now.first = s.now.session
	return nil
}

// sessionBegins waits for a session request with the agent that the user has preselected.
func (s *suite) sessionBegins(ctx context.Context, name string) error {
	p, a := s.now, s.now.called(name)
	r, err := s.requestsSession(ctx, true)
	switch {
	case err != nil:
		return err
	case data(r)[vocab.InitialAgentID] != a.id:
		return steps.NotTestedf("the user has not preselected %q", a.name)
	case p.preselect > 0:
		p.current = a.id
	}
	return nil
}

func (s *suite) loads(ctx context.Context) error {
	if !s.Env.Profile.Has("session-list") {
		return &steps.NotApplicableError{Reason: "the profile does not declare session-list"}
	}
	return s.does(ctx, "the user loads the first session", fields{"do": "click", "on": session, "text": s.now.first},
		"AC-051", "AC-055")
}

func (s *suite) requestsFirst(ctx context.Context) error {
	p := s.now
	r, miss := s.asked(ctx, model.LoadType)
	if miss != nil {
		return steps.NotTestedf("the page did not ask to load the session: %s", miss.Reason)
	}
	if got := data(r)[vocab.SessionID]; got != p.first {
		return steps.NotTestedf("the page asked to load %s, but the user chose %s", wjson.Compact(got), p.first)
	}
	p.session = p.first
	s.answered(ctx, r.N)
	return s.quiet(ctx)
}

func (s *suite) says(ctx context.Context, text string) error {
	s.now.said = text
	if err := s.does(ctx, "the user types a message", fields{"do": "type", "on": message, "text": text}); err != nil {
		return err
	}
	if err := s.does(ctx, "the user sends it", click(send)); err != nil {
		return err
	}
	r, miss := s.asked(ctx, vocab.ChatType)
	if miss != nil {
		return steps.NotTestedf("the page did not send the message: %s", miss.Reason)
	}
	s.answered(ctx, r.N)
	return nil
}

// beginsToAnswer sends the beginning of a turn in one of the ways that servers use: some echo the user's message,
// some send the answer in pieces, some as whole messages.
func (s *suite) beginsToAnswer(ctx context.Context, how string) error {
	p := s.now
	echo := fields{vocab.Role: "user", vocab.Content: p.said, vocab.SessionID: p.session}
	piece := fields{vocab.Role: "assistant", vocab.Content: "好的", vocab.Streaming: true, vocab.SessionID: p.session}
	whole := fields{vocab.Role: "assistant", vocab.Content: "好的,我先看一下", vocab.SessionID: p.session}
	ways := map[string]struct{ sent, unsent []fields }{
		"in pieces": {[]fields{piece}, []fields{echo}},
		"in pieces, after an echo of the message":      {[]fields{echo, piece}, nil},
		"in one message, after an echo of the message": {[]fields{echo, whole}, []fields{piece}},
	}
	way, known := ways[how]
	if !known {
		return fmt.Errorf("a server cannot begin to answer %s", how)
	}
	for _, said := range way.sent {
		if err := s.emit(ctx, vocab.MessageEvent, said); err != nil {
			return err
		}
		if _, err := s.comment(ctx, "heartbeat"); err != nil { // as many servers do
			return err
		}
	}
	p.unsent = way.unsent
	return s.quiet(ctx) // late rendering may move the element that the user clicks next
}

// aborts makes the user abort. A page may allow this only after some sign of a turn, so the server now sends the signs
// that it has not sent yet.
func (s *suite) aborts(ctx context.Context) error {
	can := func(l *snapshot.Page) bool { return usable(l, model.Abort) }
	s.settle(ctx)
	for _, more := range s.now.unsent {
		l, at := s.latest()
		if can(l) {
			break
		}
		if _, miss := s.Await(ctx, steps.Wait{Conn: s.now.name, After: at, Within: s.Env.Profile.Limits.Quiet.Duration,
			Match: s.looking(can)}); miss == nil {
			break
		}
		s.Note("the page does not let a user abort before the server sends: %s", string(encode(more)))
		if err := s.emit(ctx, vocab.MessageEvent, more); err != nil {
			return err
		}
		s.settle(ctx)
	}
	s.now.unsent = nil
	return s.does(ctx, "the user aborts", click(model.Abort), "AC-079", "AC-124")
}

// endsTurn makes the server end a turn. It may or may not report that the turn was aborted.
func (s *suite) endsTurn(ctx context.Context, how string) error {
	d := fields{vocab.SessionID: s.now.session}
	if how == "with" {
		d[vocab.Cancelled] = true
	}
	return s.emit(ctx, vocab.CompleteEvent, d)
}

func (s *suite) requestsAbort(ctx context.Context) error {
	r, err := s.settled(ctx, vocab.AbortType, true)
	if err == nil {
		s.answered(ctx, r.N)
	}
	return err
}
