package hosts

import (
	"slices"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
)

var (
	saysOkOnly = []string{proto.Next, proto.Prev, proto.PostMessage}
	hasQuickUI = []string{proto.Select, proto.SetQuantity, proto.Filter, proto.Sort, proto.Highlight}
)

// resultFaults get tool.result wrong, or do not send it.
var resultFaults = map[string]fault{
	"calls-unanswered": silent(proto.ToolResult),
	"results-unnamed":  unnamed(proto.ToolResult),
	"result-is-an-update": rewriting(proto.ToolResult, func(v view, msg message) message {
		return host.Reply(answeredBy(msg), proto.StateUpdated, stateOf(v.State()))
	}),
	"results-have-own-type":  both(trusting, telling(func() host.Outbound { return retyping(proto.ToolResult, "tool.response") })),
	"calls-refused":          ruling(rules{ready: refusingCalls}),
	"calls-refused-with-why": taking(callsWithReason),

	"ok-is-text":          resulting(nil, set("ok", "true")),
	"ok-is-number":        resulting(nil, set("ok", 1)),
	"ok-null":             resulting(nil, set("ok", nil)),
	"ok-missing":          resulting(nil, lose("ok")),
	"ok-named-success":    resulting(nil, rename("ok", "success")),
	"ok-missing-in-quick": resulting(hasQuickUI, lose("ok")),
	"ok-missing-in-next":  resulting([]string{proto.Next}, lose("ok")),
	"ok-false-for-done":   resulting(hasQuickUI, set("ok", false)),

	"result-without-name":      resulting(nil, lose("toolName")),
	"result-name-null":         resulting(nil, set("toolName", nil)),
	"result-names-tool":        resulting(hasQuickUI, rename("toolName", "tool")),
	"result-names-tool-before": deciding(namesToolBefore),
	"result-names-call":        resulting(nil, set("toolName", proto.ToolCall)),
	"result-in-snake-case":     resulting(nil, change("toolName", func(v any) any { return snakeCase(v.(string)) })),
	"next-result-names-stage":  ruling(rules{result: nextNamesStage}),
	"next-result-name-null":    resulting([]string{proto.Next}, set("toolName", nil)),
	"post-result-name-empty":   resulting([]string{proto.PostMessage}, set("toolName", "")),
	"prev-result-names-next":   resulting([]string{proto.Prev}, set("toolName", proto.Next)),

	"quick-ui-is-text":         resulting(hasQuickUI, change("uiSpec", jsonText)),
	"quick-ui-is-list":         resulting(hasQuickUI, change("uiSpec", func(v any) any { return []any{v} })),
	"quick-ui-null":            resulting(hasQuickUI, set("uiSpec", nil)),
	"quick-ui-false-where-not": resulting(saysOkOnly, set("uiSpec", false)),
	"quick-ui-is-stage":        ruling(rules{result: quickStage}),

	"quick-ui-one-behind":        ruling(rules{result: quickTold}),
	"quick-ui-forgets-choice":    quickly(set("selected", []any{})),
	"quick-ui-of-next-stage":     quickly(set("stage", proto.ConfirmStage)),
	"quick-ui-guesses-stock":     quickly(change("items", soldOut)),
	"quick-ui-total-not-reduced": quickly(totalTwice),
	"quick-ui-in-next-of-before": deciding(quickNextBefore),
}

// resulting spoils the results of some tools; of all, without them.
func resulting(tools []string, f func(payload object)) fault {
	return ruling(rules{result: func(v view, c call) object {
		payload := correct.Result(v, c)
		if tools == nil || slices.Contains(tools, c.Tool) {
			f(payload)
		}
		return payload
	}})
}

// quickly spoils the uiSpec of results that have one.
func quickly(f func(ui object)) fault {
	return ruling(rules{result: func(v view, c call) object {
		payload := correct.Result(v, c)
		if ui, has := payload["uiSpec"].(object); has {
			f(ui)
		}
		return payload
	}})
}

func retyping(kind, other string) host.Outbound {
	return func(_ view, msg message, send sender) {
		if msg.Type() == kind {
			msg = msg.With("type", other)
		}
		send(msg)
	}
}

