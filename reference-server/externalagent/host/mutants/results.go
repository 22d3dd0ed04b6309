package mutants

import (
	"slices"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

var (
	saysOkOnly = []string{proto.Next, proto.Prev, proto.PostMessage}
	hasQuickUI = []string{proto.Select, proto.SetQuantity, proto.Filter, proto.Sort, proto.Highlight}
)

// resultFaults send a wrong tool.result, or none.
var resultFaults = map[string]fault{
	"result-is-an-update":    answered(proto.ToolResult, proto.StateUpdated, updateOf),
	"calls-refused":          deciding(policy{Ready: refusingCalls}),
	"calls-refused-with-why": hearing(callsWithReason),

	"result-names-tool-before": hosting(namesToolBefore),
	"result-in-snake-case":     resulting(nil, spoil.Text("toolName", spoil.SnakeCase)),
	"next-result-names-stage":  resultingOf(nextNamesStage),

	"ok-false-for-done":        resulting(hasQuickUI, spoil.Set("ok", false)),
	"quick-ui-null":            resulting(hasQuickUI, spoil.Set("uiSpec", nil)),
	"quick-ui-false-where-not": resulting(saysOkOnly, spoil.Set("uiSpec", false)),
	"quick-ui-is-stage":        resultingOf(func(v view, _ call, payload object) { payload["uiSpec"] = v.Shown() }),

	"quick-ui-one-behind":        resultingOf(quickSent),
	"quick-ui-forgets-choice":    quickly(spoil.Set("selected", []any{})),
	"quick-ui-of-next-stage":     quickly(spoil.Set("stage", proto.ConfirmStage)),
	"quick-ui-guesses-stock":     quickly(soldOut),
	"quick-ui-total-not-reduced": quickly(totalTwice),
	"quick-ui-in-next-of-before": hosting(quickNextBefore),
}

// resultingOf changes the payloads of tool.result in place.
func resultingOf(f func(v view, c call, payload object)) fault {
	return deciding(policy{Result: func(v view, c call, payload object) object {
		f(v, c, payload)
		return payload
	}})
}

// resulting changes the results of some tools; nil means all tools.
func resulting(tools []string, f func(payload object)) fault {
	return resultingOf(func(_ view, c call, payload object) {
		if tools == nil || slices.Contains(tools, c.Tool) {
			f(payload)
		}
	})
}

// resultingIn changes the uiSpec of the results that have one.
func resultingIn(f func(v view, c call, ui object)) fault {
	return resultingOf(func(v view, c call, payload object) {
		if ui, has := payload["uiSpec"].(object); has {
			f(v, c, ui)
		}
	})
}

func quickly(f func(ui object)) fault {
	return resultingIn(func(_ view, _ call, ui object) { f(ui) })
}

func refusingCalls(v view, msg message, why *refusal) *refusal {
	if msg.Type() == proto.ToolCall && v.Active() && v.Shown() != "" {
		return &refusal{Code: proto.InvalidMessage, Text: "tool calls are disabled for this study"}
	}
	return why
}

// callsWithReason refuses a call with a reason, as an unknown member.
func callsWithReason(_ view, msg message) []message {
	if _, has := msg.Payload()["reason"]; has && toolOf(msg) != "" {
		msg.Payload()["params"] = nil
	}
	return []message{msg}
}

// namesToolBefore names the tool of the previous call.
func namesToolBefore(h *hostOptions) {
	before := proto.Select
	h.Policy.Result = func(_ view, c call, payload object) object {
		payload["toolName"], before = before, c.Tool
		return payload
	}
}

func nextNamesStage(v view, c call, payload object) {
	if c.Tool == proto.Next {
		payload["toolName"] = v.Stage()
	}
}

// quickSent shows the form of the last sent state.
func quickSent(v view, _ call, payload object) {
	if _, has := payload["uiSpec"]; has {
		payload["uiSpec"] = v.Sent().UISpec
	}
}

// soldOut marks the first item as unavailable.
func soldOut(ui object) {
	if items := itemsOf(ui); len(items) > 0 {
		items[0].(object)["available"] = false
	}
}

// totalTwice adds the prices twice.
func totalTwice(ui object) {
	if total, has := ui["total"].(float64); has {
		ui["total"] = 2 * total
	}
}

// quickNextBefore answers next with the previous form.
func quickNextBefore(h *hostOptions) {
	var before any
	h.Policy.Execute = func(v view, _ call, run func() *refusal) *refusal {
		before = v.State().UISpec
		return run()
	}
	h.Policy.Result = func(_ view, c call, payload object) object {
		if c.Tool == proto.Next {
			payload["uiSpec"] = before
		}
		return payload
	}
}

// effectFaults do not announce the effect of a call, announce it incorrectly, or have no effect.
var effectFaults = map[string]fault{
	"no-updates":                    updating(func(_ view, msg message) bool { return msg.Type() == proto.SessionStart }),
	"no-updates-at-all":             updating(func(view, message) bool { return false }),
	"no-updates-behind-quick":       notAfter(hasQuickUI...),
	"no-updates-behind-next":        notAfter(proto.Next),
	"no-updates-behind-prev":        notAfter(proto.Prev),
	"no-updates-behind-post":        notAfter(proto.PostMessage),
	"no-updates-behind-quantity":    notAfter(proto.SetQuantity),
	"no-update-of-next-behind-prev": hosting(nextBehindPrevSilent),
	"no-updates-behind-zero":        updating(func(_ view, msg message) bool { return !setsZero(msg) }),
	"updates-behind-select-only": notAfter(proto.Next, proto.Prev, proto.PostMessage, proto.SetQuantity,
		proto.Filter, proto.Sort, proto.Highlight),
	"no-updates-behind-users-words": updating(func(_ view, msg message) bool { return msg.Type() != proto.UserMessage }),
	"no-updates-behind-talk":        updating(func(_ view, msg message) bool { return msg.Type() != proto.AgentMessage }),
	"no-update-of-the-end":          updating(func(v view, _ message) bool { return v.Shown() != "" }),
	"updates-when-asked":            hosting(updatesWhenAsked),

	"updates-answer-request": hosting(updatesAnswer),
	"updates-come-early":     hosting(updatesEarly),
	"updates-one-behind":     oneBehind(host.InUpdate),
	"updates-told-last":      showing(lastInUpdates),
	"updates-end-with-old":   hosting(endsWithOld),
	"updates-keep-history": cached(host.InUpdate, func(s *state, first state) {
		s.MessageHistory = first.MessageHistory
	}),
	"updates-keep-tools":        cached(host.InUpdate, func(s *state, first state) { s.ToolSchema = first.ToolSchema }),
	"updates-keep-ui":           cached(host.InUpdate, func(s *state, first state) { s.UISpec = first.UISpec }),
	"updates-have-changes-only": spoiling(proto.StateUpdated, changesOnly),
	"updates-lack-last-words":   spoiling(proto.StateUpdated, spoil.Change("messageHistory", butLast)),
	"updates-of-tools-before":   hosting(toolsBefore),

	"next-changes-nothing": doingNothing(proto.Next),
	"last-next-changes-nothing": deciding(policy{Execute: func(v view, c call, run func() *refusal) *refusal {
		if c.Tool == proto.Next && v.Shown() == proto.ConfirmStage {
			return nil
		}
		return run()
	}}),
	"prev-changes-nothing":   doingNothing(proto.Prev),
	"post-changes-nothing":   doingNothing(proto.PostMessage),
	"select-changes-nothing": doingNothing(proto.Select),
}

// updating sends the state only after some messages.
func updating(which func(v view, msg message) bool) fault {
	return deciding(policy{Updates: func(v view, msg message, _ bool) bool { return which(v, msg) }})
}

// notAfter sends no state after calls of some tools.
func notAfter(tools ...string) fault {
	return updating(func(_ view, msg message) bool { return !slices.Contains(tools, toolOf(msg)) })
}

// nextBehindPrevSilent sends no state after a call of next that follows one of prev.
func nextBehindPrevSilent(h *hostOptions) {
	before := ""
	h.Policy.Updates = func(_ view, msg message, follows bool) bool {
		if !isCall(msg) {
			return follows
		}
		silent := before == proto.Prev && toolOf(msg) == proto.Next
		before = toolOf(msg)
		return follows && !silent
	}
}

// setsZero reports whether a message sets a quantity to 0.
func setsZero(msg message) bool {
	params, _ := msg.Payload()["params"].(object)
	return toolOf(msg) == proto.SetQuantity && params["quantity"] == host.Number("0")
}

// doingNothing confirms one tool without executing it.
func doingNothing(name string) fault {
	return deciding(policy{Execute: func(_ view, c call, run func() *refusal) *refusal {
		if c.Tool == name {
			return nil
		}
		return run()
	}})
}

// updatesWhenAsked withholds a state until a request is refused, and sends it after the error.
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

// updatesAnswer puts the last answered request into replyTo of each state.
func updatesAnswer(h *hostOptions) {
	last := any(nil)
	h.Outbound = func(_ view, msg message, send sender) {
		if isAnswer(msg) {
			last = msg["replyTo"]
		}
		if msg.Type() == proto.StateUpdated && last != nil {
			msg = msg.With("replyTo", last)
		}
		send(msg)
	}
}

// updatesEarly sends the state before a call is executed.
func updatesEarly(h *hostOptions) {
	h.Inbound = func(v view, msg message) []message {
		if toolOf(msg) != "" && v.Active() {
			v.Send(wire.New(proto.StateUpdated, updateOf(v, msg)))
		}
		return []message{msg}
	}
	h.Policy.Updates = func(_ view, msg message, _ bool) bool { return toolOf(msg) == "" }
}

func lastInUpdates(v view, in part, s *state) {
	if last := v.Sent(); in == host.InUpdate && last.ToolSchema != nil {
		*s = last
	}
}

// endsWithOld sends the new state, then the previous one.
func endsWithOld(h *hostOptions) {
	var before any
	h.Outbound = func(_ view, msg message, send sender) {
		send(msg)
		if msg.Type() != proto.StateUpdated {
			return
		}
		if before != nil {
			send(wire.New(proto.StateUpdated, wire.Plain(before).(object)))
		}
		before = wire.Plain(msg.Payload())
	}
}

// changesOnly omits the parts of a form that seldom change.
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

// toolsBefore announces the previous stage's tools with the new stage's form.
func toolsBefore(h *hostOptions) {
	stage, before, now := "", []any(nil), []any(nil)
	h.Policy.State = func(v view, in part, s state) state {
		if v.Shown() != stage {
			stage, before = v.Shown(), now
		}
		if now = s.ToolSchema; in == host.InUpdate && before != nil {
			s.ToolSchema, before = copied(state{ToolSchema: before}).ToolSchema, nil
		}
		return s
	}
}
