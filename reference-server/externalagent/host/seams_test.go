package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// fault is a host with one fault and its symptom: shows returns true for it, and false for a correct host.
type fault struct {
	name  string
	spoil func(o *Options)
	shows func(p *party) bool
}

func deciding(p Policy) func(*Options) { return func(o *Options) { o.Policy = p } }

func telling(f func(v View, msg Message, send func(Message))) func(*Options) {
	return func(o *Options) { o.Outbound = f }
}

func taking(f func(v View, msg Message) []Message) func(*Options) {
	return func(o *Options) { o.Inbound = f }
}

// answers sends requests followed by a snapshot.get, and returns everything received up to the reply to that.
func (p *party) answers(send ...func()) (all []Message) {
	p.t.Helper()
	for _, f := range send {
		f()
	}
	p.n++
	fence := fmt.Sprintf("fence-%d", p.n)
	p.sendRaw(`{"v":"mvp-0.2","type":"snapshot.get","id":"` + fence + `","payload":{}}`)
	for {
		msg := p.nextMessage()
		all = append(all, msg)
		if payload := msg.Payload(); msg["replyTo"] == fence || payload["sessionId"] != nil && payload["uiSpec"] != nil &&
			msg["replyTo"] == nil {
			return all
		}
	}
}

func (p *party) types(send ...func()) string {
	var types []string
	for _, msg := range p.answers(send...) {
		types = append(types, msg.Type())
	}
	return strings.Join(types, " ")
}

func (p *party) calling(tool string, params object) func() { return func() { p.call(tool, params) } }

func code(msg Message) any { return msg.Payload()["code"] }

// begun starts a session without checking the host's reply.
func (p *party) begun() *party {
	p.answers(func() { p.send(proto.SessionStart, object{"studyId": "a", "participantId": "b"}) })
	return p
}

// A realistic fault is a small wrapper around the correct host.
func TestSeams(t *testing.T) {
	for _, f := range slices.Concat(decisions, messages, logs) {
		t.Run(f.name, func(t *testing.T) {
			if f.shows(startParty(t, Options{})) {
				t.Error("the correct host has the fault")
			}
			var o Options
			f.spoil(&o)
			if !f.shows(startParty(t, o)) {
				t.Error("the fault does not show")
			}
		})
	}
}

