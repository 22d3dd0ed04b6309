package passive

import (
	"slices"
	"strconv"
	"strings"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/model"
	wjson "parley/transport/wire/json"
)

// The causes that make an agent active.
const (
	bySetUp   = "set-up"
	bySwitch  = "switch"
	byMention = "mention"
	byRoute   = "route" // an input was routed to it
)

// change is a message that may change the active agent.
type change struct {
	judge.Message
	who     string // the agent that becomes active; "": unknown
	passing bool   // it takes effect when it is handled, or not at all
	progress
}

func number(n int) string { return strconv.Itoa(n) }

// expect notes a cause of a change.
func (s *session) expect(m judge.Message, who string, passing bool) {
	if len(s.changes) >= mostDue {
		return
	}
	c := &change{Message: m, who: who, passing: passing}
	c.since, c.from = m.N, m.At
	s.changes = append(s.changes, c)
}

// sure returns the active agent, and whether no message in progress may change it.
func (s *session) sure() (string, bool) {
	s.changes = slices.DeleteFunc(s.changes, func(c *change) bool { return c.passing && c.handled(s.at) })
	return s.active, s.active != "" && len(s.changes) == 0
}

// switchTo handles a SWITCH_AGENT of the frontend.
func (s *session) switchTo(m judge.Message) {
	to := data(m, judge.SwitchTo)
	if m.Data[judge.Trigger] != nil && to == s.active && wjson.Equal(m.Payload, s.last.Payload) {
		return // the bus returns published messages
	}
	was, sure := s.sure()
	live := slices.ContainsFunc(s.order, (*turn).live)
	s.stir(m)
	if sure && to == was {
		s.expect(m, to, true)
		return
	}
	s.expect(m, to, true)
	if !firm(m, false) || to == "" {
		return
	}
	if sure && s.present(to) {
		s.owe(&due{subject: active, cause: m, what: "CONTROL SWITCH_AGENT to " + to + " published",
			clauses: []string{"RT-006", "RT-032", "RT-063", "RT-065"},
			met:     func(p judge.Message) bool { return p.Subtype == vocab.SwitchAgent && data(p, judge.SwitchTo) == to },
			excused: func(o judge.Message) bool {
				return news(o) || o.Delivered && (o.Event == vocab.Control && o.Subtype != vocab.InputAck ||
					o.Event == vocab.UserInput)
			}})
	}
	if live {
		s.owe(&due{subject: active, cause: m, what: "a SWITCH_AGENT while a turn is in flight not refused as busy",
			late: []string{"RT-176"}, met: func(p judge.Message) bool {
				return p.Event == vocab.Error && (strings.EqualFold(p.Subtype, "agent_busy") ||
					strings.EqualFold(data(p, "code"), "agent_busy"))
			}, excused: func(o judge.Message) bool { return o.Delivered && o.Event != vocab.AgentOutput }})
	}
}

// switched judges a published SWITCH_AGENT.
func (s *session) switched(p judge.Message) {
	if p.Event != vocab.Control {
		return
	}
	from, to := data(p, judge.SwitchFrom), data(p, judge.SwitchTo)
	for _, name := range []string{judge.SwitchFrom, judge.SwitchTo, judge.Reason, judge.Trigger} {
		if _, there := p.Data[name]; !there {
			s.broken(active, p, "SWITCH_AGENT with from, to, reason and trigger: "+name+" is missing", "RT-066")
			return
		}
	}
	public := p.Target == vocab.ToSystem || p.Target == vocab.ToBroadcast
	if public {
		s.kept(active, p, "RT-066", "RT-091", "RT-167", "RT-006")
	} else {
		s.onlyThere(p, to)
	}
	copied := s.last.N > 0 && data(s.last, judge.SwitchFrom) == from && data(s.last, judge.SwitchTo) == to
	if public {
		s.public[to] = p.N
	}
	if copied {
		return
	}
	s.byHandover(p, to)
	was, known := s.active, s.active != "" && (s.activeBy == bySwitch || s.activeBy == bySetUp)
	if known && len(s.changes) <= 1 && from != "" && from != was && from != to && !s.hidden {
		s.broken(active, p, "from "+was+", which was the active agent", "RT-066", "RT-048")
	}
	s.because(p, to)
	s.last, s.gone = p, judge.Message{}
	if to != "" {
		s.active, s.activeBy = to, bySwitch
	} else {
		s.active, s.activeBy = "", ""
	}
}

