package hosts

import (
	"maps"
	"slices"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
)

// toolFaults know tools that are not announced, or do not know those that are.
var toolFaults = map[string]fault{
	"unknown-tool-ok":           ruling(rules{announced: anyTool, execute: doesOrNot}),
	"unknown-tool-fails":        recodingHost(proto.UnknownTool, proto.ToolExecutionFailed),
	"unknown-tool-no-params":    recodingHost(proto.UnknownTool, proto.InvalidParams),
	"unknown-tool-invalid":      recodingHost(proto.UnknownTool, proto.InvalidMessage),
	"unknown-tool-no-spec":      recodingHost(proto.UnknownTool, proto.NoActiveSpec),
	"unknown-tool-unanswered":   whereRefused(proto.UnknownTool, nil),
	"unknown-tool-without-code": whereRefused(proto.UnknownTool, falseResult),
	"other-stages-tools-ok":     ruling(rules{announced: ofAnyStage, params: anyParams, execute: doesOrNot}),
	"other-stages-tools-fail":   ruling(rules{announced: ofAnyStage, params: anyParams}),
	"other-stages-no-params":    ruling(rules{announced: ofAnyStage, params: noParams}),
	"tools-of-stage-before":     deciding(ofStageBefore),
	"highlight-not-implemented": ruling(rules{announced: butFor(proto.Highlight)}),
	"sort-not-implemented":      ruling(rules{announced: butFor(proto.Sort)}),
	"prev-not-implemented":      ruling(rules{announced: butFor(proto.Prev)}),
	"post-not-implemented":      ruling(rules{announced: butFor(proto.PostMessage)}),
	"tools-by-lower-case":       taking(lowerTool),
	"call-without-tool-ok":      deciding(toolless(func(_ any, there bool) bool { return !there })),
	"call-of-a-number-ok":       deciding(toolless(func(_ any, there bool) bool { return there })),
	"call-without-tool-dropped": taking(func(_ view, msg message) []message {
		return only(msg.Type() != proto.ToolCall || has(msg, "toolName"), msg)
	}),
	"call-of-a-number-dropped": taking(func(_ view, msg message) []message {
		return only(msg.Type() != proto.ToolCall || toolOf(msg) != "" || !has(msg, "toolName"), msg)
	}),
	"call-without-tool-fails":   toollessCode(proto.ToolExecutionFailed),
	"call-without-tool-no-spec": toollessCode(proto.NoActiveSpec),
}

func has(msg message, name string) bool {
	_, there := msg.Payload()[name]
	return there
}

// anyTool finds a tool for any name; it is one of the announced ones where there is one.
func anyTool(v view, all []tool, name string) (tool, *refusal) {
	if t, why := correct.Announced(v, all, name); why == nil {
		return t, nil
	}
	return tool{Name: name}, nil
}

// ofAnyStage finds a tool among those of all stages.
func ofAnyStage(v view, all []tool, name string) (tool, *refusal) {
	t, why := correct.Announced(v, all, name)
	for _, stage := range proto.Stages() {
		if why == nil {
			break
		}
		t, why = correct.Announced(v, v.ToolsAt(stage), name)
	}
	if why != nil && slices.Contains([]string{proto.Select, proto.SetQuantity}, name) {
		return tool{Name: name}, nil // whose stages have nothing on display yet
	}
	return t, why
}

// anyParams asks nothing of the params of a tool that is not announced.
func anyParams(v view, t tool, params object) *refusal {
	if _, why := correct.Announced(v, correct.Tools(v), t.Name); why != nil {
		return nil
	}
	return correct.Params(v, t, params)
}

func noParams(v view, t tool, params object) *refusal {
	if _, why := correct.Announced(v, correct.Tools(v), t.Name); why != nil {
		return &refusal{Code: proto.InvalidParams, Text: t.Name + " requires an item of this stage"}
	}
	return correct.Params(v, t, params)
}

// doesOrNot executes a tool that is announced, and any other not at all.
func doesOrNot(v view, c call, run func() *refusal) *refusal {
	if _, why := correct.Announced(v, correct.Tools(v), c.Tool); why != nil {
		return nil
	}
	return run()
}

// ofStageBefore looks a tool up in the schema of the stage before, which a closure has kept.
func ofStageBefore() rules {
	return rules{announced: func(v view, all []tool, name string) (tool, *refusal) {
		if at := slices.Index(proto.Stages(), v.Shown()); at > 0 {
			if _, why := correct.Announced(v, v.ToolsAt(proto.Stages()[at-1]), name); why != nil {
				return tool{}, why
			}
		}
		return correct.Announced(v, all, name)
	}}
}

// butFor does not know one tool.
func butFor(name string) func(v view, all []tool, asked string) (tool, *refusal) {
	return func(v view, all []tool, asked string) (tool, *refusal) {
		if asked == name {
			return tool{}, &refusal{Code: proto.UnknownTool, Text: "not implemented: " + name}
		}
		return correct.Announced(v, all, asked)
	}
}

// lowerTool looks tools up by a name in lower case, which not all have.
func lowerTool(_ view, msg message) []message {
	switch toolOf(msg) {
	case proto.SetQuantity, proto.PostMessage:
		msg.Payload()["toolName"] = snakeCase(toolOf(msg))
	}
	return []message{msg}
}

// toolless says ok to a call that names no tool.
func toolless(which func(v any, there bool) bool) func() rules {
	return func() rules {
		return rules{
			accept: func(v view, msg message) *refusal {
				name, there := msg.Payload()["toolName"]
				if _, isText := name.(string); msg.Type() == proto.ToolCall && !isText && which(name, there) {
					msg.Payload()["toolName"] = "noop"
				}
				return correct.Accept(v, msg)
			},
			announced: func(v view, all []tool, name string) (tool, *refusal) {
				if name == "noop" {
					return tool{Name: name}, nil
				}
				return correct.Announced(v, all, name)
			},
			execute: doesOrNot,
		}
	}
}

