package model

import (
	"fmt"

	vocab "parley/protocol/agentselect"
)

// The retry of a refused switch (example 4 of the document): a switch is refused as busy, the page aborts the turn of
// that session, and requests the same switch again.

// refusedAsBusy notes that an error has ended a switch because a turn of its session was running.
func (p *page) refusedAsBusy(code string) {
	p.busy, p.aborted = nil, nil
	if code == vocab.AgentBusy && p.ended != nil && p.ended.session != "" && !p.ended.moved && p.sure() {
		p.busy = p.ended
	}
}

// aborts judges an abort after such a refusal: it names the session, which the page has named in its switch.
func (p *page) aborts(a *asking) {
	switch {
	case p.busy == nil || a.kind != vocab.AbortType || !p.ofThisStream(&asking{r: a.r, session: p.busy.session}):
	case member(a.r, vocab.SessionID) == nil:
		p.m.broken(retries, a.r, fmt.Sprintf("sessionId %q, whose turn kept the page from switching", p.busy.session),
			"AC-079", "AC-124")
	case a.session == p.busy.session:
		p.aborted = p.busy
	}
}

// tries notes a switch that is requested again after an abort.
func (p *page) tries(a *asking) {
	was := p.aborted
	p.busy, p.aborted = nil, nil
	a.again = was != nil && was.agent == a.agent && was.session == a.session
}
