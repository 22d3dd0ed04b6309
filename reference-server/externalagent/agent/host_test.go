package agent

import (
	"fmt"
	"maps"
	"slices"

	proto "parley/protocol/externalagent"
)

// host is a scripted relay and host with the default booking flow: it takes what the agent sends and returns the
// replies.
type host struct {
	flat        bool // announce flat maps instead of JSON Schemas
	updateFirst bool // state.updated before tool.result
	seats       int  // seats required before the seat stage can be left; default 1

	// before sees every message and may answer instead of the host.
	before func(h *host, msg Message) (answer []Message, answered bool)
	// after sees every reply and may change it.
	after func(h *host, msg Message, answer []Message) []Message

	active   bool
	sessions int
	stage    int // len(proto.Stages()) once booked
	chosen   map[string][]string
	tickets  map[string]float64
	history  []any
	calls    []string // tool and params of every tool.call, in order
	said     []string // every agent.message
	ended    []string // every reason of a session.end
}

func (h *host) handle(msg Message) []Message {
	if h.before != nil {
		if answer, answered := h.before(h, msg); answered {
			return answer
		}
	}
	answer := h.answer(msg)
	if h.after != nil {
		answer = h.after(h, msg, answer)
	}
	return answer
}

func (h *host) answer(msg Message) []Message {
	payload := msg.Payload()
	switch msg.Type() {
	case proto.RelayJoin:
		return []Message{answerTo(msg, proto.RelayJoined, payload)}
	case proto.SessionStart:
		h.begin()
		return []Message{answerTo(msg, proto.SessionStarted, object{"sessionId": h.id()})}
	}
	if !h.active {
		return []Message{refusal(msg, proto.SessionNotActive)}
	}
	switch msg.Type() {
	case proto.SnapshotGet:
		return []Message{h.snapshot(msg)}
	case proto.ToolCall:
		return h.call(msg)
	case proto.AgentMessage:
		text, _ := payload["text"].(string)
		h.said = append(h.said, text)
		h.history = append(h.history, object{"role": "agent", "text": text})
		return []Message{h.update()}
	case proto.SessionEnd:
		reason, _ := payload["reason"].(string)
		h.ended = append(h.ended, reason)
		h.active = false
		return []Message{answerTo(msg, proto.SessionEnded, object{"sessionId": h.id(), "logFile": "logs/study/a.jsonl",
			"stateReset": true})}
	}
	return []Message{refusal(msg, proto.InvalidMessage)}
}

func (h *host) begin() {
	h.active, h.stage, h.chosen, h.tickets, h.history = true, 0, map[string][]string{}, map[string]float64{}, []any{}
	h.sessions++
}

func (h *host) id() string { return fmt.Sprintf("s-%d", h.sessions) }

func (h *host) name() string {
	if h.stage >= len(proto.Stages()) {
		return ""
	}
	return proto.Stages()[h.stage]
}

func (h *host) spec() any {
	stage := h.name()
	if stage == "" {
		return nil
	}
	spec := object{"stage": stage, "items": []any{}, "selected": h.chosen[stage], "summary": []any{}}
	switch stage {
	case proto.ConfirmStage:
	case proto.TicketStage:
		spec["quantities"] = h.tickets
		spec["items"] = []any{item3("child", false, "cheap"), item3("adult", true, "full")}
	default:
		spec["items"] = []any{item3(stage+"-0", false, "early"), item3(stage+"-1", true, "afternoon"), item3(stage+"-2",
			true, "evening")}
	}
	return spec
}

func item3(id string, available bool, part string) object {
	return object{"id": id, "label": "The " + id, "available": available, "attributes": object{"part": part,
		"rating": 7.5}}
}

