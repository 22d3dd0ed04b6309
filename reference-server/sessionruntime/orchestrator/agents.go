package orchestrator

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	proto "parley/protocol/sessionruntime"
)

// switchTo handles a SWITCH_AGENT from the frontend. A switch to the active agent changes and publishes nothing.
func (m *Machine) switchTo(msg proto.Message) {
	agent := memberText(msg, "to")
	if agent == "" {
		agent = agentOf(msg)
	}
	if agent == "" {
		m.publishRefusal(msg, &Refusal{proto.BadMessage, "SWITCH_AGENT requires payload.to, the id of an agent"})
		return
	}
	if r := m.o.Policy.Member(m, agent); r != nil {
		m.publishRefusal(msg, r)
		return
	}
	j := &job{msg: msg, agent: agent, trigger: proto.SwitchAgent, reason: reasonOf(msg)}
	m.runProgram(j, m.o.Policy.Switch(m, agent, msg))
}

// tellSwitch publishes a change of the active agent (3). "from" and "to" are null if there is no agent.
func (m *Machine) tellSwitch(j *job) {
	if j.agent == j.before {
		return
	}
	m.publishSwitch(j, j.before, j.agent)
}

func (m *Machine) publishSwitch(j *job, from, to string) {
	ids := idsOf(j.msg)
	switch {
	case j.t != nil:
		ids = j.t.turnIDs()
	case j.tx != nil:
		ids = j.tx.requestIDs()
	}
	out := m.New(proto.Control, proto.SwitchAgent, proto.ToSystem, "", object{
		"from": orNull(from), "to": orNull(to), "reason": cmp.Or(j.reason, "the user asked for it"), "trigger": j.trigger,
	}, ids)
	out.Metadata[proto.Visibility] = "both" // the frontend must see it, too (RT-006, RT-167)
	m.emitMessage(out)
}

// handleRemoveAgent handles REMOVE_AGENT (4D).
func (m *Machine) handleRemoveAgent(msg proto.Message) {
	agent := agentOf(msg)
	if agent == "" {
		m.publishRefusal(msg, &Refusal{proto.BadMessage, "REMOVE_AGENT requires payload.agent_id"})
		return
	}
	if m.isBusy(proto.RemoveAgent, agent) {
		m.publishRefusal(msg, &Refusal{proto.InProgress, "the agent is being removed already"})
		return
	}
	if r := m.o.Policy.Member(m, agent); r != nil {
		m.publishRefusal(msg, r)
		return
	}
	m.openTransaction(&transaction{Transaction: Transaction{Kind: proto.RemoveAgent, Agent: agent, Request: msg}})
}

// isBusy reports whether a transaction of this kind is open for the agent.
func (m *Machine) isBusy(kind, agent string) bool {
	return slices.ContainsFunc(m.txs, func(tx *transaction) bool { return tx.Kind == kind && tx.Agent == agent })
}

// unbindAgent removes an agent from the session (RT-111).
func (m *Machine) unbindAgent(agent string) {
	m.agents = slices.DeleteFunc(m.agents, func(id string) bool { return id == agent })
}

// fallBack replaces a removed active agent by another one (RT-112).
func (m *Machine) fallBack(tx *transaction) {
	if m.active != tx.Agent {
		return
	}
	from := m.active
	if m.active = m.o.Policy.Fallback(m, from); m.active != from {
		m.publishSwitch(&job{tx: tx, trigger: proto.RemoveAgent, reason: "the active agent was removed"}, from, m.active)
	}
}

// handleInviteAgent handles INVITE_AGENT (4E). The spec may have any form; an agent that it names must not be in the
// session.
func (m *Machine) handleInviteAgent(msg proto.Message) {
	agent := invitedAgent(msg)
	switch {
	case specOf(msg) == nil:
		m.publishRefusal(msg, &Refusal{proto.BadMessage, "INVITE_AGENT requires payload.agent_spec"})
		return
	case len(agent) > m.o.Limits.ID:
		m.publishRefusal(msg, &Refusal{proto.BadMessage, "the id of the agent is too long"})
		return
	case agent != "" && m.Has(agent):
		m.publishRefusal(msg, &Refusal{proto.BadMessage, "the agent is in the session already"})
		return
	case agent != "" && m.isBusy(proto.InviteAgent, agent):
		m.publishRefusal(msg, &Refusal{proto.InProgress, "the agent is being added already"})
		return
	case len(m.agents) >= m.o.Limits.Agents:
		m.publishRefusal(msg, &Refusal{proto.Overloaded, "the session has as many agents as it may: remove one first"})
		return
	}
	m.openTransaction(&transaction{Transaction: Transaction{Kind: proto.InviteAgent, Agent: agent, Request: msg}})
}

