package agentclient

import (
	"context"
	"time"

	"github.com/cucumber/godog"

	"parley/driver"
	"parley/internal/stall"
	"parley/steps"
	"parley/transcript"
)

func (s *suite) registerStreams(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the server's stream (ends|breaks|is not there)$`, s.streamEnds)
	steps.Step(sc, `^the page has closed the stream$`, s.pageClosed)
	steps.Step(sc, `^the page is connected again$`, s.connectedAgain)
}

// stands waits until an event stream of the page stands that was opened after a record, and tells whether one does.
func (s *suite) stands(ctx context.Context, p *page, after int, within time.Duration) bool {
	limited, cancel := stall.WithLimit(ctx, s.Limit(within))
	defer cancel()
	_, err := s.T.Await(limited, after, func(r *transcript.Record) bool {
		return p.server.ofStreams(r) && r.Dir == transcript.Sent && r.Kind == transcript.Stream && r.Label == retry && p.server.stands(r.Conn)
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
	s.remember(p)
	p.word = s.T.Len()
	switch how {
	case "ends":
		st.End(driver.Graceful)
	case "breaks":
		st.End(driver.Reset)
	case "is not there":
		p.away = true
		p.server.l.Pause()
	}
	return nil
}

func (s *suite) pageClosed(ctx context.Context) error {
	p := s.now
	limited, cancel := stall.WithLimit(ctx, s.Limit(s.Env.Event()))
	defer cancel()
	_, err := s.T.Await(limited, p.act-1, func(r *transcript.Record) bool {
		return p.server.ofStreams(r) && r.Dir == transcript.Received && r.Kind == transcript.Closed
	})
	return s.Need(steps.Check{Clauses: []string{"AC-105"}, OK: err == nil, Expected: "the event stream closed, as the user has disconnected", Observed: "it still stands", At: p.act})
}

// connectedAgain lets the page connect again: it does so by itself, or the user does.
func (s *suite) connectedAgain(ctx context.Context) error {
	p := s.now
	if p.away {
		if err := p.server.l.Resume(); err != nil {
			return err
		}
		p.away = false
	}
	limits := s.Env.Profile.Limits
	if !s.stands(ctx, p, p.word, limits.Quiet.Duration) {
		if l, _ := s.latest(p); l != nil && l.Controls[connect].Visible && !l.Controls[connect].Disabled {
			if err := s.act(ctx, p, "the user connects", click(connect)); err != nil {
				s.Note("the user could not connect again: %v", err)
			}
		}
		if !s.stands(ctx, p, p.word, max(limits.Open.Duration, limits.Event.Duration)) {
			return steps.NotTestedf("the page did not ask for the events again, neither by itself nor when the user connected")
		}
	}
	p.session = ""
	return s.greets(ctx)
}
