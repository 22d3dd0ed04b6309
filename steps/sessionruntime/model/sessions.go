package model

import (
	"fmt"
	"slices"

	vocab "parley/protocol/sessionruntime"
)

// request is a SESSION_OPEN or SESSION_CLOSE (scenario H).
type request struct {
	asked Message
	close bool
	sent  Message // REQUEST_SESSION_OPEN or _CLOSE; N 0: not yet
	owed  *owed
	over  bool
	open  bool // a receipt has come that may be for it or for another one
}

// session handles the frontend's SESSION_OPEN or SESSION_CLOSE.
func (m *Model) session(d Message) {
	rq := &request{asked: d, close: d.Subtype == vocab.SessionClose}
	again := false
	for _, other := range m.requests {
		again = again || !other.over
	}
	m.requests = append(m.requests, rq)
	clauses := []string{"RT-020", "RT-036", "RT-151", "RT-153"}
	stopped := []string{"RT-153"} // the CANCEL already shows that it was accepted
	if m.was(RequestClose) {
		stopped = append(stopped, "RT-152")
	}
	if !rq.close {
		m.ask(rq, d, clauses, RequestOpen, again)
		return
	}
	var speaking, beside, may []*turn
	sure := map[*turn]bool{} // if several speak, one of them is asked to stop
	for _, t := range m.speakers() {
		sure[t] = t.shared && !t.passed && t.status != unclear
	}
	for _, t := range m.stop(d, []string{"RT-152"}, again, nil) {
		switch {
		case again: // it is left open whether another request is made meanwhile
			may = append(may, t)
		case m.mustStop(t):
			speaking = append(speaking, t)
		case sure[t]:
			beside = append(beside, t)
		default:
			may = append(may, t)
		}
	}
	goOn := func(cause Message, open bool) {
		others := len(m.speakers()) > 0 || m.unsure() // turns that began meanwhile may have to be stopped first
		m.ask(rq, cause, stopped, RequestClose, open || again || others)
		if others && rq.sent.N == 0 {
			m.closing = rq
		}
	}
	m.afterOne(beside, func(cause Message, open bool) { goOn(cause, open || len(may)+len(speaking) > 0) })
	m.after(speaking, func(cause Message, open bool) { goOn(cause, open || len(may) > 0) })
	if len(speaking)+len(beside) == 0 {
		m.ask(rq, d, clauses, RequestClose, again || len(may) > 0)
		if rq.owed.Optional { // a speaker may be stopped first
			m.closing = rq
		}
	} else { // no request before every speaker has been stopped
		m.closing = rq
		m.Hold(d, "RT-100", "RT-152", "RT-160")
	}
}

func (m *Model) ask(rq *request, cause Message, clauses []string, k Kind, optional bool) {
	if m.closing == rq {
		m.closing = nil
	}
	if rq.sent.N > 0 { // a request that came too early still counts
		return
	}
	if rq.owed != nil {
		if !rq.owed.Done {
			rq.owed.Optional, rq.owed.Cause = optional, cause
		}
		return
	}
	rq.owed = m.owe(k, &owed{What: "CONTROL " + string(k) + " to SYSTEM", Cause: cause, Clauses: clauses,
		Optional: optional, Match: kind(k), Shown: []string{"RT-020", "RT-036", "RT-151", "RT-152"},
		Amiss: m.elsewhere(cause, []string{"RT-153"}, func(p Message) bool {
			return p.Event == vocab.Control && (p.Subtype == vocab.RequestSessionOpen || p.Subtype == vocab.RequestSessionClose)
		}),
		Met: func(p Message) {
			rq.sent = p
			if m.closing == rq {
				m.closing = nil
			}
			m.Hold(p, "RT-154", "RT-160")
		}})
}