var decisions = []fault{
	{"forgets the booking on reconnect", deciding(Policy{Connected: func(View, bool, Keep) Keep {
		return Keep{Session: true, History: true}
	}}), func(p *party) bool {
		p.begun().answers(p.calling(proto.Select, object{"itemId": "m1"}))
		p.reconnect()
		return len(spec(p.snapshot())["selected"].([]any)) == 0
	}},
	{"forgets the session on reconnect", deciding(Policy{Connected: func(View, bool, Keep) Keep {
		return Keep{}
	}}), func(p *party) bool {
		p.begun()
		p.reconnect()
		return code(p.answers()[0]) == proto.SessionNotActive
	}},
	{"takes any version", deciding(Policy{Accept: func(_ View, msg Message, _ *Refusal) *Refusal {
		return checkEnvelope(msg.With("v", proto.Version))
	}}), func(p *party) bool {
		return p.begun().answers(func() {
			p.sendRaw(`{"v":"1","type":"snapshot.get","id":"x","payload":{}}`)
		})[0].Type() == proto.SnapshotState
	}},
	{"restarts on a second start", deciding(Policy{Ready: func(_ View, msg Message, why *Refusal) *Refusal {
		if msg.Type() == proto.SessionStart {
			return nil
		}
		return why
	}}), func(p *party) bool {
		return strings.HasPrefix(p.begun().types(func() {
			p.send(proto.SessionStart, object{"studyId": "a", "participantId": "b"})
		}), proto.SessionStarted)
	}},
	{"works without a session", deciding(Policy{
		Ready:     func(View, Message, *Refusal) *Refusal { return nil },
		Announced: func(View, []proto.Tool, string, *proto.Tool) *proto.Tool { return &proto.Tool{} },
		Execute:   func(_ View, _ Call, run func() *Refusal) *Refusal { run(); return nil },
	}), func(p *party) bool {
		return p.answers(p.calling(proto.Next, object{}))[0].Type() == proto.ToolResult
	}},
	{"announces all tools always", deciding(Policy{Tools: func(v View, _ []proto.Tool) (all []proto.Tool) {
		for _, stage := range proto.Stages() {
			for _, tool := range v.ToolsAt(stage) {
				if !slices.ContainsFunc(all, func(t proto.Tool) bool { return t.Name == tool.Name }) {
					all = append(all, tool)
				}
			}
		}
		return all
	}}), func(p *party) bool { return strings.Contains(toolNames(p.begun().snapshot()), proto.Prev) }},
	{"executes tools that are not announced", deciding(Policy{Announced: func(_ View, _ []proto.Tool, name string,
		_ *proto.Tool) *proto.Tool {
		return &proto.Tool{Name: name}
	}}), func(p *party) bool {
		return code(p.begun().answers(p.calling("teleport", object{}))[0]) == proto.ToolExecutionFailed
	}},
	{"takes negative quantities", deciding(Policy{Params: func(View, proto.Tool, map[string]any, *Refusal) *Refusal {
		return nil
	}}), func(p *party) bool {
		p.begun().goToStage(proto.TicketStage)
		p.answers(p.calling(proto.SetQuantity, object{"itemId": "adult", "quantity": -1}))
		return spec(p.snapshot())["quantities"].(object)["adult"] == -1.0
	}},
	{"does nothing and says ok", deciding(Policy{Execute: func(View, Call, func() *Refusal) *Refusal {
		return nil
	}}), func(p *party) bool {
		p.begun().answers(p.calling(proto.Select, object{"itemId": "m1"}))
		return len(spec(p.snapshot())["selected"].([]any)) == 0
	}},
	{"quick form is stale", deciding(Policy{Result: func(v View, c Call, _ map[string]any) map[string]any {
		return object{"ok": true, "toolName": c.Tool, "uiSpec": v.Sent().UISpec}
	}}), func(p *party) bool {
		quick := p.begun().answers(p.calling(proto.Select, object{"itemId": "m1"}))[0]
		return len(spec(quick.Payload())["selected"].([]any)) == 0
	}},
	{"announces no change", deciding(Policy{Updates: func(_ View, msg Message, _ bool) bool {
		return msg.PayloadText("toolName") != proto.Next
	}}), func(p *party) bool {
		p.begun().answers(p.calling(proto.Select, object{"itemId": "m1"}))
		return p.types(p.calling(proto.Next, object{})) == "tool.result snapshot.state"
	}},
	{"snapshot has backend data", deciding(Policy{State: func(v View, in Part, s State) State {
		if spec, shown := s.UISpec.(map[string]any); shown && in == InSnapshot {
			item := spec["items"].([]any)[0].(map[string]any)
			item["backendData"] = v.Backend(v.Shown())[item["id"].(string)]
		}
		return s
	}}), func(p *party) bool {
		data, _ := item(p.begun().snapshot(), 0)["backendData"].(object)
		return data["supplierId"] == "SUP-2201"
	}},
	{"updates are one behind", deciding(Policy{State: func(v View, in Part, s State) State {
		if in == InUpdate {
			return v.Sent()
		}
		return s
	}}), func(p *party) bool {
		p.begun()
		p.answers(p.calling(proto.Select, object{"itemId": "m1"}))
		return len(spec(p.answers(p.calling(proto.Select, object{"itemId": "m2"}))[1].Payload())["selected"].([]any)) != 1 ||
			fmt.Sprint(spec(p.answers(p.calling(proto.Select, object{"itemId": "m3"}))[1].Payload())["selected"]) != "[m3]"
	}},
	{"fails with a result", deciding(Policy{Refused: func(_ View, request, msg Message) Message {
		return wire.Reply(request, proto.ToolResult, object{"ok": false, "code": msg.PayloadText("code")})
	}}), func(p *party) bool {
		return p.begun().answers(p.calling("teleport", object{}))[0].Payload()["ok"] == false
	}},
	{"keeps the history", deciding(Policy{Reset: func(View, Keep) Keep {
		return Keep{History: true}
	}}), func(p *party) bool {
		p.begun().answers(p.calling(proto.PostMessage, object{"text": "a"}))
		p.end()
		return len(history(p.begun().snapshot())) == 1
	}},
	{"keeps the booking", deciding(Policy{Reset: func(View, Keep) Keep {
		return Keep{Booking: true}
	}}), func(p *party) bool {
		p.begun().goToStage(proto.TimeStage)
		p.end()
		return spec(p.begun().snapshot())["stage"] == proto.TimeStage
	}},
	{"keeps the session", deciding(Policy{Reset: func(View, Keep) Keep {
		return Keep{Session: true, Booking: true, History: true}
	}}), func(p *party) bool {
		p.begun().end()
		return code(p.answers()[0]) == nil
	}},
}

