package sessionruntime

import (
	"fmt"
	"slices"

	vocab "parley/protocol/sessionruntime"
)

// request is a SESSION_OPEN or SESSION_CLOSE on its way (scenario H).
type request struct {
	asked Message
	close bool
	sent  Message // REQUEST_SESSION_OPEN or _CLOSE; N 0: not yet
	owed  *owed
	over  bool
}

// session is the frontend's SESSION_OPEN or SESSION_CLOSE.
func (m *Model) session(d Message) {
	rq := &request{asked: d, close: d.Subtype == vocab.SessionClose}
	again := false
	for _, other := range m.requests {
		again = again || !other.over
	}
	m.requests = append(m.requests, rq)
	clauses := []string{"RT-020", "RT-036", "RT-151", "RT-153"}
	stopped := []string{"RT-153"} // that it was accepted shows by the CANCEL
	if m.was(RequestClose) {
		stopped = append(stopped, "RT-152")
	}
	if !rq.close {
		m.ask(rq, d, clauses, RequestOpen, again)
		return
	}
	var speaking, beside, may []*turn
	sure := map[*turn]bool{} // of several that speak, one is asked to stop
	for _, t := range m.speakers() {
		sure[t] = t.shared && !t.passed && t.status != unclear
	}
	for _, t := range m.stop(d, []string{"RT-152"}, again, nil) {
		switch {
		case m.mustStop(t):
			speaking = append(speaking, t)
		case sure[t]:
			beside = append(beside, t)
		default:
			may = append(may, t)
		}
	}
	m.afterOne(beside, func(cause Message, open bool) {
		m.ask(rq, cause, stopped, RequestClose, open || again || len(may)+len(speaking) > 0)
	})
	m.after(speaking, func(cause Message, open bool) {
		m.ask(rq, cause, stopped, RequestClose, open || again || len(may) > 0)
	})
	if len(speaking)+len(beside) == 0 {
		m.ask(rq, d, clauses, RequestClose, again || len(may) > 0)
	} else { // no request while a speaker has not been stopped
		m.closing = rq
		m.hold(d, "RT-152")
	}
}

func (m *Model) ask(rq *request, cause Message, clauses []string, k Kind, optional bool) {
	if m.closing == rq {
		m.closing = nil
	}
	if rq.sent.N > 0 { // too early, and it is the request all the same
		return
	}
	if rq.owed != nil {
		if !rq.owed.done {
			rq.owed.optional, rq.owed.cause = optional, cause
		}
		return
	}
	rq.owed = m.owe(&owed{what: "CONTROL " + string(k) + " to SYSTEM", cause: cause, clauses: clauses, optional: optional, match: kind(k), of: k,
		amiss: m.elsewhere(cause, []string{"RT-153"}, func(p Message) bool {
			return p.Event == vocab.Control && (p.Subtype == vocab.RequestSessionOpen || p.Subtype == vocab.RequestSessionClose)
		}),
		met: func(p Message) { rq.sent = p; m.hold(p, "RT-154") }})
}

// answered is SessionManager's receipt: the frontend is told (RT-155).
func (m *Model) answered(d Message) {
	m.answers++
	var rq *request
	for _, c := range m.requests {
		fits := d.Subtype == vocab.SessionFailed || c.close == (d.Subtype == vocab.SessionClosed)
		if !c.over && c.sent.N == 0 && fits { // SessionManager answers what it has not been asked
			c.over = true
			break
		}
		if !c.over && fits && (d.Tx == "" || c.sent.Tx == "" || d.Tx == c.sent.Tx) {
			rq = c
			break
		}
	}
	told := func(p Message) bool { return TellsOfSession(p, d.Subtype) }
	unnamed := func(p Message) {
		if p.Kind() == Notice { // it may have been about something else
			m.unnamed++
		}
	}
	if rq == nil {
		m.allow(d, "told to the frontend", told).met = unnamed
		return
	}
	rq.over = true
	if rq.close && d.Subtype == vocab.SessionClosed {
		defer func() { m.loose = true }()
	}
	m.owe(&owed{what: "the result told to the frontend, as EVENT or ERROR", cause: d, clauses: []string{"RT-045", "RT-046", "RT-155", "RT-166"}, shown: []string{"RT-154"}, match: told,
		met: unnamed, amiss: func() ([]string, string) {
			p, ok := m.inPlace(d, func(p Message) bool { return p.Subtype == d.Subtype || p.Kind() == Opened || p.Kind() == Closed })
			switch {
			case !ok:
				return nil, ""
			case p.Target == vocab.ToFrontend:
				return []string{"RT-155"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
			}
			return []string{"RT-046", "RT-155"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
		}})
}

// TellsOfSession tells whether a message gives the frontend a receipt of SessionManager's about the session. How it is called is
// left open, but for EVENT or ERROR (RT-155).
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

// others are EVENTs to the frontend about something else.
var others = []string{vocab.AgentStarted, vocab.NobodySpeaks, vocab.CancelSent, vocab.AddingAgent, vocab.AgentRemoving, vocab.RemovedLocal, vocab.ActiveChanged}
