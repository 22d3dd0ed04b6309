package mutants

import (
	"fmt"
	"html"
	"maps"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	proto "parley/protocol/sessionruntime"
)

// payloadFaults change on the way to the agent what the user sent and what the frontend added (RT-068).
var payloadFaults = map[string]fault{
	"input-payload-printed":     saying(proto.UserInput, printed),
	"input-payload-is-json":     saying(proto.UserInput, jsonText),
	"input-payload-text-only":   saying(proto.UserInput, textOnly),
	"input-text-trimmed":        saying(proto.UserInput, ofText(strings.TrimSpace)),
	"input-payload-rounded":     saying(proto.UserInput, each(rounded)),
	"input-payload-float32":     saying(proto.UserInput, each(float32s)),
	"input-payload-escaped":     saying(proto.UserInput, each(escaped)),
	"input-payload-ascii":       saying(proto.UserInput, asciiNames),
	"input-payload-one-line":    saying(proto.UserInput, each(oneLine)),
	"input-payload-nulls-lost":  saying(proto.UserInput, nullsLost),
	"input-payload-empty-lost":  saying(proto.UserInput, emptyLost),
	"input-payload-flat-lists":  saying(proto.UserInput, flatLists),
	"input-payload-with-ids":    rewriting(proto.UserInput, withIDs),
	"input-metadata-lost":       rewriting(proto.UserInput, onlyIDs),
	"input-metadata-flat":       marking(proto.UserInput, printMembers),
	"input-metadata-in-payload": rewriting(proto.UserInput, metadataInPayload),
	"input-metadata-localised":  marking(proto.UserInput, func(o object) { localise(o, "locale") }),

	"output-payload-text-only":  saying(proto.AgentOutput, textOnly),
	"output-payload-printed":    saying(proto.AgentOutput, printed),
	"output-payload-with-agent": rewriting(proto.AgentOutput, withAgent),
	"output-payload-trimmed":    saying(proto.AgentOutput, each(trimmed)),
	"output-payload-escaped":    saying(proto.AgentOutput, each(escaped)),
	"output-text-trimmed":       saying(proto.AgentOutput, ofText(strings.TrimSpace)),
	"output-text-quoted":        saying(proto.AgentOutput, ofText(quoted)),
	"output-text-ascii":         saying(proto.AgentOutput, ofText(ascii)),
	"output-text-cut":           saying(proto.AgentOutput, ofText(cut)),
	"output-text-plain-lines": saying(proto.AgentOutput,
		ofText(func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") })),
	"output-text-one-blank": saying(proto.AgentOutput,
		ofText(func(s string) string { return strings.ReplaceAll(s, "  ", " ") })),
	"output-text-object":        saying(proto.AgentOutput, textObject),
	"output-text-parsed":        saying(proto.AgentOutput, parsed),
	"output-payload-nulls-lost": saying(proto.AgentOutput, nullsLost),
	"output-payload-empty-lost": saying(proto.AgentOutput, emptyLost),
	"output-payload-rounded":    saying(proto.AgentOutput, each(rounded)),
	"output-metadata-lost":      rewriting(proto.AgentOutput, onlyIDs),
	"output-chunk-mark-string": marking(proto.AgentOutput,
		within(proto.Stream, func(o object) { o[proto.IsChunk] = fmt.Sprint(o[proto.IsChunk]) })),
	"output-nulls-unmarked": marking(proto.AgentOutput, loseNulls),
	"output-tags-joined":    marking(proto.AgentOutput, joinTags),
}

// saying changes the payloads of a kind.
func saying(kind string, f func(v any) any) fault {
	return rewriting(kind, func(_ view, msg message) message {
		msg.Payload = f(msg.Payload)
		return msg
	})
}

// each changes the scalar values in a payload.
func each(f func(v any) any) func(v any) any {
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case object:
			o := object{}
			for name, v := range v {
				o[name] = walk(v)
			}
			return o
		case []any:
			all := make([]any, len(v))
			for i, v := range v {
				all[i] = walk(v)
			}
			return all
		}
		return f(v)
	}
	return walk
}

// kept removes the members that keep rejects, at any depth.
func kept(keep func(name string, v any) bool) func(v any) any {
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case object:
			o := object{}
			for name, v := range v {
				if keep(name, v) {
					o[name] = walk(v)
				}
			}
			return o
		case []any:
			all := make([]any, len(v))
			for i, v := range v {
				all[i] = walk(v)
			}
			return all
		}
		return v
	}
	return walk
}

// ofText changes a payload only if it is a string.
func ofText(f func(s string) string) func(v any) any {
	return func(v any) any {
		if s, is := v.(string); is {
			return f(s)
		}
		return v
	}
}

func quoted(s string) string { return quotedJSON(s) }