var messages = []fault{
	{"agent.message runs a tool", taking(func(_ View, msg Message) []Message {
		if msg.Type() != proto.AgentMessage {
			return []Message{msg}
		}
		return []Message{msg, {"v": proto.Version, "type": proto.ToolCall, "payload": object{"toolName": "highlight",
			"params": object{"itemId": "m1"}}}}
	}), func(p *party) bool {
		return strings.Contains(p.begun().types(func() { p.send(proto.AgentMessage, object{"text": "a"}) }), proto.ToolResult)
	}},
	{"replyTo is missing", telling(func(_ View, msg Message, send func(Message)) {
		send(msg.Without("replyTo"))
	}), func(p *party) bool {
		return p.begun().answers()[0]["replyTo"] == nil
	}},
	{"user.message has no stage", telling(func(_ View, msg Message, send func(Message)) {
		if msg.Type() == proto.UserMessage {
			delete(msg.Payload(), "stage")
		}
		send(msg)
	}), func(p *party) bool {
		p.begun()
		return p.answers(func() { _ = p.h.Say("a") })[0].Payload()["stage"] == nil
	}},
	{"state precedes the result", func(o *Options) {
		var held []Message
		o.Outbound = func(_ View, msg Message, send func(Message)) {
			if msg.Type() == proto.ToolResult {
				held = append(held, msg)
				return
			}
			send(msg)
			for _, msg := range held {
				send(msg)
			}
			held = nil
		}
	}, func(p *party) bool {
		return p.begun().types(p.calling(proto.Highlight,
			object{"itemId": "m1"})) == "state.updated tool.result snapshot.state"
	}},
	{"state is sent before the change", taking(func(v View, msg Message) []Message {
		if msg.Type() == proto.ToolCall {
			s := v.State()
			v.Send(wire.New(proto.StateUpdated, object{"source": "host", "uiSpec": s.UISpec,
				"messageHistory": s.MessageHistory, "toolSchema": s.ToolSchema}))
		}
		return []Message{msg}
	}), func(p *party) bool {
		return strings.HasPrefix(p.begun().types(p.calling(proto.Highlight, object{"itemId": "m1"})), proto.StateUpdated)
	}},
	{"answers twice", telling(func(_ View, msg Message, send func(Message)) {
		send(msg)
		send(msg)
	}), func(p *party) bool {
		return strings.HasPrefix(p.begun().types(func() { p.call("teleport", object{}) }), "snapshot.state") ||
			strings.Count(p.types(func() { p.call("teleport", object{}) }), proto.ErrorMessage) == 2
	}},
}

// logOf returns the log of a short session as text.
func logOf(p *party) string {
	p.begun().answers(p.calling(proto.Highlight, object{"itemId": "m1"}))
	p.end()
	names, err := filepath.Glob(filepath.Join(p.logs, "study", "*.jsonl"))
	if err != nil || len(names) == 0 {
		return ""
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

var logs = []fault{
	{"index restarts", deciding(Policy{Record: func(_ View, e Entry) []Entry {
		e["eventIndex"] = 1
		return []Entry{e}
	}}), func(p *party) bool { return strings.Count(logOf(p), `"eventIndex":1,`) > 1 }},
	{"payload is wrapped", deciding(Policy{Record: func(_ View, e Entry) []Entry {
		e["payload"] = object{"message": e["payload"]}
		return []Entry{e}
	}}), func(p *party) bool { return strings.Contains(logOf(p), `"payload":{"message":{`) }},
	{"directions are the agent's", deciding(Policy{Record: func(_ View, e Entry) []Entry {
		e["direction"] = map[any]any{"in": "out", "out": "in"}[e["direction"]]
		return []Entry{e}
	}}), func(p *party) bool {
		return strings.Contains(logOf(p), `"direction":"out","eventIndex":1,`)
	}},
	{"failures are not logged", deciding(Policy{Record: func(_ View, e Entry) []Entry {
		if e["direction"] == "in" {
			return nil
		}
		return []Entry{e}
	}}), func(p *party) bool { return !strings.Contains(logOf(p), proto.ToolCall) }},
	{"names a missing file", telling(func(_ View, msg Message, send func(Message)) {
		if msg.Type() == proto.SessionEnded {
			msg.Payload()["logFile"] = "logs/study/none.jsonl"
		}
		send(msg)
	}), func(p *party) bool {
		name, _ := p.begun().end()["logFile"].(string)
		_, err := os.Stat(filepath.Join(p.logs, strings.TrimPrefix(name, DefaultLogName)))
		return err != nil
	}},
	{"own events are logged by a hook", taking(func(v View, msg Message) []Message {
		v.Write(Entry{"type": "debug"})
		return []Message{msg}
	}), func(p *party) bool { return strings.Contains(logOf(p), `{"type":"debug"}`) }},
}
