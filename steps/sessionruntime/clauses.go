package sessionruntime

import (
	"strings"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/model"
)

// A message that is missing or wrong breaks only the clauses that it proves broken: they depend on what was requested
// and what happened before. A message that is present proves more than its absence would disprove, so a step may keep
// more clauses than it can break.

// delivered returns the messages that the harness sent in the current session after a record.
func (s *suite) delivered(after int, match func(judge.Message) bool) (out []judge.Message) {
	for _, r := range s.T.After(max(after, s.now.began)) {
		if m, ok := judge.Read(r); ok && m.Delivered && s.belongs(m, s.now) && !strings.HasPrefix(r.Label, judge.Back) &&
			match(m) {
			out = append(out, m)
		}
	}
	return out
}

func (s *suite) hasDelivered(after int, match func(judge.Message) bool) bool {
	return len(s.delivered(after, match)) > 0
}

// latest returns the last delivered message of the current session that matches; the zero message if there is none.
func (s *suite) latest(match func(judge.Message) bool) judge.Message {
	if all := s.delivered(0, match); len(all) > 0 {
		return all[len(all)-1]
	}
	return judge.Message{}
}

func anything(judge.Message) bool { return true }

// control matches a CONTROL with one of the subtypes.
func control(subtypes ...string) func(judge.Message) bool {
	return func(m judge.Message) bool {
		for _, name := range subtypes {
			if m.Event == vocab.Control && m.Subtype == name {
				return true
			}
		}
		return false
	}
}

// onlyObserved reports whether the latest message was on BROADCAST and not from an agent: it must have no
// consequences.
func (s *suite) onlyObserved() bool {
	m := s.latest(anything)
	return m.Target == vocab.ToBroadcast && (m.From == judge.Frontend || m.From == judge.Manager || m.From == judge.Logger)
}

// broadcast returns the clauses about an agent's message on BROADCAST, if the same kind of message was sent elsewhere
// before. That one was accepted, or the scenario would have ended.
func (s *suite) broadcast(m judge.Message) []string {
	if m.Target != vocab.ToBroadcast {
		return nil
	}
	for _, r := range s.T.All() {
		if twin, ok := judge.Read(r); ok && twin.Delivered && twin.N < m.N && twin.Event == m.Event &&
			twin.Subtype == m.Subtype && twin.Target != vocab.ToBroadcast {
			return []string{"RT-042", "RT-168"}
		}
	}
	return nil
}

// was reports whether a message of a kind was published before, in any session: then its absence is stronger evidence.
func (s *suite) was(k judge.Kind) bool {
	for _, r := range s.Between(bus, 0, 0) {
		if m, ok := judge.Read(r); ok && m.Kind() == k {
			return true
		}
	}
	return false
}

// unrouted returns the clauses broken when an input is not routed.
func (s *suite) unrouted(in *input) []string {
	clauses := []string{"RT-001", "RT-013", "RT-015", "RT-067", "RT-075"}
	if in.structured {
		clauses = append(clauses, "RT-030", "RT-068")
	}
	if in.form != nil {
		clauses = append(clauses, "RT-030", "RT-049", "RT-086", "RT-092")
	}
	for _, other := range s.now.inputs { // however that turn ended, the next input must be routed
		switch other.ended {
		case "time-out":
			clauses = append(clauses, "RT-079")
		case "cancel":
			clauses = append(clauses, "RT-103", "RT-104")
		case "final":
			clauses = append(clauses, "RT-145")
		}
	}
	return clauses
}

// misrouted returns the clauses broken when an input goes to another agent, by what made the right one active.
func (s *suite) misrouted(in *input, to judge.Message) []string {
	switch {
	case to.TargetID == "":
		return []string{"RT-015", "RT-075"}
	case in.form != nil:
		return append([]string{"RT-015", "RT-049", "RT-092"}, in.form...)
	}
	return append([]string{"RT-014", "RT-015", "RT-048", "RT-069"}, s.changed(in)...)
}

