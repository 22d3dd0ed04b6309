package passive

import (
	"slices"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/model"
)

// arrival is an agent that the orchestrator has announced as added, since when nothing shows that it has left.
type arrival struct {
	n       int  // the record of AGENT_ADDED
	leaving int  // requests to remove it since
	clean   bool // no request about it from before may still be answered
}

// concerns returns the agent that a delivered request is about; "" if it is about none.
func concerns(m judge.Message) string {
	switch {
	case m.Event == vocab.UserInput:
		who, _ := mentioned(m)
		return who
	case control(m, vocab.SwitchAgent):
		return data(m, judge.SwitchTo)
	case control(m, vocab.RemoveAgent):
		return m.AgentID
	case control(m, vocab.HandoverRequest, vocab.HandoverConfirm):
		return m.TargetAgent
	}
	return ""
}

// concern notes a request about an agent.
func (s *session) concern(m judge.Message) {
	who := concerns(m)
	if who != "" && len(s.concerned) < mostTurns {
		s.concerned[who] = append(s.concerned[who], m.ID)
	}
	switch a := s.arrivals[who]; {
	case control(m, vocab.SessionClose):
		clear(s.arrivals)
	case control(m, vocab.RemoveAgent) && a != nil:
		a.leaving++
	case control(m, vocab.RemoveAgentDone, vocab.RemoveAgentFailed):
		delete(s.arrivals, m.AgentID)
	}
}

// arrives notes AGENT_ADDED.
func (s *session) arrives(who string, p judge.Message) {
	if len(s.arrivals) < mostTurns {
		s.arrivals[who] = &arrival{n: p.N, clean: len(s.concerned[who]) == 0 && len(s.concerned) < mostTurns}
	}
}

// denied judges an ERROR that says that an agent is not in the session.
func (s *session) denied(p judge.Message) {
	object, _ := p.Payload.(map[string]any)
	if p.Subtype != vocab.AgentNotFound && object["code"] != vocab.AgentNotFound {
		return
	}
	texts := append(textsOf([]any{p.Payload, p.Metadata}), p.AgentID)
	var named []string
	for who, ids := range s.concerned {
		if len(ids) > 0 && slices.ContainsFunc(texts, func(t string) bool {
			return t != "" && (t == who || slices.Contains(ids, t))
		}) {
			named = append(named, who)
		}
	}
	for _, who := range named {
		a, pending := s.arrivals[who], len(s.concerned[who])
		s.answersAbout(who)
		switch {
		case a == nil || !a.clean || len(named) > 1 || s.faultIn(p) >= 0:
		case a.leaving == 0:
			s.broken(moves, p, "agent "+who+" taken for one of the session: AGENT_ADDED, record "+number(a.n),
				"RT-049", "RT-086")
		case a.leaving == 1 && pending == 1:
			s.broken(moves, p, "agent "+who+" removed, which is one of the session: AGENT_ADDED, record "+number(a.n),
				"RT-049", "RT-110")
		}
	}
}

// answersAbout notes that a request about an agent was answered.
func (s *session) answersAbout(who string) {
	if ids := s.concerned[who]; len(ids) > 0 {
		s.concerned[who] = ids[1:]
	}
}
