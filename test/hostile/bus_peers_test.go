package hostile_test

import (
	"context"
	"fmt"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
)

// frameOf has the parts of a frame that a bad orchestrator reads.
type frameOf struct {
	Parley, ID, SessionID, Event, Subtype, Sender, Text string
	ActiveAgentID                                       string
	Metadata                                            map[string]any
	Payload                                             any
}

func read(got []byte) (f frameOf) {
	var doc map[string]any
	_ = json.Unmarshal(got, &doc)
	text := func(name string) string { s, _ := doc[name].(string); return s }
	f = frameOf{Parley: text("parley"), ID: text("id"), SessionID: text("session_id"), Event: text("event"),
		Subtype: text("subtype"), Sender: text("sender"),
		ActiveAgentID: text("active_agent_id"), Payload: doc["payload"], Text: string(got)}
	f.Metadata, _ = doc["metadata"].(map[string]any)
	return f
}

// orchestrating answers set-ups and fences correctly and leaves the rest to publish.
func orchestrating(publish func(f frameOf) []string) func(context.Context, *websocket.Conn) {
	return func(ctx context.Context, c *websocket.Conn) {
		for {
			_, got, err := c.Read(ctx)
			if err != nil {
				return
			}
			f := read(got)
			var out []string
			switch f.Parley {
			case "setup":
				out = []string{fmt.Sprintf(`{"parley":"ready","session_id":%q}`, f.SessionID)}
			case "fence":
				out = []string{fmt.Sprintf(`{"parley":"fenced","id":%q}`, f.ID)}
			default:
				out = publish(f)
			}
			for _, line := range out {
				if c.Write(ctx, websocket.MessageText, []byte(line)) != nil {
					return
				}
			}
		}
	}
}

// published returns a message published by an orchestrator.
func published(f frameOf, event, subtype, target, id string, payload any) string {
	doc := map[string]any{"id": "x", "session_id": f.SessionID, "event": event, "subtype": subtype, "sender": "session",
		"target": target, "target_id": id, "payload": payload,
		"metadata": map[string]any{"turn_id": "t", "trace_id": "t"}}
	data, _ := json.Marshal(doc, json.Deterministic(true))
	return string(data)
}
