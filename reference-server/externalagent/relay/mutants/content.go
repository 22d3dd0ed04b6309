package mutants

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// contentFaults change what messages say.
var contentFaults = map[string]fault{
	"numbers-are-floats":          reencoding(func(v any) any { return v }),
	"nulls-left-out":              reencoding(emptied(func(v any) bool { return v == nil })),
	"empty-left-out":              reencoding(emptied(isEmpty)),
	"empty-objects-are-lists":     reencoding(values(emptyLists)),
	"names-in-snake-case":         reencoding(values(func(v any) any { return renamed(v, spoil.SnakeCase) })),
	"names-in-lower-case":         reencoding(values(func(v any) any { return renamed(v, strings.ToLower) })),
	"html-escaped-for-good":       reencoding(texts(strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;").Replace)),
	"texts-are-ascii":             reencoding(texts(ascii)),
	"texts-without-emoji":         reencoding(texts(bmp)),
	"texts-trimmed":               reencoding(texts(strings.TrimSpace)),
	"quotes-stripped":             reencoding(texts(strings.NewReplacer(`"`, "", `\`, "").Replace)),
	"control-characters-stripped": reencoding(texts(printable)),
	"unknown-members-left-out":    passing(known),
	"payload-members-left-out":    passing(inPayload(knownInPayload)),
	"agents-members-left-out":     agentsKnown,
	"history-cut":                 passing(inPayload(historyCut), proto.SnapshotState, proto.StateUpdated),
	"params-left-out":             passing(inPayload(func(p members) { delete(p, "params") }), proto.ToolCall),
	"call-params-as-text":         passing(inPayload(asText("params")), proto.ToolCall),
	"envelope-wrapped":            envelopeWrapped,
	"error-codes-in-lower-case":   passing(inPayload(inLowerCase("code")), proto.ErrorMessage),
	"errors-as-results":           passing(errorAsResult, proto.ErrorMessage),
	"calls-as-others":             passing(inPayload(inLowerCase("toolName")), proto.ToolCall),
	"long-texts-cut":              reencoding(texts(func(s string) string { return s[:min(len(s), 40)] })),
}

// reencoding decodes passed-on frames with the defaults of encoding/json, changes them, and encodes them again.
func reencoding(f func(v any) any) fault {
	return func(o *options) {
		o.Policy.Pass = func(_, _ party, _ *envelope, data []byte) []byte {
			var v any
			if legacy.Unmarshal(data, &v) != nil {
				return data
			}
			out, err := legacy.Marshal(f(v))
			if err != nil {
				return data
			}
			return out
		}
	}
}

// values changes every value, innermost first.
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

// texts changes the strings in the payload.
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

// emptied removes some members at any depth inside the payload's members.
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

// emptyLists turns empty objects into lists, as PHP does.
func emptyLists(v any) any {
	if o, ok := v.(object); ok && len(o) == 0 {
		return []any{}
	}
	return v
}

// renamed renames the members of an object.
func renamed(v any, f func(name string) string) any {
	o, ok := v.(object)
	if !ok {
		return v
	}
	out := object{}
	for name, v := range o {
		if name == "replyTo" { // an envelope member
			out[name] = v
			continue
		}
		out[f(name)] = v
	}
	return out
}

// replaced replaces the characters that do not pass.
func replaced(s string, pass func(r rune) bool, other string) string {
	var b strings.Builder
	for _, r := range s {
		if pass(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(other)
		}
	}
	return b.String()
}

func ascii(s string) string {
	return replaced(s, func(r rune) bool { return r <= unicode.MaxASCII }, "?")
}

// bmp keeps characters of up to three bytes in UTF-8.
func bmp(s string) string { return replaced(s, func(r rune) bool { return r < 0x10000 }, "\uFFFD") }

func printable(s string) string {
	return replaced(s, func(r rune) bool { return !unicode.IsControl(r) }, "")
}

// known removes members that section 3 does not name.
func known(m members) { keep(m, "v", "type", "id", "replyTo", "payload") }

// knownInPayload removes members that sections 4.1 and 4.2 do not name.
func knownInPayload(p members) {
	keep(p, "studyId", "participantId", "toolName", "params", "reason", "text", "stage", "sessionId", "uiSpec",
		"messageHistory",
		"toolSchema", "ok", "source", "logFile", "stateReset", "code", "message")
}

func keep(m members, names ...string) {
	maps.DeleteFunc(m, func(name string, _ jsontext.Value) bool { return !slices.Contains(names, name) })
}

// agentsKnown removes from agents' messages what the document does not name.
func agentsKnown(o *options) {
	o.Policy.Pass = func(from, _ party, _ *envelope, data []byte) []byte {
		if !isAgent(from) {
			return data
		}
		return edited(data, func(m members) {
			known(m)
			inPayload(knownInPayload)(m)
		})
	}
}

func inLowerCase(name string) func(m members) {
	return func(m members) { m[name] = jsontext.Value(strings.ToLower(string(m[name]))) }
}

// historyCut keeps only the latest message.
func historyCut(p members) {
	var all []jsontext.Value
	if json.Unmarshal(p["messageHistory"], &all) == nil && len(all) > 1 {
		p["messageHistory"] = wire.Encode(all[len(all)-1:])
	}
}

// envelopeWrapped passes each envelope on as the payload of a relay message.
func envelopeWrapped(o *options) {
	o.Policy.Pass = func(_, _ party, _ *envelope, data []byte) []byte {
		return wire.Encode(message{"v": proto.Version, "type": "relay.message", "payload": jsontext.Value(data)})
	}
}

// errorAsResult turns an error into a tool.result, whatever the request was.
func errorAsResult(m members) {
	m["type"] = wire.Encode(proto.ToolResult)
	inPayload(func(p members) { p["ok"] = jsontext.Value("false") })(m)
}

// asText replaces a member by a string with its JSON.
func asText(name string) func(m members) {
	return func(m members) { m[name] = wire.Encode(string(m[name])) }
}