// tools returns the tools of a stage in an unhelpful order.
func (h *host) tools() []any {
	itemID, quantity := object{"type": "string"}, object{"type": "integer", "minimum": 0}
	all := map[string]object{
		proto.Highlight: {"itemId": itemID}, proto.Prev: {}, proto.Next: {}, proto.Select: {"itemId": itemID},
		proto.Sort: {"attribute": object{"type": "string", "enum": []any{"part", "rating"}},
			"order": object{"type": "string", "enum": []any{"asc", "desc"}}},
		proto.PostMessage: {"text": object{"type": "string"}}, proto.SetQuantity: {"itemId": itemID, "quantity": quantity},
	}
	names := []string{proto.Highlight, proto.Sort, proto.PostMessage, proto.Prev, proto.Next, proto.Select}
	switch h.name() {
	case "":
		return []any{}
	case proto.TicketStage:
		names[5] = proto.SetQuantity
	case proto.ConfirmStage:
		names = []string{proto.Prev, proto.PostMessage, proto.Next}
	}
	var tools []any
	for _, name := range names {
		var parameters any = all[name]
		if !h.flat {
			required := []any{}
			for _, p := range slices.Sorted(maps.Keys(all[name])) {
				required = append(required, p)
			}
			parameters = object{"type": "object", "properties": all[name], "required": required, "additionalProperties": false}
		}
		tools = append(tools, object{"name": name, "parameters": parameters})
	}
	return tools
}

func (h *host) state() object {
	return object{"uiSpec": h.spec(), "messageHistory": slices.Clone(h.history), "toolSchema": h.tools()}
}

func (h *host) snapshot(msg Message) Message {
	state := h.state()
	state["sessionId"] = h.id()
	return answerTo(msg, proto.SnapshotState, state)
}

func (h *host) update() Message {
	state := h.state()
	state["source"] = "host"
	return newPush(proto.StateUpdated, state)
}

func (h *host) call(msg Message) []Message {
	name, _ := msg.Payload()["toolName"].(string)
	params, _ := msg.Payload()["params"].(object)
	h.calls = append(h.calls, name+" "+canonicalText(params))
	if h.name() == "" {
		return []Message{refusal(msg, proto.NoActiveSpec)}
	}
	if code := h.execute(name, params); code != "" {
		return []Message{refusal(msg, code)}
	}
	messages := []Message{answerTo(msg, proto.ToolResult, object{"ok": true, "toolName": name}), h.update()}
	if h.updateFirst {
		slices.Reverse(messages)
	}
	return messages
}

func (h *host) execute(name string, params object) (code string) {
	stage := h.name()
	id, _ := params["itemId"].(string)
	switch name {
	case proto.Select:
		if id != stage+"-1" && id != stage+"-2" {
			return proto.ToolExecutionFailed
		}
		if stage == proto.SeatStage {
			h.chosen[stage] = append(slices.Clone(h.chosen[stage]), id)
		} else {
			h.chosen[stage] = []string{id}
		}
	case proto.SetQuantity:
		if id != "adult" {
			return proto.ToolExecutionFailed
		}
		h.tickets = map[string]float64{id: params["quantity"].(float64)}
	case proto.Next:
		switch chosen := float64(len(h.chosen[stage])); {
		case stage == proto.SeatStage && chosen < float64(h.seats),
			stage == proto.TicketStage && h.tickets["adult"] != float64(len(h.chosen[proto.SeatStage])),
			stage != proto.TicketStage && stage != proto.ConfirmStage && chosen == 0:
			return proto.ToolExecutionFailed
		}
		h.stage++
	case proto.Prev:
		h.stage = max(0, h.stage-1)
	case proto.PostMessage:
		h.history = append(h.history, object{"role": "assistant", "text": params["text"]})
	}
	return ""
}

func answerTo(msg Message, kind string, payload object) Message {
	return Message{"v": proto.Version, "type": kind, "replyTo": msg["id"], "payload": payload}
}

func newPush(kind string, payload object) Message {
	return Message{"v": proto.Version, "type": kind, "payload": payload}
}

func refusal(msg Message, code string) Message {
	return answerTo(msg, proto.ErrorMessage, object{"code": code, "message": "no"})
}