func refusingCalls(v view, msg message) *refusal {
	if msg.Type() == proto.ToolCall && v.Active() && v.Shown() != "" {
		return &refusal{Code: proto.InvalidMessage, Text: "tool calls are disabled for this study"}
	}
	return correct.Ready(v, msg)
}

// callsWithReason refuses a call that gives a reason, as a member that it does not know.
func callsWithReason(_ view, msg message) []message {
	if _, has := msg.Payload()["reason"]; has && toolOf(msg) != "" {
		msg.Payload()["params"] = nil
	}
	return []message{msg}
}

// namesToolBefore names the tool of the call before.
func namesToolBefore() rules {
	before := proto.Select
	return rules{result: func(v view, c call) object {
		payload := correct.Result(v, c)
		payload["toolName"], before = before, c.Tool
		return payload
	}}
}

func nextNamesStage(v view, c call) object {
	payload := correct.Result(v, c)
	if c.Tool == proto.Next {
		payload["toolName"] = v.Stage()
	}
	return payload
}

func quickStage(v view, c call) object {
	payload := correct.Result(v, c)
	payload["uiSpec"] = v.Shown()
	return payload
}

func quickTold(v view, c call) object {
	payload := correct.Result(v, c)
	if _, has := payload["uiSpec"]; has {
		payload["uiSpec"] = v.Told().UISpec
	}
	return payload
}

// soldOut takes the items off that have been chosen.
func soldOut(v any) any {
	items, _ := v.([]any)
	if len(items) > 0 {
		items[0].(object)["available"] = false
	}
	return items
}

// totalTwice adds the price of a ticket that has been added already.
func totalTwice(ui object) {
	if total, has := ui["total"].(float64); has {
		ui["total"] = 2 * total
	}
}

// quickNextBefore answers next with the form that it has left.
func quickNextBefore() rules {
	var before any
	return rules{
		execute: func(v view, c call, run func() *refusal) *refusal {
			before = v.State().UISpec
			return run()
		},
		result: func(v view, c call) object {
			payload := correct.Result(v, c)
			if c.Tool == proto.Next {
				payload["uiSpec"] = before
			}
			return payload
		},
	}
}

// effectFaults do not announce what a call has changed, or not as it is; or it changes nothing.
var effectFaults = map[string]fault{
	"no-updates":                    ruling(rules{updates: func(_ view, msg message) bool { return msg.Type() == proto.SessionStart }}),
	"no-updates-at-all":             ruling(rules{updates: func(view, message) bool { return false }}),
	"no-updates-behind-quick":       notBehind(hasQuickUI...),
	"no-updates-behind-next":        notBehind(proto.Next),
	"no-updates-behind-prev":        notBehind(proto.Prev),
	"no-updates-behind-post":        notBehind(proto.PostMessage),
	"no-updates-behind-quantity":    notBehind(proto.SetQuantity),
	"updates-behind-select-only":    notBehind(proto.Next, proto.Prev, proto.PostMessage, proto.SetQuantity, proto.Filter, proto.Sort, proto.Highlight),
	"no-updates-behind-users-words": ruling(rules{updates: func(_ view, msg message) bool { return msg.Type() != proto.UserMessage }}),
	"no-updates-behind-talk":        ruling(rules{updates: func(_ view, msg message) bool { return msg.Type() != proto.AgentMessage }}),
	"no-update-of-the-end":          ruling(rules{updates: func(v view, msg message) bool { return v.Shown() != "" }}),
	"updates-when-asked":            hosting(updatesWhenAsked),

	"updates-answer-request":    telling(updatesAnswer),
	"updates-come-early":        hosting(updatesEarly),
	"updates-one-behind":        deciding(oneBehind(host.InUpdate)),
	"updates-told-last":         ruling(rules{state: toldInUpdates}),
	"updates-end-with-old":      hosting(endsWithOld),
	"updates-keep-history":      deciding(cached(host.InUpdate, func(s, first state) state { s.MessageHistory = first.MessageHistory; return s })),
	"updates-keep-tools":        deciding(cached(host.InUpdate, func(s, first state) state { s.ToolSchema = first.ToolSchema; return s })),
	"updates-keep-ui":           deciding(cached(host.InUpdate, func(s, first state) state { s.UISpec = first.UISpec; return s })),
	"updates-have-changes-only": spoiling(proto.StateUpdated, changesOnly),
	"updates-lack-last-words":   spoiling(proto.StateUpdated, change("messageHistory", butLast)),
	"updates-of-tools-before":   deciding(toolsBefore),

	"next-changes-nothing":   executing(proto.Next, func(func() *refusal) *refusal { return nil }),
	"prev-changes-nothing":   executing(proto.Prev, func(func() *refusal) *refusal { return nil }),
	"post-changes-nothing":   executing(proto.PostMessage, func(func() *refusal) *refusal { return nil }),
	"select-changes-nothing": executing(proto.Select, func(func() *refusal) *refusal { return nil }),
}

