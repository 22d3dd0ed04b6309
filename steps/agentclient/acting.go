package agentclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/driver"
	"parley/driver/browser"
	"parley/driver/browser/look"
	"parley/internal/stall"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
)

// act has the user do something. What a person could not do is a *browser.ActError.
func (s *suite) act(ctx context.Context, p *page, label string, what fields) error {
	s.remember(p)
	limit := s.Env.Event()
	limited, cancel := stall.WithLimit(ctx, limit)
	defer cancel()
	n, err := p.conn.Send(limited, driver.Message{Label: label, Body: encode(what)})
	p.act = max(p.act, n)
	if err == nil {
		return nil
	}
	if limited.Err() != nil && ctx.Err() == nil {
		return &browser.ActError{Do: fmt.Sprint(what["do"]), On: fmt.Sprint(what["on"]), Why: fmt.Sprintf("the page has not come back from it within %s", steps.Span(limit))}
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

// does is act for what a scenario cannot go on without: where it cannot be done, these clauses are broken.
func (s *suite) does(ctx context.Context, p *page, label string, what fields, clauses ...string) error {
	if what["do"] == "click" {
		s.ready(ctx, p, what["on"].(string))
	}
	err := s.act(ctx, p, label, what)
	var cannot *browser.ActError
	if errors.As(err, &cannot) {
		return s.Need(steps.Check{Clauses: clauses, Expected: "a page on which " + label, Observed: cannot.Error(), At: s.T.Len()})
	}
	return err
}

// ready waits for a control that the user will click: what it waits for may still be on its way to the page.
func (s *suite) ready(ctx context.Context, p *page, on string) {
	usable := func(l *look.Look) bool { return l.Controls[on].Visible && !l.Controls[on].Disabled }
	l, at := s.latest(p)
	if on == session || l != nil && usable(l) {
		return
	}
	_, _ = s.awaitSight(ctx, p, steps.Wait{Conn: p.name, After: at, Match: func(r *transcript.Record) bool {
		l := lookOf(r, p)
		return l != nil && usable(l)
	}})
}

func click(on string) fields { return fields{"do": "click", "on": on} }

// settle lets the page carry out what it has begun.
func (s *suite) settle(ctx context.Context, p *page) {
	if e, ok := p.conn.(evident); ok {
		limited, cancel := stall.WithLimit(ctx, s.Env.Event())
		defer cancel()
		_ = e.Settle(limited)
	}
}

// remember keeps what is to be seen before something happens: what is told of it comes on top.
func (s *suite) remember(p *page) {
	p.unfenced = nil
	if l, _ := s.latest(p); l != nil {
		p.idle = l
	}
}

// latest is the latest look at a page, and the number of its record; nil where there is none yet.
func (s *suite) latest(p *page) (*look.Look, int) { return s.before(p, s.T.Len()) }

// before is the latest look at a page up to a record.
func (s *suite) before(p *page, mark int) (*look.Look, int) {
	all := s.T.All()
	for i := len(all) - 1; i >= 0; i-- {
		if l := lookOf(&all[i], p); l != nil && all[i].N <= mark {
			return l, all[i].N
		}
	}
	return nil, 0
}

func lookOf(r *transcript.Record, p *page) *look.Look {
	if r.Conn != p.name || r.Kind != transcript.Look || r.Event == nil {
		return nil
	}
	l, _ := r.Event.Data.(*look.Look)
	return l
}

// sees waits until the page looks as it should: why is "" then, and otherwise says what is wrong. The latest look counts too.
func (s *suite) sees(ctx context.Context, p *page, expected string, clauses []string, why func(*look.Look) string) error {
	_, err := s.saw(ctx, p, expected, clauses, why)
	return err
}

func (s *suite) saw(ctx context.Context, p *page, expected string, clauses []string, why func(*look.Look) string) (bool, error) {
	mark := max(p.act, p.word)
	if l, _ := s.before(p, mark); l != nil && why(l) == "" { // as it was: whether it stays so shows once everything is handled
		if err := s.fence(ctx, p); err != nil {
			return false, err
		}
		if l, n := s.latest(p); why(l) == "" {
			return true, s.Judge(steps.Check{Clauses: clauses, OK: true, Expected: expected, At: n})
		}
	}
	last, n := "nothing of the page was seen", 0
	if l, at := s.latest(p); l != nil {
		last, n = why(l), at
	}
	r, miss := s.awaitSight(ctx, p, steps.Wait{Conn: p.name, After: mark, Match: func(r *transcript.Record) bool {
		l := lookOf(r, p)
		if l == nil {
			return false
		}
		last, n = why(l), r.N
		return last == ""
	}})
	if miss == nil {
		n = r.N
	} else if miss.At > 0 {
		last, n = miss.Reason, miss.At
	}
	c := steps.Check{Clauses: clauses, OK: miss == nil, Expected: expected, Observed: last, At: n}
	if miss == nil {
		return true, s.Judge(c)
	}
	return false, s.Need(c)
}

// keeps judges how the page looks once everything that it was told has been handled.
func (s *suite) keeps(ctx context.Context, p *page, expected string, clauses []string, why func(*look.Look) string) error {
	after := max(p.word, p.act)
	if err := s.fence(ctx, p); err != nil {
		return err
	}
	for _, r := range s.T.After(after) {
		l := lookOf(&r, p)
		if l == nil {
			continue
		}
		if wrong := why(l); wrong != "" {
			return s.Need(steps.Check{Clauses: clauses, Expected: expected, Observed: wrong, At: r.N})
		}
	}
	l, n := s.latest(p)
	if l == nil {
		return steps.NotTestedf("nothing of the page was seen")
	}
	wrong := why(l)
	return s.Need(steps.Check{Clauses: clauses, OK: wrong == "", Expected: expected, Observed: wrong, At: n})
}

// shows is the key under which a run learns whether the target shows what is said in the chat, by which a fence is told.
type shows struct{ session bool }

// lateness is how long a page that has nothing else to do may take to show something: so long it is waited for without a fence, and
// for twice that behind one.
const lateness = time.Second

// awaitSight waits for what a page should show. Once it shows a message that it was sent later, it has handled all that came before,
// and is given little more time: what it shows later than that hangs on nothing that it was told. Where there is no fence, the
// event limit holds.
func (s *suite) awaitSight(ctx context.Context, p *page, w steps.Wait) (transcript.Record, *steps.Miss) {
	within := s.Env.Event()
	if within <= 3*lateness {
		return s.Await(ctx, w)
	}
	w.Within = lateness
	if rec, miss := s.Await(ctx, w); miss == nil || miss.At > 0 {
		return rec, miss
	}
	w.Within = within
	if p.server.stream() == nil {
		return s.Await(ctx, w)
	}
	p.unfenced, _ = s.latest(p)
	if err := s.fence(ctx, p); err != nil {
		w.Within = lateness
	} else if known, ok := s.Env.Learnt.Load(shows{p.session != ""}); ok && known.(bool) {
		w.Within = 2 * lateness
	}
	return s.Await(ctx, w)
}

// fence waits until the page has handled what the server has told it: a message in the chat is to be seen by then. A page that
// shows none is given the quiet window.
func (s *suite) fence(ctx context.Context, p *page) error {
	s.settle(ctx, p)
	st := p.server.stream()
	key := shows{p.session != ""}
	if known, ok := s.Env.Learnt.Load(key); st == nil || ok && !known.(bool) {
		return s.quiet(ctx, p)
	}
	text := fmt.Sprintf("fence-%d-%s", s.Serial(), s.Nonce)
	data := fields{"role": "assistant", "content": text}
	if p.session != "" {
		data["sessionId"] = p.session
	}
	n, err := st.Emit(ctx, vocab.MessageEvent, p.server.event(vocab.MessageEvent, data, stamp(time.Now())))
	if err != nil {
		return s.quiet(ctx, p)
	}
	within := s.Env.Event()
	if _, ok := s.Env.Learnt.Load(key); !ok {
		within = min(within, max(4*s.Env.Profile.Limits.Quiet.Duration, within/2))
	}
	_, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: n, Within: within, Match: func(r *transcript.Record) bool {
		l := lookOf(r, p)
		return l != nil && strings.Contains(l.Text, text)
	}})
	if miss == nil {
		s.Env.Learnt.Store(key, true)
		s.settle(ctx, p)
		return nil
	}
	if known, ok := s.Env.Learnt.Load(key); ok && known.(bool) {
		return steps.NotTestedf("fence: a message in the chat did not show, so absence cannot be proved: %s", miss.Reason)
	}
	s.Env.Learnt.Store(key, false)
	return nil
}

