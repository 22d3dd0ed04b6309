package relays

import (
	stdjson "encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
)

// contentFaults change what is said.
var contentFaults = map[string]fault{
	"numbers-are-floats":          reencoding(func(v any) any { return v }),
	"nulls-left-out":              reencoding(emptied(func(v any) bool { return v == nil })),
	"empty-left-out":              reencoding(emptied(isEmpty)),
	"empty-objects-are-lists":     reencoding(values(emptyLists)),
	"names-in-snake-case":         reencoding(values(func(v any) any { return renamed(v, snake) })),
	"names-in-lower-case":         reencoding(values(func(v any) any { return renamed(v, strings.ToLower) })),
	"html-escaped-for-good":       reencoding(texts(strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;").Replace)),
	"texts-are-ascii":             reencoding(texts(ascii)),
	"texts-without-emoji":         reencoding(texts(bmp)),
	"texts-trimmed":               reencoding(texts(strings.TrimSpace)),
	"quotes-stripped":             reencoding(texts(strings.NewReplacer(`"`, "", `\`, "").Replace)),
	"control-characters-stripped": reencoding(texts(printable)),
	"unknown-members-left-out":    passing(known),
	"payload-members-left-out":    passing(inPayload(knownInPayload)),
	"agents-members-left-out":     deciding(agentsKnown),
	"ui-spec-left-out":            leaving("uiSpec", proto.SnapshotState),
	"history-left-out":            leaving("messageHistory", proto.SnapshotState),
	"tool-schema-left-out":        leaving("toolSchema", proto.SnapshotState),
	"state-left-out-of-updates": passing(inPayload(func(p members) {
		maps.DeleteFunc(p, func(name string, _ jsontext.Value) bool { return name != "source" })
	}), proto.StateUpdated),
	"quick-spec-left-out":  leaving("uiSpec", proto.ToolResult),
	"reason-left-out":      leaving("reason", proto.ToolCall),
	"params-left-out":      leaving("params", proto.ToolCall),
	"participant-left-out": leaving("participantId", proto.SessionStart),
	"stage-left-out":       leaving("stage", proto.UserMessage),
	"history-cut":          passing(inPayload(historyCut), proto.SnapshotState, proto.StateUpdated),
	"payload-wrapped":      passing(func(m members) { m["payload"] = encoded(object{"data": m["payload"]}) }),
	"payload-as-text":      passing(func(m members) { m["payload"] = encoded(string(m["payload"])) }),
	"results-as-text":      passing(func(m members) { m["payload"] = encoded(string(m["payload"])) }, proto.ToolResult),
	"envelope-wrapped":     deciding(envelopeWrapped),
	"types-prefixed":       passing(func(m members) { m["type"] = jsontext.Value(`"host.` + string(m["type"][1:])) }, proto.StateUpdated),
	"errors-reshaped": passing(inPayload(func(p members) {
		p["error"] = encoded(object{"code": p["code"], "message": p["message"]})
		delete(p, "code")
		delete(p, "message")
	}), proto.ErrorMessage),
	"error-codes-numbered":      passing(inPayload(func(p members) { p["code"] = jsontext.Value("4002") }), proto.ErrorMessage),
	"error-codes-in-lower-case": passing(inPayload(func(p members) { p["code"] = jsontext.Value(strings.ToLower(string(p["code"]))) }), proto.ErrorMessage),
	"error-codes-all-one":       passing(inPayload(func(p members) { p["code"] = encoded(proto.ToolExecutionFailed) }), proto.ErrorMessage),
	"error-messages-left-out":   leaving("message", proto.ErrorMessage),
	"errors-as-results":         passing(errorAsResult, proto.ErrorMessage),
	"calls-as-others":           passing(inPayload(func(p members) { p["toolName"] = jsontext.Value(strings.ToLower(string(p["toolName"]))) }), proto.ToolCall),
	"call-params-as-text":       passing(inPayload(func(p members) { p["params"] = encoded(string(p["params"])) }), proto.ToolCall),
	"results-without-tool":      leaving("toolName", proto.ToolResult),
	"long-texts-cut":            reencoding(texts(func(s string) string { return s[:min(len(s), 40)] })),
}

// reencoding decodes what it passes on as encoding/json does it by default, changes it, and encodes it again.
func reencoding(f func(v any) any) fault {
	return deciding(func() rules {
		return rules{pass: func(_, _ party, e *envelope) []byte {
			var v any
			if stdjson.Unmarshal(e.Raw, &v) != nil {
				return e.Raw
			}
			out, err := stdjson.Marshal(f(v))
			if err != nil {
				return e.Raw
			}
			return out
		}}
	})
}

// values changes every value, the innermost first.
func values(f func(v any) any) func(v any) any {
	var each func(v any) any
	each = func(v any) any {
		switch v := v.(type) {
		case object:
			for name := range v {
				v[name] = each(v[name])
			}
		case []any:
			for i := range v {
				v[i] = each(v[i])
			}
		}
		return f(v)
	}
	return each
}

// texts changes the texts of the payload.
func texts(f func(s string) string) func(v any) any {
	each := values(func(v any) any {
		if s, ok := v.(string); ok {
			return f(s)
		}
		return v
	})
	return func(v any) any {
		if e, ok := v.(object); ok {
			e["payload"] = each(e["payload"])
		}
		return v
	}
}

// emptied leaves out members of the payload, at any depth below its own.
func emptied(is func(v any) bool) func(v any) any {
	each := values(func(v any) any {
		if o, ok := v.(object); ok {
			maps.DeleteFunc(o, func(_ string, v any) bool { return is(v) })
		}
		return v
	})
	return func(v any) any {
		e, _ := v.(object)
		p, _ := e["payload"].(object)
		for name := range p {
			p[name] = each(p[name])
		}
		return v
	}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case object:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

// emptyLists makes lists of empty objects, as PHP does.
func emptyLists(v any) any {
	if o, ok := v.(object); ok && len(o) == 0 {
		return []any{}
	}
	return v
}

// renamed gives the members of an object other names.
func renamed(v any, f func(name string) string) any {
	o, ok := v.(object)
	if !ok {
		return v
	}
	out := object{}
	for name, v := range o {
		if name == "replyTo" { // of the envelope
			out[name] = v
			continue
		}
		out[f(name)] = v
	}
	return out
}

func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func mapped(s string, keep func(r rune) bool, in string) string {
	var b strings.Builder
	for _, r := range s {
		if keep(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(in)
	}
	return b.String()
}

func ascii(s string) string {
	return mapped(s, func(r rune) bool { return r <= unicode.MaxASCII }, "?")
}

// bmp keeps the characters of three bytes in UTF-8.
func bmp(s string) string { return mapped(s, func(r rune) bool { return r < 0x10000 }, "\uFFFD") }

func printable(s string) string {
	return mapped(s, func(r rune) bool { return !unicode.IsControl(r) }, "")
}

// known leaves out what section 3 does not name.
func known(m members) { keep(m, "v", "type", "id", "replyTo", "payload") }

// knownInPayload leaves out what sections 4.1 and 4.2 do not name.
func knownInPayload(p members) {
	keep(p, "studyId", "participantId", "toolName", "params", "reason", "text", "stage", "sessionId", "uiSpec", "messageHistory",
		"toolSchema", "ok", "source", "logFile", "stateReset", "code", "message")
}

func keep(m members, names ...string) {
	maps.DeleteFunc(m, func(name string, _ jsontext.Value) bool { return !slices.Contains(names, name) })
}

// agentsKnown leaves out what nobody needs of what agents say.
func agentsKnown() rules {
	return rules{pass: func(from, _ party, e *envelope) []byte {
		if !isAgent(from) {
			return e.Raw
		}
		return edited(e.Raw, func(m members) {
			known(m)
			inPayload(knownInPayload)(m)
		})
	}}
}

// leaving leaves out a member of a payload.
func leaving(name, kind string) fault {
	return passing(inPayload(func(p members) { delete(p, name) }), kind)
}

// historyCut keeps the latest message.
func historyCut(p members) {
	var all []jsontext.Value
	if json.Unmarshal(p["messageHistory"], &all) == nil && len(all) > 1 {
		p["messageHistory"] = encoded(all[len(all)-1:])
	}
}

// envelopeWrapped passes everything on within an envelope of the relay's own.
func envelopeWrapped() rules {
	return rules{pass: func(_, _ party, e *envelope) []byte {
		return message{"v": proto.Version, "type": "relay.message", "payload": jsontext.Value(e.Raw)}.Encode()
	}}
}

// errorAsResult makes a tool.result of an error, whatever was asked.
func errorAsResult(m members) {
	m["type"] = encoded(proto.ToolResult)
	inPayload(func(p members) { p["ok"] = jsontext.Value("false") })(m)
}