// notBehind announces nothing behind the calls of some tools.
func notBehind(tools ...string) fault {
	return ruling(rules{updates: func(_ view, msg message) bool { return !slices.Contains(tools, toolOf(msg)) }})
}

// executing executes one tool otherwise.
func executing(name string, f func(run func() *refusal) *refusal) fault {
	return ruling(rules{execute: func(_ view, c call, run func() *refusal) *refusal {
		if c.Tool != name {
			return run()
		}
		return f(run)
	}})
}

// updatesWhenAsked keeps what is to be announced until an agent asks for something, and announces it behind the answer.
func updatesWhenAsked(h *hostOptions) {
	var kept message
	h.Outbound = func(_ view, msg message, send sender) {
		if msg.Type() == proto.StateUpdated {
			kept = msg
			return
		}
		send(msg)
		if kept != nil && msg.Type() == proto.ErrorMessage {
			send(kept)
			kept = nil
		}
	}
}

// updatesAnswer names the request that was answered last, as if the state answered it too.
func updatesAnswer() host.Outbound {
	last := any(nil)
	return func(_ view, msg message, send sender) {
		if id, isAnswer := msg["replyTo"]; isAnswer {
			last = id
		}
		if msg.Type() == proto.StateUpdated && last != nil {
			msg = msg.With("replyTo", last)
		}
		send(msg)
	}
}

// updatesEarly announces the state when a call comes in, and not once it is done.
func updatesEarly(h *hostOptions) {
	h.Inbound = func(v view, msg message) []message {
		if toolOf(msg) != "" && v.Active() {
			v.Send(host.NewMessage(proto.StateUpdated, stateOf(v.State())))
		}
		return []message{msg}
	}
	h.Policy = rules{updates: func(_ view, msg message) bool { return toolOf(msg) == "" }}
}

func toldInUpdates(v view, in host.Part) state {
	if in == host.InUpdate && v.Told().ToolSchema != nil {
		return v.Told()
	}
	return v.State()
}

// endsWithOld announces the new state, and behind it the one before, which was under way.
func endsWithOld(h *hostOptions) {
	var before object
	h.Outbound = func(v view, msg message, send sender) {
		send(msg)
		if msg.Type() != proto.StateUpdated {
			return
		}
		if before != nil {
			send(host.NewMessage(proto.StateUpdated, read(encode(before))))
		}
		before = read(encode(msg.Payload()))
	}
}

// changesOnly leaves out of the form what seldom changes.
func changesOnly(payload object) {
	if ui, shown := payload["uiSpec"].(object); shown {
		for _, name := range []string{"stages", "title", "summary"} {
			delete(ui, name)
		}
	}
}

func butLast(v any) any {
	all, _ := v.([]any)
	return all[:max(0, len(all)-1)]
}

// toolsBefore announces the tools of the stage before together with the form of the new one.
func toolsBefore() rules {
	stage, before, now := "", []any(nil), []any(nil)
	return rules{state: func(v view, in host.Part) state {
		s := v.State()
		if v.Shown() != stage {
			stage, before = v.Shown(), now
		}
		if now = s.ToolSchema; in == host.InUpdate && before != nil {
			s.ToolSchema, before = copied(state{ToolSchema: before}).ToolSchema, nil
		}
		return s
	}}
}