// toollessCode refuses a call that names no tool with another code.
func toollessCode(code string) fault {
	return ruling(rules{accept: func(v view, msg message) *refusal {
		why := correct.Accept(v, msg)
		if why != nil && msg.Type() == proto.ToolCall && toolOf(msg) == "" {
			why.Code = code
		}
		return why
	}})
}

// paramFaults take params that break a schema, refuse them otherwise, or refuse those that keep to it.
var paramFaults = map[string]fault{
	"params-unread":            ruling(rules{params: func(view, tool, object) *refusal { return nil }}),
	"params-unread-and-ok":     ruling(rules{params: func(view, tool, object) *refusal { return nil }, execute: okAnyhow}),
	"params-found-wrong-later": recodingHost(proto.InvalidParams, proto.ToolExecutionFailed),
	"params-wrong-invalid":     recodingHost(proto.InvalidParams, proto.InvalidMessage),
	"params-wrong-no-tool":     recodingHost(proto.InvalidParams, proto.UnknownTool),
	"params-wrong-own-code":    recodingHost(proto.InvalidParams, "VALIDATION_ERROR"),
	"params-wrong-ok":          whereRefused(proto.InvalidParams, okResult),
	"params-wrong-unanswered":  whereRefused(proto.InvalidParams, nil),
	"params-wrong-no-code":     whereRefused(proto.InvalidParams, falseResult),

	"param-missing-ok":       lax(func(schema object) { delete(schema, "required") }),
	"param-type-unread":      lax(everyParam(loseType)),
	"param-null-ok":          lax(everyParam(func(p object) { nullable(p) })),
	"param-enum-unread":      lax(everyParam(func(p object) { delete(p, "enum") })),
	"param-empty-in-no-enum": lax(everyParam(withEmpty)),
	"param-minimum-unread":   lax(everyParam(func(p object) { delete(p, "minimum") })),
	"param-maximum-unread":   lax(everyParam(func(p object) { delete(p, "maximum") })),
	"param-fraction-ok":      lax(everyParam(func(p object) { anyNumber(p) })),
	"param-unknown-ok":       lax(func(schema object) { delete(schema, "additionalProperties") }),
	"params-coerced":         ruling(rules{params: coerced}),
	"quantity-negative-ok":   lax(quantityFrom(-9)),
	"quantity-above-ok":      lax(quantityTo(99)),
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

// okAnyhow takes a failure for a success.
func okAnyhow(_ view, _ call, run func() *refusal) *refusal {
	run()
	return nil
}

// lax judges params by a schema that asks less than the one that is announced.
func lax(f func(schema object)) fault {
	return ruling(rules{params: func(v view, t tool, params object) *refusal {
		schema := read(encode(t.Parameters))
		f(schema)
		t.Parameters = schema
		return correct.Params(v, t, params)
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

func quantityFrom(least int) func(schema object) {
	return everyParam(func(p object) {
		if p["type"] == "integer" {
			p["minimum"] = least
		}
	})
}

func quantityTo(most int) func(schema object) {
	return everyParam(func(p object) {
		if p["type"] == "integer" {
			p["maximum"] = most
		}
	})
}

func quantityOptional(schema object) {
	if all, _ := schema["properties"].(object); all["quantity"] != nil {
		schema["required"] = []any{"itemId"}
	}
}

// coerced reads a number where a text stands that has one, and a number as a text.
func coerced(v view, t tool, params object) *refusal {
	params = maps.Clone(params)
	if _, isNumber := params["quantity"].(float64); !isNumber && params["quantity"] != nil {
		params["quantity"] = 1.0
	}
	return correct.Params(v, t, params)
}

// shapeless takes some params that are no object for the ones that are due.
func shapeless(which func(v any, there bool) bool) fault {
	return ruling(rules{accept: func(v view, msg message) *refusal {
		if params, there := msg.Payload()["params"]; msg.Type() == proto.ToolCall && which(params, there) {
			msg.Payload()["params"] = firstParams(v, toolOf(msg))
		}
		return correct.Accept(v, msg)
	}})
}

// firstParams are params that a tool takes now: the first value of each.
func firstParams(v view, name string) object {
	params := object{}
	for _, t := range v.ToolsAt(v.Shown()) {
		if t.Name != name {
			continue
		}
		everyParamNamed(read(encode(t.Parameters)), func(param string, p object) {
			all, _ := p["enum"].([]any)
			switch {
			case len(all) > 0:
				params[param] = all[0]
			case p["type"] == "integer":
				params[param] = host.Number("0")
			default:
				params[param] = "-"
			}
		})
	}
	return params
}

func everyParamNamed(schema object, f func(name string, p object)) {
	all, _ := schema["properties"].(object)
	for name, p := range all {
		f(name, p.(object))
	}
}

// shapelessCode refuses params that are no object by another code.
func shapelessCode(code string) fault {
	return ruling(rules{accept: func(v view, msg message) *refusal {
		why := correct.Accept(v, msg)
		if _, isObject := msg.Payload()["params"].(object); why != nil && toolOf(msg) != "" && !isObject {
			why.Code = code
		}
		return why
	}})
}

// refusingParams finds the params of one tool wrong that are not.
func refusingParams(name, why string) fault {
	return ruling(rules{params: func(v view, t tool, params object) *refusal {
		if t.Name == name {
			return &refusal{Code: proto.InvalidParams, Text: why}
		}
		return correct.Params(v, t, params)
	}})
}