// answered handles SessionManager's receipt: the frontend must be told (RT-155).
func (m *Model) answered(d Message) {
	m.answers++
	rq, closed := m.answeredRequest(d)
	if closed {
		defer func() { m.Loose = true }()
	}
	told := func(p Message) bool { return TellsOfSession(p, d.Subtype) }
	unnamed := func(p Message) {
		if p.Kind() == Notice { // it may be about something else
			m.unnamed++
		}
	}
	if rq == nil {
		m.Allow(d, "sent to the frontend", told).Met = unnamed
		return
	}
	rq.over = true
	m.owe(Notice, &owed{What: "the result sent to the frontend, as EVENT or ERROR", Cause: d,
		Clauses: []string{"RT-045", "RT-046", "RT-155", "RT-166"}, Shown: []string{"RT-154", "RT-160"}, Match: told,
		Met: unnamed, Amiss: func() ([]string, string) {
			p, ok := m.InPlace(d.N, func(p Message) bool {
				return p.Subtype == d.Subtype || p.Kind() == Opened || p.Kind() == Closed
			})
			switch {
			case !ok:
				return nil, ""
			case p.Target == vocab.ToFrontend:
				return []string{"RT-155"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
			}
			return []string{"RT-046", "RT-155"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
		}})
}

// answeredRequest returns the request that a receipt is for, nil if that is left open, and whether the receipt closes
// the session.
func (m *Model) answeredRequest(d Message) (rq *request, closed bool) {
	fits := func(c *request) bool {
		return !c.over && (d.Subtype == vocab.SessionFailed || c.close == (d.Subtype == vocab.SessionClosed))
	}
	var meant []*request
	for _, c := range m.requests {
		if fits(c) && (d.Tx == "" || c.sent.N == 0 || c.sent.Tx == "" || d.Tx == c.sent.Tx) {
			meant = append(meant, c)
		}
	}
	if len(meant) > 1 && d.Tx == "" { // nothing says which one is meant
		for _, c := range meant {
			c.open = true
		}
	}
	if len(meant) == 0 {
		return nil, false
	}
	rq = meant[0]
	if rq.sent.N == 0 { // SessionManager was not asked
		rq.over = true
		return nil, false
	}
	closed = d.Subtype == vocab.SessionClosed
	if rq.open = rq.open || !d.echoes(rq.sent); rq.open {
		return nil, closed
	}
	return rq, closed
}

// straySession judges an uncalled-for request about the session.
func (m *Model) straySession(p Message) {
	if p.Kind() == RequestClose && m.closing != nil {
		m.closing.sent, m.closing = p, nil // it still counts as the request
		m.Fail(p, []string{"RT-152"}, "REQUEST_SESSION_CLOSE once the agent that is speaking has acknowledged the CANCEL",
			"it is requested before that")
		return
	}
	m.Fail(p, []string{"RT-153"}, "one request to SessionManager for each SESSION_OPEN or SESSION_CLOSE of the frontend",
		"%s without one, or a second time", p.Name())
}

// strayResult judges an uncalled-for result about the session.
func (m *Model) strayResult(p Message) {
	switch {
	case m.unnamed > 0:
		m.unnamed--
	case m.answers > 0:
		m.Fail(p, []string{"RT-155"}, "each result of SESSION_OPEN and SESSION_CLOSE sent once",
			"%s, which SessionManager has not sent, or a second time", p.Name())
	default:
		m.Fail(p, []string{"RT-154", "RT-155"},
			"the result of SESSION_OPEN and SESSION_CLOSE sent after SessionManager has reported it", "%s before that", p.Name())
	}
}

// TellsOfSession reports whether a message gives the frontend a session receipt of SessionManager. Its name is left
// open, but it is an EVENT or an ERROR (RT-155).
func TellsOfSession(p Message, receipt string) bool {
	switch p.Kind() {
	case Opened:
		return receipt == vocab.SessionOpened
	case Closed:
		return receipt == vocab.SessionClosed
	case Notice:
		return !slices.Contains(others, p.Subtype)
	case Failure:
		return receipt == vocab.SessionFailed
	}
	return false
}

// others are EVENTs to the frontend about other things.
var others = []string{vocab.AgentStarted, vocab.NobodySpeaks, vocab.CancelSent, vocab.AddingAgent, vocab.AgentRemoving,
	vocab.RemovedLocal, vocab.ActiveChanged}
