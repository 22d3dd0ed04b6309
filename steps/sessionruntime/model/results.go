package model

import (
	"fmt"
	"slices"

	vocab "parley/protocol/sessionruntime"
)

// requestAmiss finds a request to SessionManager that has another name, names another agent, or goes to another
// target.
func (m *Model) requestAmiss(cause Message, agent, name string) ([]string, string) {
	agents, target := []string{"RT-110"}, []string{"RT-113"}
	if name == vocab.RequestAddAgent {
		agents, target = []string{"RT-120"}, []string{"RT-121"}
	}
	p, ok := m.InPlace(cause.N, func(p Message) bool { return p.is(vocab.Control, name, "") })
	other, has := m.InPlace(cause.N, func(p Message) bool {
		return p.is(vocab.Control, "", vocab.ToSystem) && p.Kind() == Other && Mentions(p, agent)
	})
	switch {
	case ok && p.Target == vocab.ToSystem:
		return agents, fmt.Sprintf("%s (record %d): %s", p.Name(), p.N, clip(p.Payload))
	case ok:
		return target, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
	case has && name == vocab.RequestAddAgent:
		return []string{"RT-121", "RT-172"}, fmt.Sprintf("%s (record %d)", other.Name(), other.N)
	case has:
		return []string{"RT-110", "RT-172"}, fmt.Sprintf("%s (record %d)", other.Name(), other.N)
	}
	if p, ok := m.InPlace(cause.N, kind(Added)); ok && name == vocab.RequestAddAgent {
		return []string{"RT-017", "RT-020", "RT-025", "RT-119"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
	}
	return nil, ""
}

// TellsOfFailure reports whether a message may tell the frontend that an invitation failed. The source does not say
// how (RT-043), so only messages that report something else are excluded.
func TellsOfFailure(p Message) bool {
	switch p.Kind() {
	case Added, Output, Accepted, RouteTimeout, Canceled, Prompt, Opened, Closed, Switch:
		return false
	case Notice:
		return p.Subtype != vocab.AgentStarted && p.Subtype != vocab.NobodySpeaks && p.Subtype != vocab.CancelSent &&
			p.Subtype != vocab.ActiveChanged
	}
	return p.Target == vocab.ToFrontend
}

// toldAmiss finds an EVENT AGENT_ADDED or AGENT_REMOVED with another target, in another form, or about another agent.
// agents are the clauses that the last of these breaks.
func (m *Model) toldAmiss(d Message, name string, always, agents []string) func() ([]string, string) {
	return func() ([]string, string) {
		p, ok := m.InPlace(d.N, func(p Message) bool {
			return p.Subtype == name || p.is("", d.Subtype, vocab.ToFrontend)
		})
		if !ok {
			return nil, ""
		}
		clauses := agents
		if len(m.moves) > 1 {
			clauses = append(slices.Clone(agents), "RT-062")
		}
		if p.Kind() != Added && p.Kind() != Removed { // wrong target or wrong form
			clauses = append(slices.Clone(always), "RT-010")
			if p.Target != vocab.ToFrontend {
				clauses = append(clauses, "RT-046")
			}
		}
		return clauses, fmt.Sprintf("%s (record %d): %s", p.Name(), p.N, clip(p.Payload))
	}
}

// ofMove matches messages about a move's agent, or of its transaction if they name no agent.
func ofMove(mv *move) func(Message) bool {
	return func(p Message) bool {
		return p.AgentID == mv.agent || p.AgentID == "" && (p.Tx == "" || p.Tx == mv.request.Tx)
	}
}

// tells notes that the frontend was told of a result.
func (m *Model) tells(k Kind) func(Message) { return func(Message) { m.results[k] = true } }

// beside returns the clauses of a result, with the one about concurrent transactions if another with the same result
// was told already and several are requested.
func (m *Model) beside(k Kind, clauses ...string) []string {
	if m.results[k] && len(m.moves) > 1 {
		return append(clauses, "RT-062")
	}
	return clauses
}

func (m *Model) strayRequest(p Message) {
	if p.Kind() == RequestAdd {
		m.Fail(p, []string{"RT-121"}, "one REQUEST_ADD_AGENT for each invitation", "%s without one, or a second time: %s",
			p.Name(), clip(p.Payload))
		return
	}
	for _, mv := range m.moves {
		if !mv.add && mv.agent == p.AgentID && mv.request.N == 0 {
			mv.request = p // it still counts as the request
			m.Fail(p, []string{"RT-060", "RT-106", "RT-109"},
				"REQUEST_REMOVE_AGENT once agent "+mv.agent+", which is speaking, has acknowledged the CANCEL",
				"it is requested before that")
			return
		}
	}
	m.Fail(p, []string{"RT-110"}, "one REQUEST_REMOVE_AGENT for each removal", "%s without one, or a second time: %s",
		p.Name(), clip(p.Payload))
}

func (m *Model) strayMove(p Message) {
	waits, answered, beside := false, false, false // beside another one that SessionManager has answered
	for _, mv := range m.moves {
		beside = beside || mv.answered && mv.add == (p.Kind() == Added) && mv.agent != p.AgentID
		if mv.add == (p.Kind() == Added) && (mv.agent == p.AgentID || p.AgentID == "") {
			if mv.again && !mv.answered { // it may be there, or gone, already
				return
			}
			waits, answered = waits || !mv.answered, answered || mv.answered
		}
	}
	concurrent := []string(nil)
	if waits && beside {
		concurrent = []string{"RT-062"}
	}
	switch p.Kind() {
	case Added:
		clauses := []string{"RT-127"}
		if waits {
			clauses = []string{"RT-025", "RT-119", "RT-122", "RT-126", "RT-127", "RT-159", "RT-160"}
		} else if answered && m.has(p.AgentID) == absent { // adding it failed
			clauses = []string{"RT-126", "RT-127"}
		}
		m.Fail(p, append(clauses, concurrent...), "AGENT_ADDED once, after ADD_AGENT_DONE from SessionManager",
			"%s without that, or a second time: %s", p.Name(), clip(p.Payload))
	case Removed:
		clauses := []string{"RT-116"}
		if waits {
			clauses = []string{"RT-115", "RT-116", "RT-159", "RT-160", "RT-171"}
		} else if answered && m.has(p.AgentID) != absent { // removing it failed
			clauses = []string{"RT-115", "RT-116"}
		}
		m.Fail(p, append(clauses, concurrent...), "AGENT_REMOVED once, after REMOVE_AGENT_DONE from SessionManager",
			"%s without that, or a second time: %s", p.Name(), clip(p.Payload))
	case RemoveFailed:
		for _, mv := range m.moves { // a removal that waits for an acknowledgement may be given up
			if !mv.add && mv.request.N == 0 && (p.AgentID == mv.agent || p.AgentID == "") {
				return
			}
		}
		m.Fail(p, []string{"RT-117"}, "REMOVE_AGENT_FAILED once SessionManager has reported it",
			"%s without that, or a second time: %s", p.Name(), clip(p.Payload))
	}
}
