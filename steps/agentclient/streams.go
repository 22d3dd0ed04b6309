package agentclient

import (
	"context"
	"time"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

func (s *suite) registerStreams(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the server (ends the stream|resets the stream|goes away)$`, s.streamEnds)
	steps.Step(sc, `^the page closes the stream$`, s.closesStream)
	steps.Step(sc, `^the page reconnects$`, s.reconnects)
	steps.Step(sc, `^the server sends each event on all streams of the page, once a second one had time to open$`,
		s.usesAllStreams)
}

// stands waits for an open event stream of the page that was opened after a record, and reports whether there is one.
func (s *suite) stands(ctx context.Context, after int, within time.Duration) bool {
	v := s.now.server
	limited, cancel := deadline.WithLimit(ctx, s.Limit(within))
	defer cancel()
	limited, seen := s.UntilSevered(limited)
	defer seen()
	defer s.Idles()()
	_, err := s.T.Await(limited, after, func(r *transcript.Record) bool {
		return v.ofStreams(r) && r.Dir == transcript.Sent && r.Kind == transcript.Stream && r.Label == retry &&
			v.stands(r.Conn)
	})
	return err == nil
}

// streamEnds ends the page's event stream.
func (s *suite) streamEnds(how string) error {
	p := s.now
	st := p.server.stream()
	if st == nil {
		return steps.NotTestedf("the page has no event stream open")
	}
	s.remember()
	p.word = s.T.Len()
	switch how {
	case "ends the stream":
		st.End(driver.Graceful)
	case "resets the stream":
		st.End(driver.Reset)
	case "goes away":
		p.away = true
		p.server.l.Pause()
	}
	return nil
}

func (s *suite) closesStream(ctx context.Context) error {
	p := s.now
	limited, cancel := deadline.WithLimit(ctx, s.Limit(s.Env.Event()))
	defer cancel()
	defer s.Idles()()
	_, err := s.T.Await(limited, p.act-1, func(r *transcript.Record) bool {
		return p.server.ofStreams(r) && r.Dir == transcript.Received && r.Kind == transcript.Closed
	})
	return s.Need(verdict.Finding{Clauses: []string{"AC-105"}, OK: err == nil, At: p.act,
		Expected: "the event stream closed, because the user disconnected", Observed: "it is still open"})
}

// reconnects waits until the page reconnects, by itself or else because the user connects.
func (s *suite) reconnects(ctx context.Context) error {
	p := s.now
	p.server.release()
	if p.away {
		if err := p.server.l.Resume(); err != nil {
			return err
		}
		p.away = false
	}
	limits := s.Env.Profile.Limits
	if p.returned = s.comesBack(ctx); !p.returned {
		if l, _ := s.latest(); usable(l, connect) {
			if err := s.act(ctx, "the user connects", click(connect)); err != nil {
				s.Note("the user could not connect again: %v", err)
			}
		}
		if !s.stands(ctx, p.word, max(limits.Open.Duration, limits.Event.Duration)) {
			return steps.NotTestedf("the page did not ask for the events again, neither by itself nor when the user connected")
		}
	}
	p.session = ""
	return s.greets(ctx)
}

// secondAttempt is how long a page may take to reconnect a second time, beside the browser, which has reconnected.
const secondAttempt = 3 * time.Second

// usesAllStreams waits whether a page that has reconnected opens another stream, which the server greets like any
// other. If it keeps the first, the server sends each event on both. A page whose user had to connect is not judged:
// the click may have crossed an attempt of its own.
func (s *suite) usesAllStreams(ctx context.Context) error {
	p := s.now
	mark, open := s.T.Len(), p.server.streams()
	if !p.returned || len(open) == 1 && !s.stands(ctx, mark, secondAttempt) {
		return nil
	}
	agents, current := p.agents, p.current
	if err := inOrder(ctx, s.greets, func(ctx context.Context) error {
		return s.lists(ctx, agents, current, "")
	}); err != nil {
		return err
	}
	p.doubled = len(p.server.streams()) > 1
	return nil
}

// returns is the key in Env.Learnt for whether the target reconnects by itself before a user would click.
type returns struct{}

// comesBack reports whether the page reconnects by itself. A user takes about a second to notice a loss and to click;
// a page that has once failed to reconnect in that time gets only the quiet window from then on. A click on connect
// between the attempts of a page that reconnects by itself may lead to two event streams, which no scenario covers.
func (s *suite) comesBack(ctx context.Context) bool {
	yes, learnt := s.learnt(returns{})
	within := s.Env.Profile.Limits.Quiet.Duration
	if !learnt || yes {
		within = max(within, lateness)
	}
	back := s.stands(ctx, s.now.word, within)
	if back || !learnt {
		s.Env.Learnt.Store(returns{}, back)
	}
	return back
}
