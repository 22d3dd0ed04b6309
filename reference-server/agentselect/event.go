package agentselect

import (
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/agentselect"
)

// EventData is the data of an event.
type EventData map[string]any

// With returns a copy of d with key set to v.
func (d EventData) With(key string, v any) EventData {
	c := maps.Clone(d)
	c[key] = v
	return c
}

// Without returns a copy of d without the key.
func (d EventData) Without(key string) EventData {
	c := maps.Clone(d)
	delete(c, key)
	return c
}

// Event is one server event.
type Event struct {
	Type      string
	Data      EventData
	RequestID string // of a request to the user, or of the WebSocket request that this event answers
}

// isoMillis is ISO 8601 with milliseconds, like JavaScript's toISOString.
const isoMillis = "2006-01-02T15:04:05.000Z"

// encode writes the binding's envelope: type, data, timestamp, and requestId if there is one.
func (ev Event) encode(now time.Time) ([]byte, error) {
	return json.Marshal(struct {
		Type      string    `json:"type"`
		Data      EventData `json:"data"`
		RequestID string    `json:"requestId,omitzero"`
		Timestamp string    `json:"timestamp"`
	}{ev.Type, ev.Data, ev.RequestID, now.UTC().Format(isoMillis)},
		json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

func infos(agents []Agent) []proto.AgentInfo {
	list := make([]proto.AgentInfo, len(agents))
	for i, a := range agents {
		list[i] = a.Info()
	}
	return list
}

func errorEvent(message string) Event {
	return Event{Type: proto.ErrorEvent, Data: EventData{"message": message}}
}

// refusalEvent includes availableAgents for every code (AS-014, AS-072, AS-075).
func refusalEvent(r *Refusal, agents []Agent) Event {
	return Event{Type: proto.ErrorEvent, Data: EventData{
		"errorCode": r.Code, "message": r.Message, "availableAgents": infos(agents),
	}}
}

func switchedEvent(previous string, to Agent) Event {
	return Event{Type: proto.AgentSwitchedEvent, Data: EventData{
		"previousAgentId": previous, "currentAgentId": to.ID, "agentName": to.Name,
	}}
}
