package agentclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/driver/browser"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/driver/sse"
	"parley/transport/transcript"
)

// act performs a user action. An action that a person could not perform is a *browser.ActError.
func (s *suite) act(ctx context.Context, label string, what fields) error {
	if s.IsSevered() {
		return steps.NotTestedf("the page's event stream has been cut")
	}
	s.remember()
	p, limit := s.now, s.Env.Event()
	limited, cancel := deadline.WithLimit(ctx, limit)
	defer cancel()
	defer s.Idles()()
	n, err := p.conn.Send(limited, driver.Message{Label: label, Body: encode(what)})
	p.act = max(p.act, n)
	if err == nil {
		return nil
	}
	if limited.Err() != nil && ctx.Err() == nil {
		p.frozen = true
		return &browser.ActError{Do: fmt.Sprint(what["do"]), On: fmt.Sprint(what["on"]),
			Why: fmt.Sprintf("the page did not recover within %s", steps.Span(limit))}
	}
	var cannot *browser.ActError
	if errors.As(err, &cannot) {
		return cannot
	}
	if ctx.Err() != nil {
		s.CutOff()
	}
	return steps.NotTestedf("%s: %v", label, err)
}

// does is act for an action that the scenario requires: if it fails, these clauses are broken.
func (s *suite) does(ctx context.Context, label string, what fields, clauses ...string) error {
	if what["do"] == "click" || what["do"] == "type" {
		s.ready(ctx, what["on"].(string))
	}
	err := s.act(ctx, label, what)
	var cannot *browser.ActError
	if errors.As(err, &cannot) {
		return s.Need(verdict.Finding{Clauses: clauses, Expected: "a page on which " + label, Observed: cannot.Error(),
			At: s.T.Len()})
	}
	return err
}

func click(on string) fields { return fields{"do": "click", "on": on} }

// usable reports whether a snapshot shows a control that can be used.
func usable(l *snapshot.Page, on string) bool {
	return l != nil && l.Controls[on].Visible && !l.Controls[on].Disabled
}

// ready waits until a control that the user is about to click or type into is usable; the cause may still be on its
// way to the page.
func (s *suite) ready(ctx context.Context, on string) {
	if l, at := s.latest(); on != session && !usable(l, on) {
		_, _ = s.awaitSight(ctx, at, s.looking(func(l *snapshot.Page) bool { return usable(l, on) }))
	}
}

// settle lets the page finish its current work.
func (s *suite) settle(ctx context.Context) {
	if page, ok := s.now.conn.(driver.PageConn); ok {
		limited, cancel := deadline.WithLimit(ctx, s.Env.Event())
		defer cancel()
		s.now.frozen = page.AwaitIdle(limited) != nil && limited.Err() != nil && ctx.Err() == nil
	}
}

// emitRaw writes to the page's event stream, the latest if there are several and the server does not use them all.
// Without an open stream the scenario can't continue.
func (s *suite) emitRaw(ctx context.Context, kind string, body []byte) (int, error) {
	st := s.now.server.stream()
	if st == nil || s.IsSevered() {
		return 0, steps.NotTestedf("the page has no event stream open")
	}
	to := []*sse.Streamed{st}
	if s.now.doubled {
		to = s.now.server.streams()
	}
	last := 0
	for _, st := range to {
		n, err := s.now.server.send(ctx, st, kind, body)
		if err != nil {
			return 0, steps.NotTestedf("the page has closed its event stream: %v", err)
		}
		last = max(last, n)
	}
	return last, nil
}

// comment sends a comment on the event stream, which is not an event.
func (s *suite) comment(ctx context.Context, text string) (int, error) {
	return s.emitRaw(ctx, "comment", []byte(": "+text+"\n\n"))
}

// emit sends an event, with the server's time as last set.
func (s *suite) emit(ctx context.Context, kind string, data fields) error {
	p := s.now
	s.remember()
	var at any
	p.emitted = time.Now()
	if !p.at.IsZero() {
		at = stamp(p.at)
	}
	n, err := s.emitRaw(ctx, kind, p.server.event(kind, data, at))
	if err == nil {
		p.word = n
	}
	return err
}

// stamp formats a time as the sources do.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Variations of the events that a step sends.
const (
	untimed      = " without a timestamp"
	undocumented = " with undocumented fields"
	oddly        = untimed + `|` + undocumented
)

// clock sets the server's time to one that no other event has and that is unlike this machine's clock; untimed: no
// time.
func (s *suite) clock(odd string) {
	s.now.at = time.Time{}
	if odd != untimed {
		n := s.Serial()
		s.now.at = time.Date(2025, 12, 30, 3, (time.Now().Minute()+10+n%15)%60, (7*n+5)%60, 123_000_000, time.UTC)
	}
}

// asked waits for a request from the page since the user's latest act.
func (s *suite) asked(ctx context.Context, kind string) (transcript.Record, *verdict.Miss) {
	return s.Await(ctx, steps.Wait{Conn: s.now.server.party, After: s.now.act - 1, Greeting: true,
		Match: func(r *transcript.Record) bool {
			return r.Dir == transcript.Received && r.Kind == transcript.Request && r.Event != nil && r.Event.Type == kind
		}})
}

// answered waits until the page has received and handled the response to its request.
func (s *suite) answered(ctx context.Context, request int) {
	var asking string // how the browser records it
	for _, r := range s.T.All() {
		if r.N == request {
			method, path, _ := strings.Cut(r.Label, " ")
			asking = method + " " + s.now.server.l.URL() + path
		}
	}
	made := map[int]bool{} // records of the page's requests with this path
	_, miss := s.Await(ctx, steps.Wait{Conn: s.now.name, After: s.now.act - 1, Greeting: true,
		Match: func(r *transcript.Record) bool {
			switch {
			case r.Kind == transcript.Ask && r.Label == asking:
				made[r.N] = true
			case r.Kind == transcript.Answered && made[r.Reply]:
				return true
			}
			return false
		}})
	if miss != nil {
		s.Note("the page did not take the answer to %s: %s", asking, miss.Reason)
	}
	s.settle(ctx)
}

// requests returns the page's requests of a kind after a record: as received by its server, and as recorded by its
// browser, in the order in which they were made.
func (s *suite) requests(kind string, after int) (received, made []transcript.Record) {
	for _, r := range s.T.After(after) {
		switch {
		case r.Event == nil || r.Event.Type != kind:
		case r.Conn == s.now.server.party && r.Kind == transcript.Request:
			received = append(received, r)
		case r.Conn == s.now.name && r.Kind == transcript.Ask:
			made = append(made, r)
		}
	}
	return received, made
}

func data(r transcript.Record) fields {
	f, _ := r.Event.Data.(fields)
	return f
}