// ascii escapes non-ASCII characters.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 127 {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cut truncates to what a database column holds.
func cut(s string) string { return s[:min(len(s), 4000)] }

func textObject(v any) any {
	if s, is := v.(string); is {
		return object{"text": s}
	}
	return v
}

// parsed parses a string that looks like JSON.
func parsed(v any) any {
	s, is := v.(string)
	var o object
	if !is || json.Unmarshal([]byte(s), &o) != nil {
		return v
	}
	return o
}

var (
	nullsLost = kept(func(_ string, v any) bool { return v != nil })

	emptyLost = kept(func(_ string, v any) bool {
		switch v := v.(type) {
		case object:
			return len(v) > 0
		case []any:
			return len(v) > 0
		}
		return true
	})
)

func printed(v any) any {
	if _, is := v.(object); is {
		return fmt.Sprint(v)
	}
	return v
}

func jsonText(v any) any {
	if _, is := v.(object); !is {
		return v
	}
	return quotedJSON(v)
}

func quotedJSON(v any) string {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // the value came from a decoder
	}
	return string(data)
}

func textOnly(v any) any {
	if o, is := v.(object); is && o["text"] != nil {
		return o["text"]
	}
	return v
}

func rounded(v any) any {
	if n, is := v.(number); is {
		f, err := strconv.ParseFloat(string(n), 64)
		if err == nil {
			return number(strconv.FormatInt(int64(f), 10))
		}
	}
	return v
}

func float32s(v any) any {
	if n, is := v.(number); is {
		f, err := strconv.ParseFloat(string(n), 32)
		if err == nil {
			return number(strconv.FormatFloat(f, 'f', -1, 64))
		}
	}
	return v
}

func escaped(v any) any {
	if s, is := v.(string); is {
		return html.EscapeString(s)
	}
	return v
}

func oneLine(v any) any {
	if s, is := v.(string); is {
		return strings.ReplaceAll(s, "\n", " ")
	}
	return v
}

func trimmed(v any) any {
	if s, is := v.(string); is {
		return strings.TrimSpace(s)
	}
	return v
}

// asciiNames drops members whose names a database column can't have.
func asciiNames(v any) any {
	return kept(func(name string, _ any) bool {
		return strings.IndexFunc(name, func(r rune) bool { return r > 127 }) < 0
	})(v)
}

// flatLists flattens nested lists.
func flatLists(v any) any {
	switch v := v.(type) {
	case object:
		o := object{}
		for name, v := range v {
			o[name] = flatLists(v)
		}
		return o
	case []any:
		all := []any{}
		for _, v := range v {
			if inner, is := flatLists(v).([]any); is {
				all = append(all, inner...)
			} else {
				all = append(all, v)
			}
		}
		return all
	}
	return v
}

func withIDs(_ view, msg message) message {
	if payload := maps.Clone(payloadOf(msg)); payload != nil {
		payload[proto.TurnID], payload[proto.TraceID] = msg.Metadata[proto.TurnID], msg.Metadata[proto.TraceID]
		msg.Payload = payload
	}
	return msg
}

func withAgent(v view, msg message) message {
	t, _ := v.Turn(text(msg, proto.TurnID))
	if payload := maps.Clone(payloadOf(msg)); payload != nil {
		payload["agent_id"] = t.Agent
		msg.Payload = payload
	}
	return msg
}

func onlyIDs(_ view, msg message) message {
	was := msg.Metadata
	msg.Metadata = object{}
	for _, name := range []string{proto.TraceID, proto.TurnID} {
		if was[name] != nil {
			msg.Metadata[name] = was[name]
		}
	}
	return msg
}

func printMembers(metadata object) {
	for name, v := range metadata {
		if _, is := v.(object); is {
			metadata[name] = fmt.Sprint(v)
		}
	}
}

func metadataInPayload(_ view, msg message) message {
	if client := msg.Metadata["client"]; client != nil {
		delete(msg.Metadata, "client")
		msg.Payload = object{"text": msg.Payload, "client": client}
	}
	return msg
}

func localise(o object, name string) {
	if s, is := o[name].(string); is {
		o[name] = strings.ToLower(s)
	}
}

// within changes an object in the metadata.
func within(name string, f func(o object)) func(metadata object) {
	return func(metadata object) {
		o, _ := metadata[name].(object)
		if o = maps.Clone(o); o != nil {
			f(o)
			metadata[name] = o
		}
	}
}

func loseNulls(metadata object) {
	maps.DeleteFunc(metadata, func(_ string, v any) bool { return v == nil })
}

func joinTags(metadata object) {
	if tags, is := metadata["tags"].([]any); is {
		metadata["tags"] = strings.Trim(fmt.Sprint(tags...), "[]")
	}
}
