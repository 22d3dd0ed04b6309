package passive

import (
	"strconv"

	"golang.org/x/text/unicode/norm"

	judge "parley/steps/sessionruntime/model"
)

// otherForm reports whether two ids are the same text in different Unicode forms. Ids are compared byte by byte: who
// has given one does not recognise it in another form.
func otherForm(a, b string) bool { return a != b && norm.NFC.String(a) == norm.NFC.String(b) }

// inOtherForm returns the agent of the session whose id is given in another Unicode form; "" if there is none.
func (s *session) inOtherForm(id string) string {
	if _, known := s.agents[id]; !known {
		for a, in := range s.agents {
			if in && otherForm(a, id) {
				return a
			}
		}
	}
	return ""
}

// sameForm judges the id by which a message names an agent that is to be added or removed.
func (s *session) sameForm(w *way, p judge.Message, clause string) {
	if w.subject == sessions {
		return
	}
	who := ""
	for _, c := range s.procs {
		switch {
		case c.way.request != w.request || c.over:
		case c.who == p.AgentID:
			return
		case otherForm(c.who, p.AgentID):
			who = c.who
		}
	}
	if who != "" {
		s.broken(moves, p, "agent_id "+strconv.QuoteToASCII(who)+", as the agent is called, and not "+
			strconv.QuoteToASCII(p.AgentID), clause)
	}
}
