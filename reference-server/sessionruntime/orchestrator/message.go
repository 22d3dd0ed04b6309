package orchestrator

import (
	"fmt"
	"maps"

	proto "parley/protocol/sessionruntime"
)

type object = map[string]any

// rfc3339Millis always has milliseconds.
const rfc3339Millis = "2006-01-02T15:04:05.000Z"

// New implements View.
func (m *Machine) New(event, subtype, target, targetID string, payload any, ids IDs) proto.Message {
	return proto.Message{
		ID: m.o.NewID(), SessionID: m.o.SessionID, Event: event, Subtype: subtype, Sender: proto.FromSession,
		Target: target, TargetID: targetID, Payload: payload,
		Timestamp: m.now.UTC().Format(rfc3339Millis), Metadata: ids.idMetadata(),
	}
}

// publishEvent publishes an EVENT to the frontend.
func (m *Machine) publishEvent(subtype string, payload object, ids IDs) {
	m.emitMessage(m.New(proto.Event, subtype, proto.ToFrontend, "", payload, ids))
}

// publishError publishes an ERROR to the frontend.
func (m *Machine) publishError(subtype, text string, payload object, ids IDs) {
	payload = withMembers(payload, object{"code": subtype, "message": text})
	m.emitMessage(m.New(proto.Error, subtype, proto.ToFrontend, "", payload, ids))
}

// publishRefusal publishes the refusal of a message. It omits a turn_id that belongs to a turn, because that turn is
// not at fault.
func (m *Machine) publishRefusal(msg proto.Message, r *Refusal) {
	ids := IDs{Trace: m.messageID(msg, proto.TraceID), Turn: m.messageID(msg, proto.TurnID),
		Tx: m.messageID(msg, proto.TxID)}
	if m.turns[ids.Turn] != nil {
		ids.Turn = ""
	}
	m.publishError(r.Subtype, r.Text, object{"message_id": msg.ID, "refused": Subtype(msg)}, ids)
}

// checkIDs checks the ids of a message.
func (m *Machine) checkIDs(msg proto.Message) *Refusal {
	for _, name := range []string{proto.TraceID, proto.TurnID, proto.TxID} {
		if v := findMember(msg, name); v != nil {
			if id, isString := v.(string); !isString || len(id) > m.o.Limits.ID {
				return &Refusal{proto.BadMessage, fmt.Sprintf("%s must be a string of at most %d bytes", name, m.o.Limits.ID)}
			}
		}
	}
	return nil
}

// Subtype returns the subtype of a message: its own, else metadata.subtype (RT-174).
func Subtype(msg proto.Message) string {
	if msg.Subtype != "" {
		return msg.Subtype
	}
	s, _ := msg.Metadata["subtype"].(string)
	return s
}

// payloadOf returns the payload of a message; nil if it is not an object.
func payloadOf(msg proto.Message) object {
	payload, _ := msg.Payload.(object)
	return payload
}

// findMember returns a member of the metadata, else of the payload; nil if neither has it. An empty string counts as
// absent.
func findMember(msg proto.Message, name string) any {
	if v := msg.Metadata[name]; v != nil && v != "" {
		return v
	}
	return payloadOf(msg)[name]
}

// memberText is member for strings; "" if there is none.
func memberText(msg proto.Message, name string) string {
	s, _ := findMember(msg, name).(string)
	return s
}

// agentOf returns the agent that a message is about; "" if it names none.
func agentOf(msg proto.Message) string {
	if id, _ := payloadOf(msg)["agent_id"].(string); id != "" {
		return id
	}
	id, _ := msg.Metadata["agent_id"].(string)
	return id
}

// reasonOf returns the reason that a message gives; "" without one.
func reasonOf(msg proto.Message) string {
	s, _ := payloadOf(msg)["reason"].(string)
	return s
}

func idsOf(msg proto.Message) IDs {
	return IDs{Trace: memberText(msg, proto.TraceID), Turn: memberText(msg, proto.TurnID),
		Tx: memberText(msg, proto.TxID)}
}

// cloneObject returns a copy that is never nil.
func cloneObject(o object) object {
	c := make(object, len(o)+2)
	maps.Copy(c, o)
	return c
}

// withMembers returns a copy of o with the members of more added.
func withMembers(o, more object) object {
	c := cloneObject(o)
	maps.Copy(c, more)
	return c
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func textList(names []string) []any {
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = name
	}
	return all
}
