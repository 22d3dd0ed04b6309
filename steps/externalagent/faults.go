package externalagent

import (
	"context"
	"fmt"
	"strings"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/transport/driver"
	wjson "parley/transport/wire/json"
)

// faults corrupt a valid envelope.
var faults = map[string]func(object){
	"no v":                  func(e object) { delete(e, "v") },
	"v of an older version": func(e object) { e["v"] = "mvp-0.1" },
	"v of a newer version":  func(e object) { e["v"] = "mvp-0.3" },
	"v in capitals":         func(e object) { e["v"] = "MVP-0.2" },
	"v that is a number":    func(e object) { e["v"] = 0.2 },
	"v that is null":        func(e object) { e["v"] = nil },
	"v under another name":  func(e object) { e["V"] = e["v"]; delete(e, "v") },

	"no type":                  func(e object) { delete(e, "type") },
	"an unknown type":          func(e object) { e["type"] = "parley.unknown" },
	"an empty type":            func(e object) { e["type"] = "" },
	"type that is a number":    func(e object) { e["type"] = 7 },
	"type that is null":        func(e object) { e["type"] = nil },
	"type that is a list":      func(e object) { e["type"] = []any{e["type"]} },
	"type in capitals":         func(e object) { e["type"] = strings.ToUpper(e["type"].(string)) },
	"a type that hosts send":   func(e object) { e["type"] = vocab.StateUpdated },
	"no payload":               func(e object) { delete(e, "payload") },
	"payload that is null":     func(e object) { e["payload"] = nil },
	"payload that is a list":   func(e object) { e["payload"] = []any{} },
	"payload that is a text":   func(e object) { e["payload"] = "{}" },
	"payload that is a number": func(e object) { e["payload"] = 1 },
	"payload that is true":     func(e object) { e["payload"] = true },

	"no id":                  func(e object) { delete(e, "id") },
	"id that is a number":    func(e object) { e["id"] = 17 },
	"id that is null":        func(e object) { e["id"] = nil },
	"replyTo that is a list": func(e object) { e["replyTo"] = []any{} },
	"extra members": func(e object) {
		e["parleyExtra"] = object{"a": []any{1, nil}}
		e["timestamp"] = "2026-01-01T00:00:00Z"
	},
	"an extra member in its payload": func(e object) {
		if p, ok := e["payload"].(object); ok {
			p["parleyExtra"] = "x"
		}
	},
	"a deeply nested member": func(e object) {
		v := any("bottom")
		for range 200 {
			v = []any{v}
		}
		e["parleyExtra"] = v
	},
	"a member of 200 KB": func(e object) { e["parleyExtra"] = strings.Repeat("x", 200<<10) },
	"no role":            func(e object) { delete(e["payload"].(object), "role") },
	"an unknown role":    func(e object) { e["payload"].(object)["role"] = "parley" },
	"no sessionId":       func(e object) { delete(e["payload"].(object), "sessionId") },
	"a sessionId that is a number": func(e object) {
		e["payload"].(object)["sessionId"] = 1
	},
	"no toolName": func(e object) { delete(e["payload"].(object), "toolName") },
	"a toolName that is a number": func(e object) {
		e["payload"].(object)["toolName"] = 1
	},
	"no reason":           func(e object) { delete(e["payload"].(object), "reason") },
	"members given twice": nil, // see spoilt
	"a binary frame":      nil,
}

// sendsSpoilt sends an envelope of a kind with a fault.
func (s *suite) sendsSpoilt(ctx context.Context, p *party, kind, fault string) error {
	spoil, known := faults[fault]
	if !known {
		return fmt.Errorf("no step makes an envelope with %q", fault)
	}
	body := object{}
	switch kind {
	case vocab.RelayJoin:
		if err := s.hostIsThere(ctx, p); err != nil {
			return err
		}
		body = object{"role": p.role, "sessionId": p.session}
	case vocab.ToolCall:
		body = callOf(noSuchTool, object{})
	}
	q := &request{of: p, id: s.newID(), kind: kind, body: body}
	env := envelope(kind, q.id, "", body)
	if spoil != nil {
		spoil(env)
	}
	if id, ok := env["id"].(string); !ok || id != q.id {
		q.id = ""
	}
	_, typed := env["type"].(string)
	q.untyped = !typed
	m, err := message(env)
	if err != nil {
		return err
	}
	m.Label = kind + " with " + fault
	switch fault {
	case "a binary frame":
		m.Binary = true
	case "members given twice":
		m.Body = []byte(strings.Replace(string(m.Body), `{`, `{"v":"mvp-0.1","type":"parley.unknown",`, 1))
	}
	return s.sendRaw(ctx, p, q, m)
}

func (s *suite) sendRaw(ctx context.Context, p *party, q *request, m driver.Message) error {
	if err := s.connected(ctx, p); err != nil {
		return err
	}
	mark, err := p.conn.Send(ctx, m)
	if err != nil {
		return steps.NotTestedf("agent %s could not send it: %v", p.name, err)
	}
	q.mark, p.last, s.mark = mark, q, mark
	p.asked = append(p.asked, q)
	return nil
}

func (s *suite) sendsJunk(ctx context.Context, p *party, what string) error {
	id := s.newID()
	legal := string(mustEncode(envelope(vocab.SnapshotGet, id, "", object{})))
	body, known := map[string]string{"malformed JSON": "{" + legal, "a JSON array": "[" + legal + "]",
		"two JSON values": legal + legal, "half an envelope": legal[:len(legal)/2]}[what]
	if !known {
		body = noEnvelopes[what]
	}
	return s.sendRaw(ctx, p, &request{of: p, id: id, kind: what}, driver.Message{Label: what, Body: []byte(body)})
}

// noEnvelopes are texts that are not envelopes, by the words of features.
var noEnvelopes = map[string]string{
	"malformed JSON": `{"v":"mvp-0.2","type":`, "an empty text": "", "a JSON array": `[{"v":"mvp-0.2"}]`,
	"a JSON string": `"snapshot.get"`, "a JSON number": "42", "a JSON null": "null",
}

func mustEncode(v any) []byte {
	b, err := wjson.Encode(v)
	if err != nil {
		panic(err) // our own envelope always encodes
	}
	return b
}
