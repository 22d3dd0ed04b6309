package orchestrator

import (
	"cmp"

	proto "parley/protocol/sessionruntime"
)

// receipt handles SessionManager's answers. An unexpected one publishes nothing (RT-160).
func (m *Machine) receipt(msg proto.Message) {
	tx := m.answered(msg)
	if tx == nil {
		return
	}
	if Subtype(msg) == proto.AddAgentDone {
		if r := m.admit(tx, msg); r != nil {
			m.close(tx)
			m.fail(r.Subtype, r.Text, object{"agent_id": orNull(tx.Agent)}, tx.ids())
			return
		}
	}
	m.conclude(tx, msg)
}

// request sends a request to SessionManager (RT-020).
func (m *Machine) request(tx *transaction) {
	tx.Asked = true
	payload := object{"session_id": m.o.SessionID}
	subtype := ""
	switch tx.Kind {
	case proto.RemoveAgent:
		subtype = proto.RequestRemoveAgent
		payload["agent_id"], payload["reason"] = tx.Agent, cmp.Or(reasonOf(tx.Request), "the user removed the agent")
	case proto.InviteAgent:
		subtype = proto.RequestAddAgent
		payload["agent_spec"] = specOf(tx.Request)
		if tx.Agent != "" {
			payload["agent_id"] = tx.Agent
		}
	case proto.SessionOpen, proto.SessionClose:
		subtype = proto.RequestSessionOpen
		if tx.Kind == proto.SessionClose {
			subtype = proto.RequestSessionClose
		}
		payload = with(payloadOf(tx.Request), payload)
	default:
		return
	}
	m.emit(m.New(proto.Control, subtype, proto.ToSystem, "", payload, tx.ids()))
}

// tellDone tells the frontend that a request was granted, with SessionManager's other data.
func (m *Machine) tellDone(tx *transaction, answer proto.Message) {
	says := object{"agent_id": tx.Agent, "agents": list(m.agents)}
	event := ""
	switch tx.Kind {
	case proto.InviteAgent:
		event = proto.AgentAdded
	case proto.RemoveAgent:
		event = proto.AgentRemoved
	case proto.SessionOpen:
		event, says = proto.SessionOpened, object{"session_id": m.o.SessionID}
	case proto.SessionClose:
		event, says = proto.SessionClosed, object{"session_id": m.o.SessionID}
	default:
		return
	}
	m.tell(event, with(payloadOf(answer), says), tx.ids())
}

// tellFailed tells the frontend that a request failed.
func (m *Machine) tellFailed(tx *transaction, answer proto.Message) {
	says := object{"agent_id": orNull(tx.Agent)}
	subtype := ""
	switch tx.Kind {
	case proto.InviteAgent:
		subtype = proto.AddFailed
	case proto.RemoveAgent:
		subtype = proto.RemoveAgentFailed
	case proto.SessionOpen, proto.SessionClose:
		subtype, says = proto.SessionFailed, object{"session_id": m.o.SessionID, "request": tx.Kind}
	default:
		return
	}
	why := cmp.Or(reasonOf(answer), "it gives no reason")
	m.fail(subtype, "SessionManager could not do it: "+why, with(payloadOf(answer), says), tx.ids())
}