// specOf returns the agent_spec of an invitation: the member of that name, else the whole payload.
func specOf(msg proto.Message) any {
	if spec, there := payloadOf(msg)["agent_spec"]; there {
		return spec
	}
	if msg.Payload == "" {
		return nil
	}
	return msg.Payload
}

// invitedAgent returns the agent that an invitation names; "" if it leaves the choice to SessionManager.
func invitedAgent(msg proto.Message) string {
	switch spec := specOf(msg).(type) {
	case string:
		return spec
	case object:
		for _, name := range []string{"agent_id", "id"} {
			if id, _ := spec[name].(string); id != "" {
				return id
			}
		}
	}
	return agentOf(msg)
}

// admitAgent determines which agent was added: the one named in the receipt, else the invited one.
func (m *Machine) admitAgent(tx *transaction, msg proto.Message) *Refusal {
	tx.Agent = cmp.Or(agentOf(msg), tx.Agent)
	if err := m.o.Limits.agentID(tx.Agent); err != nil {
		tx.Agent = ""
		return &Refusal{proto.AddFailed, "ADD_AGENT_DONE must name the agent in payload.agent_id: " + err.Error()}
	}
	if !m.Has(tx.Agent) && len(m.agents) >= m.o.Limits.Agents {
		return &Refusal{proto.Overloaded, "the session has as many agents as it may"}
	}
	return nil
}

// registerAgent adds an agent to the session (RT-122).
func (m *Machine) registerAgent(agent string) {
	if agent != "" && !m.Has(agent) {
		m.agents = append(m.agents, agent)
	}
}

func (m *Machine) tellBegun(tx *transaction) {
	switch tx.Kind {
	case proto.RemoveAgent:
		m.publishEvent(proto.AgentRemoving, object{"agent_id": tx.Agent}, tx.requestIDs())
	case proto.InviteAgent:
		m.publishEvent(proto.AddingAgent, object{"agent_id": orNull(tx.Agent)}, tx.requestIDs())
	}
}

// correctMention recognises, in this order:
//
//  1. payload.mentioned_agent_id, with or without the subtype MENTION (RT-084)
//  2. the subtype MENTION, of the message or in metadata (RT-083), with the agent from the first of these places that
//     has one: metadata.mentioned_agent_id, metadata.target_agent_id, metadata.agent_id; payload.selected_agent_id,
//     payload.agent_id (a selection in the GUI, RT-085); target_id; a leading "@id" of a payload that is a string
//
// A member that is null or "" counts as absent; one that is not a string makes a mention without a readable agent.
func correctMention(v View, msg proto.Message) (agent string, is bool) {
	payload := payloadOf(msg)
	if agent, there := namedAgent(payload, "mentioned_agent_id"); there {
		return agent, true
	}
	if msg.Subtype != proto.Mention && msg.Metadata["subtype"] != proto.Mention {
		return "", false
	}
	for _, name := range []string{"mentioned_agent_id", "target_agent_id", "agent_id"} {
		if agent, there := namedAgent(msg.Metadata, name); there {
			return agent, true
		}
	}
	for _, name := range []string{"selected_agent_id", "agent_id"} {
		if agent, there := namedAgent(payload, name); there {
			return agent, true
		}
	}
	if msg.TargetID != "" {
		return msg.TargetID, true
	}
	said, _ := msg.Payload.(string)
	return leadingAgent(v, said), true
}

// namedAgent returns a member that names an agent.
func namedAgent(o object, name string) (id string, there bool) {
	switch v := o[name].(type) {
	case nil:
		return "", false
	case string:
		return v, v != ""
	}
	return "", true
}

// ends are the characters that may directly follow an "@id".
const ends = ",，:：;；!！?？、。)）"

// leadingAgent returns the agent of "@id text"; "" if the text does not begin like that. Punctuation may directly
// follow the id: "@id, text".
func leadingAgent(v View, said string) string {
	said, begins := strings.CutPrefix(strings.TrimSpace(said), "@")
	if !begins {
		return ""
	}
	if end := strings.IndexFunc(said, unicode.IsSpace); end >= 0 {
		said = said[:end]
	}
	if v.Has(said) {
		return said
	}
	if end := strings.IndexAny(said, ends); end >= 0 {
		said = said[:end]
	}
	if v.Has(said) {
		return said
	}
	return strings.TrimRightFunc(said, unicode.IsPunct)
}
