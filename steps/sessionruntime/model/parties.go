package model

import (
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// The subjects of the other side of the bus.
const (
	addresses = "parties-address-the-bus"
	contents  = "requests-formed"
	answers   = "agents-acknowledge"
)

// PartyMonitors lists the monitors that judge the parties on the other side of the bus: the frontend, the agents and
// SessionManager, which are not targets of a run. They identify the sender of a message by its event and subtype, since
// the source gives the parties no names.
func PartyMonitors() []monitor.Monitor {
	var out []monitor.Monitor
	for _, c := range []struct {
		name, text string
		clauses    []string
	}{
		{addresses, "the frontend and SessionManager address SYSTEM, an agent SYSTEM or BROADCAST",
			[]string{"RT-029", "RT-037", "RT-041", "RT-046"}},
		{contents, "removals, invitations and outputs have what the source gives them",
			[]string{"RT-108", "RT-120", "RT-140"}},
		{answers, "an agent acknowledges an input, and says nothing in a turn after it has acknowledged its cancellation",
			[]string{"RT-144", "RT-161", "RT-162"}},
	} {
		out = append(out, monitor.Monitor{Name: c.name, Text: c.text, Clauses: c.clauses, Passive: true,
			Check: func(t []transcript.Record) []verdict.Finding {
				v := &parties{subject: c.name, links: map[string]*link{}}
				for _, r := range t {
					v.take(r)
				}
				return v.out
			}})
	}
	return out
}

// parties is a partly judged transcript, with the findings on one subject.
type parties struct {
	subject string
	out     []verdict.Finding
	links   map[string]*link
}

// link is a connection to an orchestrator.
type link struct {
	published, older map[string]bool // keys of published messages, which the bus may hand back
	turns            map[[2]string]*spoken
	blind            bool // something cannot be read
}

// spoken is a turn that was routed to an agent.
type spoken struct {
	agent    string
	acked    bool // INPUT_ACK was sent
	began    bool // output was sent
	cancel   bool // CANCEL came
	canceled bool // CANCEL_ACK was sent after that
}

func (v *parties) kept(subject string, m Message, clauses ...string) {
	if subject == v.subject {
		v.out = append(v.out, verdict.Finding{Clauses: clauses, OK: true, At: m.N})
	}
}

func (v *parties) broken(subject string, m Message, expected string, clauses ...string) {
	if subject == v.subject {
		v.out = append(v.out, verdict.Finding{Clauses: clauses, At: m.N, Expected: expected,
			Observed: m.Name() + ": " + clip(m.Payload)})
	}
}

func (v *parties) take(r transcript.Record) {
	b := v.links[r.Conn]
	if b == nil || r.Kind == transcript.Open || r.Kind == transcript.Closed {
		b = &link{published: map[string]bool{}, turns: map[[2]string]*spoken{}}
		v.links[r.Conn] = b
	}
	if r.Kind != transcript.Frame || r.Late {
		return
	}
	if r.Event == nil || len(r.Event.Faults) > 0 || r.Cut > 0 {
		b.blind = true
		return
	}
	if r.Event.Type == SetupFrame { // the session begins again
		clear(b.turns)
	}
	m, ok := Read(r)
	switch {
	case !ok || b.blind:
	case !m.Delivered:
		if b.published[key(m)] = true; len(b.published) > mostIDs {
			b.published, b.older = map[string]bool{}, b.published
		}
		b.learn(m)
	case m.From != Self && m.ID != "" && !b.published[key(m)] && !b.older[key(m)]:
		v.addressed(m)
		v.formed(m)
		v.answered(b, m)
	}
}

// key identifies a message. An orchestrator that forwards a message may keep its id and its sender, but not its target.
func key(m Message) string { return strings.Join([]string{m.ID, m.Name(), m.From}, "\x00") }

// learn notes the orchestrator's messages to agents.
func (b *link) learn(m Message) {
	if m.Target != vocab.ToAgent || m.Turn == "" {
		return
	}
	at := [2]string{m.Session, m.Turn}
	switch {
	case m.Event == vocab.UserInput:
		if len(b.turns) >= mostTurns {
			clear(b.turns)
		}
		b.turns[at] = &spoken{agent: m.TargetID}
	case control(m, vocab.Cancel, vocab.Interrupt) && b.turns[at] != nil && b.turns[at].agent == m.TargetID:
		b.turns[at].cancel = true
	}
}

// The events and subtypes that only one kind of party sends.
var (
	ofFrontend = []string{vocab.Cancel, vocab.Interrupt, vocab.InviteAgent, vocab.RemoveAgent, vocab.HandoverConfirm,
		vocab.HandoverReject, vocab.SessionOpen, vocab.SessionClose}
	ofAgents  = []string{vocab.InputAck, vocab.CancelAck, vocab.HandoverRequest}
	ofManager = []string{vocab.AddAgentDone, vocab.AddAgentFailed, vocab.RemoveAgentDone, vocab.RemoveAgentFailed,
		vocab.SessionOpened, vocab.SessionClosed, vocab.SessionFailed}
)

// addressed judges the target of a message.
func (v *parties) addressed(m Message) {
	to := func(clause, expected string, ok bool) {
		if ok {
			v.kept(addresses, m, clause)
			return
		}
		v.broken(addresses, m, expected, clause)
	}
	switch {
	case m.Event == vocab.UserInput || control(m, ofFrontend...):
		to("RT-029", "target SYSTEM, as of all messages of the frontend", m.Target == vocab.ToSystem)
	case m.Event == vocab.AgentOutput || control(m, ofAgents...):
		to("RT-037", "a message of an agent that is not addressed to the frontend", m.Target != vocab.ToFrontend)
		to("RT-041", "target SYSTEM or BROADCAST", m.Target == vocab.ToSystem || m.Target == vocab.ToBroadcast)
	case control(m, ofManager...):
		to("RT-046", "target SYSTEM, as of all results of SessionManager", m.Target == vocab.ToSystem)
	}
}

// formed judges the content of a message.
func (v *parties) formed(m Message) {
	payload, _ := m.Payload.(map[string]any)
	has := func(clause, member string, ok bool) {
		if ok {
			v.kept(contents, m, clause)
			return
		}
		v.broken(contents, m, member, clause)
	}
	agent, _ := payload["agent_id"].(string)
	switch {
	case control(m, vocab.RemoveAgent):
		has("RT-108", "a payload with the agent_id", agent != "")
	case control(m, vocab.InviteAgent):
		has("RT-120", "a payload with the agent_spec", payload["agent_spec"] != nil)
	case m.Event == vocab.AgentOutput:
		has("RT-140", "the agent as sender", m.From != "" &&
			!slices.Contains([]string{Frontend, Manager, Logger}, m.From))
	}
}

// answered judges an agent's messages in a turn that was routed to it.
func (v *parties) answered(b *link, m Message) {
	turn := b.turns[[2]string{m.Session, m.Turn}]
	switch {
	case m.Turn == "" && control(m, ofAgents...): // it may be of any turn
		clear(b.turns)
	case turn == nil || turn.agent != m.From:
	case control(m, vocab.InputAck):
		if turn.acked = true; !turn.began {
			v.kept(answers, m, "RT-161")
		}
	case control(m, vocab.CancelAck):
		if turn.canceled = turn.cancel; turn.canceled {
			v.kept(answers, m, "RT-162")
		}
	case m.Event == vocab.AgentOutput && turn.canceled:
		v.broken(answers, m, "no output of the turn after its CANCEL_ACK", "RT-162")
	case m.Event == vocab.AgentOutput:
		if turn.began = true; !m.Final {
			return
		}
		if turn.acked {
			v.kept(answers, m, "RT-144")
		} else {
			v.broken(answers, m, "an INPUT_ACK before the end of the output", "RT-144")
		}
	}
}