// quiet stands in for a fence.
func (s *suite) quiet(ctx context.Context, p *page) error {
	before := s.T.Len()
	_, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: before, Within: s.Env.Profile.Limits.Quiet.Duration, Match: func(*transcript.Record) bool { return false }})
	if miss != nil && miss.At > 0 {
		return steps.NotTestedf("the page has ended: %s", miss.Reason)
	}
	s.settle(ctx, p)
	return nil
}

// emit has the server tell the page something. A scenario of which the page has closed the stream cannot go on.
func (s *suite) emit(ctx context.Context, p *page, kind string, data fields) error {
	st := p.server.stream()
	if st == nil {
		return steps.NotTestedf("the page has no event stream open")
	}
	s.remember(p)
	var at any
	p.emitted = time.Now()
	if !p.at.IsZero() {
		at = stamp(p.at)
	}
	n, err := st.Emit(ctx, kind, p.server.event(kind, data, at))
	if err != nil {
		return steps.NotTestedf("the page has closed its event stream: %v", err)
	}
	p.word = n
	return nil
}

// stamp is a time as the sources write it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// clock gives the server a time that no other event has, and that no clock of this machine shows.
func (s *suite) clock(p *page) {
	n := s.Serial()
	p.at = time.Date(2025, 12, 30, 3, (time.Now().Minute()+10+n%15)%60, (7*n+5)%60, 123_000_000, time.UTC)
}

