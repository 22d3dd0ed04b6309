package mutants

import (
	"sync"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/externalagent/wire"
)

// drawingFaults accept calls while no form is shown.
var drawingFaults = map[string]fault{
	"takes-calls-while-drawing": inRelay(takesCallsWhileDrawing),
}

// takesCallsWhileDrawing shows no form for a while after each next, but executes the calls that arrive meanwhile.
func takesCallsWhileDrawing(o *relay.Options) {
	const drawing = 120 * time.Millisecond
	var mu sync.Mutex
	went := map[string]bool{}    // relay sessions whose last call was next
	kept := map[string]message{} // the latest state, while a form is drawn
	o.Outbound = func(_ relayView, _, to party, data []byte, send func(int, []byte)) {
		msg, session := message(wire.Read(data)), to.Session
		payload := msg.Payload()
		mu.Lock()
		defer mu.Unlock()
		switch msg.Type() {
		case proto.ToolResult:
			went[session] = went[session] || payload["toolName"] == proto.Next && payload["ok"] == true && kept[session] == nil
		case proto.SessionStarted:
			delete(went, session)
			delete(kept, session)
		case proto.SnapshotState:
			if kept[session] != nil {
				data = wire.Encode(formless(msg))
			}
		case proto.StateUpdated:
			if payload["uiSpec"] == nil {
				break
			}
			if went[session] {
				time.AfterFunc(drawing, func() {
					mu.Lock()
					defer mu.Unlock()
					if latest := kept[session]; latest != nil {
						delete(kept, session)
						send(to.Conn, wire.Encode(latest))
					}
				})
			}
			if went[session] || kept[session] != nil {
				kept[session] = msg
				data = wire.Encode(formless(msg))
			}
			delete(went, session)
		}
		send(to.Conn, data)
	}
}

// formless returns a message with a state that shows no form.
func formless(msg message) message {
	payload := message(msg.Payload()).With("uiSpec", nil).With("toolSchema", []any{})
	return msg.With("payload", object(payload))
}
