package mutants

import (
	"maps"
	"slices"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// toolFaults accept tools that are not announced, or refuse announced ones.
var toolFaults = map[string]fault{
	"unknown-tool-ok":           deciding(policy{Announced: anyTool, Execute: onlyAnnounced}),
	"unknown-tool-unanswered":   whereRefused(proto.UnknownTool, nil),
	"unknown-tool-without-code": whereRefused(proto.UnknownTool, falseResult),
	"other-stages-tools-ok":     deciding(policy{Announced: ofAnyStage, Params: anyParams, Execute: onlyAnnounced}),
	"other-stages-tools-fail":   deciding(policy{Announced: ofAnyStage, Params: anyParams}),
	"other-stages-no-params":    deciding(policy{Announced: ofAnyStage, Params: noParams}),
	"tools-of-stage-before":     deciding(policy{Announced: ofStageBefore}),
	"tools-of-stage-left":       hosting(toolsOfStageLeft),
	"highlight-not-implemented": without(proto.Highlight),
	"sort-not-implemented":      without(proto.Sort),
	"prev-not-implemented":      without(proto.Prev),
	"post-not-implemented":      without(proto.PostMessage),
	"tools-by-lower-case":       hearing(lowerTool),
	"call-without-tool-ok":      toolless(func(_ any, there bool) bool { return !there }),
	"call-of-a-number-ok":       toolless(func(_ any, there bool) bool { return there }),
	"call-of-a-number-dropped": ignoring(func(_ view, msg message) bool {
		return isCall(msg) && toolOf(msg) == "" && has(msg, "toolName")
	}),
	"call-without-tool-fails":   toollessCode(proto.ToolExecutionFailed),
	"call-without-tool-no-spec": toollessCode(proto.NoActiveSpec),
}

func isCall(msg message) bool { return msg.Type() == proto.ToolCall }

func has(msg message, name string) bool {
	_, there := msg.Payload()[name]
	return there
}

func isAnnounced(v view, name string) bool { return host.Find(v.ToolsAt(v.Shown()), name) != nil }

// anyTool finds a tool for any name.
func anyTool(_ view, _ []tool, name string, found *tool) *tool {
	if found == nil {
		found = &tool{Name: name}
	}
	return found
}

// toolsOfStageLeft executes the tools of the stage that prev has left, until the next call of next.
func toolsOfStageLeft(h *hostOptions) {
	var left []tool
	h.Policy.Announced = func(_ view, announced []tool, name string, found *tool) *tool {
		if found == nil {
			found = host.Find(left, name)
		}
		switch name {
		case proto.Prev:
			left = announced
		case proto.Next:
			left = nil
		}
		return found
	}
}

// ofAnyStage finds a tool of any stage.
func ofAnyStage(v view, _ []tool, name string, found *tool) *tool {
	for _, stage := range proto.Stages() {
		if found == nil {
			found = host.Find(v.ToolsAt(stage), name)
		}
	}
	if found == nil && (name == proto.Select || name == proto.SetQuantity) { // their stages may have no items yet
		found = &tool{Name: name}
	}
	return found
}

// anyParams accepts any params for a tool that is not announced.
func anyParams(v view, t tool, _ object, why *refusal) *refusal {
	if !isAnnounced(v, t.Name) {
		return nil
	}
	return why
}

func noParams(v view, t tool, _ object, why *refusal) *refusal {
	if !isAnnounced(v, t.Name) {
		why = &refusal{Code: proto.InvalidParams, Text: t.Name + " requires an item of this stage"}
	}
	return why
}

// onlyAnnounced executes announced tools, and confirms any other without executing it.
func onlyAnnounced(v view, c call, run func() *refusal) *refusal {
	if !isAnnounced(v, c.Tool) {
		return nil
	}
	return run()
}

// ofStageBefore looks up a tool in the schema of the previous stage, as a stale closure would.
func ofStageBefore(v view, _ []tool, name string, found *tool) *tool {
	if at := slices.Index(proto.Stages(), v.Shown()); at > 0 && host.Find(v.ToolsAt(proto.Stages()[at-1]), name) == nil {
		return nil
	}
	return found
}

// without does not know one tool.
func without(name string) fault {
	return deciding(policy{Announced: func(_ view, _ []tool, asked string, found *tool) *tool {
		if asked == name {
			return nil
		}
		return found
	}})
}

// lowerTool looks tools up by lower-case name, although some names are in mixed case.
func lowerTool(_ view, msg message) []message {
	switch name := toolOf(msg); name {
	case proto.SetQuantity, proto.PostMessage:
		msg.Payload()["toolName"] = spoil.SnakeCase(name)
	}
	return []message{msg}
}

// toolless confirms some calls without a tool name.
func toolless(which func(v any, there bool) bool) fault {
	const none = "noop"
	return hosting(func(h *hostOptions) {
		h.Inbound = func(_ view, msg message) []message {
			if v, there := msg.Payload()["toolName"]; isCall(msg) && toolOf(msg) == "" && which(v, there) {
				msg.Payload()["toolName"] = none
			}
			return []message{msg}
		}
		h.Policy.Announced = func(_ view, _ []tool, name string, found *tool) *tool {
			if name == none {
				return &tool{Name: name}
			}
			return found
		}
		h.Policy.Execute = onlyAnnounced
	})
}

// toollessCode refuses calls without a tool name with another code.
func toollessCode(code string) fault {
	return acceptCode(code, func(msg message) bool { return toolOf(msg) == "" })
}

// acceptCode refuses some malformed calls with another code.
func acceptCode(code string, which func(msg message) bool) fault {
	return deciding(policy{Accept: func(_ view, msg message, why *refusal) *refusal {
		if why != nil && isCall(msg) && which(msg) {
			why.Code = code
		}
		return why
	}})
}

// paramFaults accept params that violate a schema, refuse them incorrectly, or refuse valid ones.
var paramFaults = map[string]fault{
	"params-unread":           deciding(policy{Params: unread}),
	"params-unread-and-ok":    deciding(policy{Params: unread, Execute: okAnyhow}),
	"params-wrong-ok":         whereRefused(proto.InvalidParams, okResult),
	"params-wrong-unanswered": whereRefused(proto.InvalidParams, nil),
	"params-wrong-no-code":    whereRefused(proto.InvalidParams, falseResult),

	"param-missing-ok":       lax(spoil.Lose("required")),
	"param-type-unread":      lax(everyParam(loseType)),
	"param-null-ok":          lax(everyParam(nullable)),
	"param-enum-unread":      lax(everyParam(spoil.Lose("enum"))),
	"param-empty-in-no-enum": lax(everyParam(withEmpty)),
	"param-minimum-unread":   lax(everyParam(spoil.Lose("minimum"))),
	"param-maximum-unread":   lax(everyParam(spoil.Lose("maximum"))),
	"param-fraction-ok":      lax(everyParam(anyNumber)),
	"param-unknown-ok":       lax(spoil.Lose("additionalProperties")),
	"params-coerced":         deciding(policy{Params: coerced}),
	"quantity-negative-ok":   lax(ofQuantity("minimum", -9)),
	"quantity-above-ok":      lax(ofQuantity("maximum", 99)),
	"quantity-missing-is-1":  lax(quantityOptional),

	"params-missing-ok":      shapeless(func(_ any, there bool) bool { return !there }),
	"params-null-ok":         shapeless(func(v any, there bool) bool { return there && v == nil }),
	"params-list-ok":         shapeless(func(v any, _ bool) bool { _, is := v.([]any); return is }),
	"params-text-ok":         shapeless(func(v any, _ bool) bool { _, is := v.(string); return is }),
	"params-number-ok":       shapeless(func(v any, _ bool) bool { _, is := v.(host.Number); return is }),
	"params-missing-fail":    shapelessCode(proto.ToolExecutionFailed),
	"params-missing-unknown": shapelessCode(proto.UnknownTool),

	"legal-order-refused":    refusingParams(proto.Sort, "sort requires order ASC or DESC"),
	"legal-mark-refused":     refusingParams(proto.Highlight, "highlight requires id"),
	"legal-quantity-refused": refusingParams(proto.SetQuantity, "setQuantity requires quantity >= 2"),
	"legal-item-refused":     refusingParams(proto.Select, "select requires id"),
}

func unread(view, tool, object, *refusal) *refusal { return nil }

// okAnyhow reports a failure as a success.
func okAnyhow(_ view, _ call, run func() *refusal) *refusal {
	run()
	return nil
}

// lax checks params against a laxer schema than the announced one.
func lax(f func(schema object)) fault {
	return deciding(policy{Params: func(_ view, t tool, params object, why *refusal) *refusal {
		schema, is := wire.Plain(t.Parameters).(object)
		if !is {
			return why
		}
		f(schema)
		t.Parameters = schema
		return host.CheckParams(t, params)
	}})
}

// everyParam changes the schemas of all params.
func everyParam(f func(p object)) func(schema object) {
	return func(schema object) {
		all, _ := schema["properties"].(object)
		for _, p := range all {
			f(p.(object))
		}
	}
}

func loseType(p object) {
	if all, has := p["enum"].([]any); has {
		p["anyOf"] = []any{object{"enum": all}, object{"not": object{"type": "string"}}}
		delete(p, "enum")
	}
	delete(p, "type")
}

func nullable(p object) {
	inner := maps.Clone(p)
	clear(p)
	p["anyOf"] = []any{inner, object{"type": "null"}}
}

func withEmpty(p object) {
	if all, has := p["enum"].([]any); has {
		p["enum"] = append(all, "")
	}
}

func anyNumber(p object) {
	if p["type"] == "integer" {
		p["type"] = "number"
	}
}

// ofQuantity sets a limit on the integers.
func ofQuantity(limit string, n int) func(schema object) {
	return everyParam(func(p object) {
		if p["type"] == "integer" {
			p[limit] = n
		}
	})
}

func quantityOptional(schema object) {
	if all, _ := schema["properties"].(object); all["quantity"] != nil {
		schema["required"] = []any{"itemId"}
	}
}

// coerced converts any quantity to a number.
func coerced(_ view, t tool, params object, why *refusal) *refusal {
	if v := params["quantity"]; v != nil {
		if _, isNumber := v.(float64); !isNumber {
			params = maps.Clone(params)
			params["quantity"] = 1.0
			return host.CheckParams(t, params)
		}
	}
	return why
}

// shapeless replaces some params that are not an object by valid ones.
func shapeless(which func(v any, there bool) bool) fault {
	return hearing(func(v view, msg message) []message {
		if params, there := msg.Payload()["params"]; isCall(msg) && which(params, there) {
			msg.Payload()["params"] = firstParams(v, toolOf(msg))
		}
		return []message{msg}
	})
}

// firstParams returns valid params of a tool: the first value of each.
func firstParams(v view, name string) object {
	params := object{}
	t := host.Find(v.ToolsAt(v.Shown()), name)
	if t == nil {
		return params
	}
	schema, _ := wire.Plain(t.Parameters).(object)
	all, _ := schema["properties"].(object)
	for param, v := range all {
		p := v.(object)
		enum, _ := p["enum"].([]any)
		switch {
		case len(enum) > 0:
			params[param] = enum[0]
		case p["type"] == "integer":
			params[param] = host.Number("0")
		default:
			params[param] = "-"
		}
	}
	return params
}

// shapelessCode refuses params that are not an object with another code.
func shapelessCode(code string) fault {
	return acceptCode(code, func(msg message) bool {
		_, isObject := msg.Payload()["params"].(object)
		return toolOf(msg) != "" && !isObject
	})
}

// refusingParams refuses valid params of one tool.
func refusingParams(name, why string) fault {
	return deciding(policy{Params: func(_ view, t tool, _ object, right *refusal) *refusal {
		if t.Name == name {
			return &refusal{Code: proto.InvalidParams, Text: why}
		}
		return right
	}})
}
