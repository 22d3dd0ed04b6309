package passive

import (
	"slices"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/invariants"
)

// told judges messages to the frontend about agents and the session.
func (s *session) told(p judge.Message) {
	if p.Kind() == judge.RemoveFailed {
		s.notRemoved(p)
		return
	}
	i := slices.IndexFunc(ways, func(w way) bool { return w.told == p.Kind() })
	w := &ways[i]
	who := p.AgentID
	if w.subject == sessions {
		who = ""
	} else if who == "" {
		return
	}
	s.sameForm(w, p, map[judge.Kind]int{judge.Added: 127, judge.Removed: 116}[w.told])
	var requested []*procedure
	done, failed, doubted := 0, 0, false
	for _, c := range s.procs {
		if c.way.request == w.request && c.who == who && !c.over {
			done, failed, doubted = done+c.done, failed+c.failed, doubted || c.doubted
			if c.request.N > 0 {
				requested = append(requested, c)
			}
		}
	}
	switch {
	case len(requested) == 0 || doubted && done == 0:
	case done == 0:
		clauses := w.early
		if failed > 0 && w.request == vocab.RequestRemoveAgent {
			clauses = append(slices.Clone(clauses), 117)
		}
		s.broken(w.subject, p, "this once SessionManager has sent "+w.done, clauses...)
	default:
		s.kept(w.subject, p, w.result...)
		s.arrived(w, who, p, requested)
		s.round(requested[0].request, p)
	}
	for _, c := range requested {
		c.over = true
	}
	switch w.told {
	case judge.Closed:
		s.closing = true
	case judge.Removed:
		s.removes(who, p)
	case judge.Added:
		s.agents[who] = true
		delete(s.removed, who)
		if len(requested) > 0 && done > 0 && !doubted {
			s.arrives(who, p)
		}
	}
}

// arrived names the clauses that the addition of an agent shows to hold: nothing was sent to it before.
func (s *session) arrived(w *way, who string, p judge.Message, requested []*procedure) {
	if w.told == judge.Added && !slices.ContainsFunc(s.order, func(t *turn) bool {
		return t.agent == who && t.n > requested[0].request.N
	}) {
		s.kept(moves, p, 25, 122)
	}
}

// removes notes that an agent has left.
func (s *session) removes(who string, p judge.Message) {
	s.agents[who], s.removed[who] = false, true
	if s.active == who {
		if len(s.changes) == 1 && len(s.known()) > 0 && s.activeBy != byRoute {
			s.gone = p
		}
		s.unsure()
		return
	}
	s.changes = slices.DeleteFunc(s.changes, func(c *change) bool {
		return control(c.Message, vocab.RemoveAgent) && c.AgentID == who
	})
}

// known lists the agents that are in the session.
func (s *session) known() (out []string) {
	for a, in := range s.agents {
		if in {
			out = append(out, a)
		}
	}
	return out
}

// notRemoved judges REMOVE_AGENT_FAILED.
func (s *session) notRemoved(p judge.Message) {
	s.denied(p)
	for _, c := range s.procs {
		if c.told == judge.Removed && c.failed > 0 && !c.over && (c.who == p.AgentID || p.AgentID == "") {
			s.kept(moves, p, 44, 46, 117, 164)
			c.over = true
			s.expect(p, "", false) // what happens to the agent is unspecified
			s.unsure()
			return
		}
	}
	s.mayRefuse()
}

// mayRefuse notes an ERROR to the frontend that no other party has sent: what has not been requested of SessionManager
// may have been given up.
func (s *session) mayRefuse() {
	for _, c := range s.procs {
		c.refused = c.refused || c.request.N == 0
	}
}

// notThere judges an input for an agent that is not in the session.
func (s *session) notThere(in *input, p judge.Message) {
	if p.TargetID != in.who {
		s.broken(moves, p, "the input not routed: agent "+in.who+", which it mentions, is not in the session", 49, 86, 87)
		return
	}
	clauses := []int{49, 86, 87}
	if in.removed {
		clauses = append(clauses, 111)
	}
	for _, c := range s.procs {
		if c.told == judge.Added && c.who == in.who && c.request.N > 0 && c.done == 0 {
			clauses = append(clauses, 25, 122)
		}
	}
	s.broken(moves, p, "the input not routed: agent "+in.who+" is not in the session", clauses...)
}

// refused names the clauses that a notice to the frontend, or a request to SessionManager, shows to hold if an agent is
// absent.
func (s *session) refused(p judge.Message) {
	for _, in := range s.inputs {
		if in.form == 0 || !s.absent(in.who) || p.AgentID != "" && p.AgentID != in.who {
			continue
		}
		s.kept(moves, p, 49, 86, 87)
		if in.removed {
			s.kept(moves, p, 111)
		}
	}
}