// changed returns the clauses about the last event before an input that made an agent active, or must not have.
func (s *suite) changed(in *input) (clauses []string) {
	act := s.latest(func(m judge.Message) bool {
		return m.N < in.said && (names(m) || m.From == judge.Manager ||
			control(vocab.SwitchAgent, vocab.HandoverRequest, vocab.HandoverConfirm, vocab.HandoverReject)(m))
	})
	switch {
	case act.N == 0 && s.now.anew:
		clauses = append(clauses, "RT-064")
	case act.N == 0:
	case act.Target == vocab.ToBroadcast && act.Event != vocab.UserInput:
		clauses = append(clauses, "RT-028")
	case act.Event == vocab.UserInput && s.absent(act):
		clauses = append(clauses, "RT-048", "RT-049", "RT-086") // the named agent has not become active
	case act.Event == vocab.UserInput:
		clauses = append(clauses, "RT-063", "RT-064", "RT-088")
	case act.Subtype == vocab.SwitchAgent:
		clauses = append(clauses, "RT-063", "RT-064")
	case act.Subtype == vocab.HandoverRequest:
		clauses = append(clauses, "RT-133")
	case act.Subtype == vocab.HandoverConfirm:
		clauses = append(clauses, "RT-063", "RT-064", "RT-134")
	case act.Subtype == vocab.HandoverReject:
		clauses = append(clauses, "RT-133", "RT-137")
	case act.Subtype == vocab.RemoveAgentDone:
		clauses = append(clauses, "RT-063", "RT-064", "RT-112")
	}
	return clauses
}

// beside returns the clause about concurrent transactions, if another with the same result was reported already and
// several were requested.
func (s *suite) beside(what string) []string {
	if s.now.told[what] && len(s.delivered(0, control(vocab.RemoveAgent, vocab.InviteAgent))) > 1 {
		return []string{"RT-062"}
	}
	return nil
}

// names reports whether an input mentions an agent.
func names(m judge.Message) bool {
	return m.Data["mention"] != nil || hasMember(m.Payload, "mentioned_agent_id")
}

// hasMember reports whether an object has a member.
func hasMember(v any, name string) bool {
	object, _ := v.(map[string]any)
	_, there := object[name]
	return there
}

// absent reports whether an input mentions an agent that was not in the session at set-up.
func (s *suite) absent(m judge.Message) bool {
	for _, letter := range s.now.agents {
		if judge.Mentions(m, s.agent(letter)) || m.Data["mention"] == s.agent(letter) {
			return false
		}
	}
	return true
}

// stops returns the clauses broken when no CANCEL comes, and the request that asks for one.
func (s *suite) stops(in *input) (clauses []string, asked judge.Message) {
	asked = s.latest(func(m judge.Message) bool {
		return m.From == judge.Frontend && control(vocab.Cancel, vocab.Interrupt, vocab.RemoveAgent, vocab.SessionClose)(m)
	})
	switch asked.Subtype {
	case vocab.RemoveAgent:
		clauses = []string{"RT-060", "RT-106", "RT-109"}
	case vocab.SessionClose:
		clauses = []string{"RT-152"}
	case vocab.Interrupt:
		clauses = []string{"RT-004", "RT-016", "RT-031", "RT-095", "RT-099"}
	default:
		clauses = []string{"RT-004", "RT-016", "RT-031", "RT-099"}
	}
	if s.was(judge.CancelSent) { // an earlier speaker got a CANCEL
		clauses = append(clauses, "RT-142")
		if in.agent != s.agent(s.now.active) {
			clauses = append(clauses, "RT-050")
		}
	}
	return clauses, asked
}

// foreign reports whether another agent sent output in a turn after a record.
func (s *suite) foreign(in *input, after int) bool {
	return s.hasDelivered(after, func(m judge.Message) bool {
		return m.Event == vocab.AgentOutput && m.Turn == in.turn && m.From != in.agent
	})
}

// unforwarded returns the clauses broken when the latest output of a turn is not forwarded.
func (s *suite) unforwarded(in *input) []string {
	clauses := append([]string{"RT-002", "RT-039", "RT-082", "RT-139", "RT-140"}, s.broadcast(in.last.sent)...)
	if in.last.sent.Final && !in.last.sent.Chunk {
		clauses = append(clauses, "RT-146")
	}
	since := in.routed
	if in.passed > 0 {
		since = in.passed
	}
	if s.foreign(in, since) {
		clauses = append(clauses, "RT-141")
	}
	for _, other := range s.now.inputs {
		if other != in && other.passed > 0 && other.ended == "" { // each turn has its own speaker
			return append(clauses, "RT-052", "RT-142")
		}
	}
	return clauses
}

// kept returns the clauses that forbid forwarding an output, by what is wrong with it.
func (s *suite) kept(in *input) []string {
	switch {
	case in.turn == "":
		return []string{"RT-052", "RT-141"}
	case in.last.sent.From != in.agent:
		return []string{"RT-141"}
	}
	switch in.ended {
	case "time-out":
		return []string{"RT-079", "RT-141"}
	case "cancel":
		return []string{"RT-104", "RT-141", "RT-162"}
	case "final":
		return []string{"RT-056", "RT-141"}
	}
	return []string{"RT-141"}
}

