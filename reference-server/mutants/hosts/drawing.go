package hosts

import (
	"sync"
	"time"

	proto "parley/protocol/externalagent"
)

// drawingFaults take calls while nothing is shown.
var drawingFaults = map[string]fault{
	"takes-calls-while-drawing": takesCallsWhileDrawing,
}

// takesCallsWhileDrawing shows no form for a while behind each next, and carries out what is called meanwhile.
func takesCallsWhileDrawing(o *options) {
	const drawing = 120 * time.Millisecond
	var mu sync.Mutex
	went := map[string]bool{}   // relay sessions of which next was the last call
	kept := map[string]object{} // the latest state, while a form is drawn
	bare := func(msg object) object {
		payload := object{}
		for name, v := range msg["payload"].(object) {
			payload[name] = v
		}
		payload["uiSpec"], payload["toolSchema"] = nil, []any{}
		out := object{}
		for name, v := range msg {
			out[name] = v
		}
		out["payload"] = payload
		return out
	}
	o.Relay.Outbound = func(_ relayState, _, to party, data []byte, send func(int, []byte)) {
		msg := read(data)
		payload, _ := msg["payload"].(object)
		mu.Lock()
		defer mu.Unlock()
		switch msg["type"] {
		case proto.ToolResult:
			if payload["toolName"] == proto.Next && payload["ok"] == true && kept[to.Session] == nil {
				went[to.Session] = true
			}
		case proto.SessionStarted:
			delete(went, to.Session)
			delete(kept, to.Session)
		case proto.SnapshotState:
			if kept[to.Session] != nil {
				data = encode(bare(msg))
			}
		case proto.StateUpdated:
			if payload["uiSpec"] == nil {
				break
			}
			if went[to.Session] {
				delete(went, to.Session)
				time.AfterFunc(drawing, func() {
					mu.Lock()
					defer mu.Unlock()
					if latest := kept[to.Session]; latest != nil {
						delete(kept, to.Session)
						send(to.Conn, encode(latest))
					}
				})
				kept[to.Session] = msg
			}
			if kept[to.Session] != nil {
				kept[to.Session] = msg
				data = encode(bare(msg))
			}
		}
		send(to.Conn, data)
	}
}