// awaits waits for a request of the page, from the mark on.
func (s *suite) awaits(ctx context.Context, p *page, kind string, after int) (transcript.Record, *steps.Miss) {
	return s.Await(ctx, steps.Wait{Conn: p.server.party, After: after, Match: func(r *transcript.Record) bool {
		return r.Dir == transcript.Received && r.Kind == transcript.Request && r.Event != nil && r.Event.Type == kind
	}})
}

// answered waits until the page has been given the answer to its request, and has had the time to take it in.
func (s *suite) answered(ctx context.Context, p *page, request int) error {
	var asking string // how the browser tells of it
	for _, r := range s.T.All() {
		if r.N == request {
			method, path, _ := strings.Cut(r.Label, " ")
			asking = method + " " + p.server.l.URL() + path
		}
	}
	asked := map[int]bool{} // records of the page's requests of this path
	_, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: p.act - 1, Match: func(r *transcript.Record) bool {
		switch {
		case r.Kind == transcript.Ask && r.Label == asking:
			asked[r.N] = true
		case r.Kind == transcript.Answered && asked[r.Reply]:
			return true
		}
		return false
	}})
	if miss != nil {
		s.Note("the page did not take the answer to %s: %s", asking, miss.Reason)
	}
	s.settle(ctx, p)
	return nil
}

// requests are the page's requests of a kind between two records, as its server has got them.
func (s *suite) requests(p *page, kind string, after, before int) []transcript.Record {
	var out []transcript.Record
	for _, r := range s.T.After(after) {
		if (before == 0 || r.N < before) && r.Conn == p.server.party && r.Kind == transcript.Request && r.Event != nil && r.Event.Type == kind {
			out = append(out, r)
		}
	}
	return out
}

// asksOf are the page's requests of a kind from a record on, as its browser has told of them, in the order in which they were made.
func (s *suite) asksOf(p *page, kind string, after int) []transcript.Record {
	var out []transcript.Record
	for _, r := range s.T.After(after) {
		if r.Conn == p.name && r.Kind == transcript.Ask && r.Event != nil && r.Event.Type == kind {
			out = append(out, r)
		}
	}
	return out
}

func data(r transcript.Record) fields {
	f, _ := r.Event.Data.(fields)
	return f
}