// absence returns the clauses judged by the absence of a kind of message, by what was done last.
func (s *suite) absence(k judge.Kind) []string {
	if s.onlyObserved() {
		return []string{"RT-028"}
	}
	act := s.latest(anything)
	done := func(subtypes ...string) bool { return control(subtypes...)(act) }
	switch k {
	case judge.CancelSent:
		return s.unspoken()
	case judge.Canceled:
		clauses := []string{"RT-100", "RT-102", "RT-105", "RT-160"}
		if done(vocab.InputAck) {
			clauses = append(clauses, "RT-059")
		}
		return clauses
	case judge.Switch, judge.Context, judge.Route:
		switch {
		case done(vocab.HandoverReject):
			return []string{"RT-137"}
		case done(vocab.HandoverConfirm): // of a handover that was not requested, or is already decided
			clauses := []string{"RT-061", "RT-065", "RT-133", "RT-135", "RT-137"}
			for _, h := range s.now.handovers {
				if h.decided == 0 { // the confirmation does not name it
					return append(clauses, "RT-062")
				}
			}
			return clauses
		case done(vocab.HandoverRequest):
			return []string{"RT-061", "RT-128", "RT-133"}
		}
		return []string{"RT-122"}
	case judge.RequestRemove:
		return []string{"RT-060", "RT-100", "RT-106", "RT-109", "RT-160"}
	case judge.RequestClose:
		return []string{"RT-100", "RT-152", "RT-160"}
	case judge.Removed:
		if done(vocab.RemoveAgentFailed) {
			return []string{"RT-115", "RT-116"}
		}
		return []string{"RT-115", "RT-116", "RT-159", "RT-160", "RT-171"}
	case judge.Added:
		if done(vocab.AddAgentFailed) {
			return []string{"RT-126", "RT-127"}
		}
		return []string{"RT-025", "RT-119", "RT-122", "RT-126", "RT-127", "RT-159", "RT-160"}
	case judge.RouteTimeout:
		return s.untimely()
	case judge.RequestAdd:
		return []string{"RT-122"}
	case judge.Closed:
		return []string{"RT-154", "RT-160"}
	}
	return []string{"RT-141"} // output
}

// unspoken returns the clauses that forbid a CANCEL to agents that are not speaking, by how their turns ended.
func (s *suite) unspoken() []string {
	clauses := []string{"RT-097"}
	for _, in := range s.now.inputs {
		switch in.ended {
		case "cancel":
			clauses = append(clauses, "RT-103")
		case "final":
			clauses = append(clauses, "RT-145")
		case "time-out":
			clauses = append(clauses, "RT-079")
		}
	}
	return clauses
}

// untimely returns the clauses that forbid a ROUTE_TIMEOUT.
func (s *suite) untimely() []string {
	ack := s.latest(control(vocab.InputAck))
	if ack.N == 0 {
		clauses := []string{"RT-077"}
		if s.hasDelivered(0, func(m judge.Message) bool { return m.Event == vocab.AgentOutput }) {
			clauses = append(clauses, "RT-169")
		}
		return clauses
	}
	return append([]string{"RT-003", "RT-077", "RT-080", "RT-161"}, s.broadcast(ack)...)
}

// unannounced returns the clauses broken when no switch is published, by what made an agent active.
func (s *suite) unannounced() []string {
	clauses := []string{"RT-006", "RT-063", "RT-065"}
	switch act := s.latest(anything); {
	case act.Event == vocab.UserInput:
		return append(clauses, "RT-089")
	case act.Subtype == vocab.SwitchAgent:
		clauses = append(clauses, "RT-032")
		for _, in := range s.now.inputs {
			if in.pieces > 0 && in.ended == "" && s.was(judge.Switch) { // a switch was published while no agent was speaking
				return append(clauses, "RT-176")
			}
		}
		return clauses
	case act.Subtype == vocab.HandoverConfirm:
		return append(clauses, "RT-019", "RT-035", "RT-061", "RT-134", "RT-165")
	}
	return append(clauses, "RT-112")
}

// otherSwitches lists the switches that are published, but not in the required way.
func (s *suite) otherSwitches(names func(judge.Message) bool) []instead {
	return []instead{
		{clauses: []string{"RT-091", "RT-167"}, how: "it is not on SYSTEM or BROADCAST", match: func(m judge.Message) bool {
			return control(vocab.SwitchAgent)(m) && m.Target != vocab.ToSystem && m.Target != vocab.ToBroadcast && names(m)
		}},
		{clauses: []string{"RT-066"}, how: "it does not name the new agent", match: func(m judge.Message) bool {
			return m.Kind() == judge.Switch && text(m.Data[judge.SwitchTo]) == ""
		}},
		{clauses: []string{"RT-065", "RT-066"}, how: "it is not a CONTROL SWITCH_AGENT", match: func(m judge.Message) bool {
			return m.Event != vocab.Control && m.Subtype == vocab.SwitchAgent && names(m)
		}},
	}
}