// because finds the cause of a switch, and the clauses that it shows to hold.
func (s *session) because(p judge.Message, to string) {
	i := slices.IndexFunc(s.changes, func(c *change) bool { return c.who == to && c.who != "" })
	if i < 0 {
		i = slices.IndexFunc(s.changes, func(c *change) bool { return c.who == "" })
	}
	if i < 0 {
		return
	}
	c := s.changes[i]
	s.changes = slices.Delete(s.changes, i, i+1)
	switch {
	case control(c.Message, vocab.SwitchAgent):
		s.answersAbout(to)
		s.kept(active, p, "RT-032", "RT-063", "RT-065")
		if slices.ContainsFunc(s.order, (*turn).live) {
			s.kept(active, p, "RT-176")
		}
	case control(c.Message, vocab.RemoveAgent) && data(p, judge.SwitchFrom) == c.AgentID:
		s.kept(active, p, "RT-112", "RT-065")
	case c.Event == vocab.UserInput:
		for _, in := range s.inputs {
			if in.N == c.N {
				s.kept(active, p, "RT-089", "RT-090", "RT-065")
			}
		}
	}
}

// onlyThere judges a SWITCH_AGENT to another target: it must also be on SYSTEM or BROADCAST.
func (s *session) onlyThere(p judge.Message, to string) {
	if p.Target == vocab.ToSession || s.public[to] > 0 && s.active == to {
		return
	}
	s.owe(&due{subject: active, cause: p, what: "SWITCH_AGENT on SYSTEM or BROADCAST", clauses: []string{"RT-091",
		"RT-167"},
		met: func(o judge.Message) bool {
			return control(o, vocab.SwitchAgent) && data(o, judge.SwitchTo) == to &&
				(o.Target == vocab.ToSystem || o.Target == vocab.ToBroadcast || o.Target == vocab.ToSession)
		}})
}

// toAgent judges which agent an input is routed to.
func (s *session) toAgent(in *input, p judge.Message) {
	if in.Target == vocab.ToBroadcast {
		return
	}
	if in.form != "" {
		s.toMentioned(in, p)
		return
	}
	now, sure := s.sure()
	if in.plain && s.gone.N > 0 && in.N > s.gone.N && in.quiet && s.present(p.TargetID) {
		to := p.TargetID
		s.owe(&due{subject: active, cause: p, what: "SWITCH_AGENT from " + s.gone.AgentID +
			", which was active and was removed, before an input goes to another agent", clauses: []string{"RT-065",
			"RT-112"},
			met: func(o judge.Message) bool { return o.Subtype == vocab.SwitchAgent && data(o, judge.SwitchTo) == to }})
		s.gone = judge.Message{}
	}
	switch {
	case !in.plain || in.active == "" || !sure || now != in.active:
	case p.TargetID == now:
		s.kept(active, p, "RT-069", "RT-048", "RT-014")
		switch in.by {
		case bySwitch:
			s.kept(active, p, "RT-063", "RT-064")
		case byMention:
			s.kept(active, p, "RT-088")
		}
	case in.by == byRoute || s.hidden || !in.quiet || !s.present(now): // it may have been the default agent this time
	default:
		clauses := []string{"RT-014", "RT-048", "RT-069"}
		switch in.by {
		case bySwitch:
			clauses = append(clauses, "RT-063", "RT-064")
		case byMention:
			clauses = append(clauses, "RT-088")
		}
		to := p.TargetID
		s.owe(&due{subject: active, cause: p, what: "the input for the active agent, which is " + now, clauses: clauses,
			met: func(o judge.Message) bool { return o.Subtype == vocab.SwitchAgent && data(o, judge.SwitchTo) == to }})
		s.unsure()
	}
	if s.active == "" && len(s.changes) == 0 && in.plain && s.present(p.TargetID) {
		s.active, s.activeBy = p.TargetID, byRoute
	}
	s.agents[p.TargetID] = s.agents[p.TargetID] || !s.listed
}

// unsure forgets which agent is active.
func (s *session) unsure() { s.active, s.activeBy = "", "" }

// toMentioned judges an input that mentions an agent.
func (s *session) toMentioned(in *input, p judge.Message) {
	s.changes = slices.DeleteFunc(s.changes, func(c *change) bool { return c.N == in.N })
	switch {
	case s.absent(in.who):
		s.notThere(in, p)
		return
	case !s.present(in.who):
		s.unsure()
		return
	case p.TargetID != in.who && s.present(p.TargetID):
		s.broken(inputs, p, "the input for agent "+in.who+", which it mentions", in.form, "RT-086", "RT-092")
		return
	case p.TargetID == in.who:
		s.kept(inputs, p, in.form, "RT-086", "RT-092")
	}
	if in.active != "" && in.active != in.who && in.quiet && s.last.N < in.N && len(s.changes) == 0 {
		s.owe(&due{subject: active, cause: p, what: "SWITCH_AGENT before the input is routed", late: []string{"RT-090"},
			clauses: []string{"RT-065", "RT-089"}, met: func(o judge.Message) bool {
				return o.Subtype == vocab.SwitchAgent && data(o, judge.SwitchTo) == in.who
			}})
	}
	s.active, s.activeBy = in.who, byMention
}
