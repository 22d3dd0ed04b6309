package hosts

import (
	"bytes"
	"strings"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// versionFaults take an envelope of another version for one of this, or refuse it otherwise.
var versionFaults = map[string]fault{
	"version-unread":         asVersion(func(any, bool) bool { return true }),
	"version-optional":       asVersion(func(_ any, there bool) bool { return !there }),
	"version-null-is-none":   asVersion(func(v any, there bool) bool { return there && v == nil }),
	"version-older-taken":    asVersion(func(v any, _ bool) bool { return v == "mvp-0.1" }),
	"version-newer-taken":    asVersion(func(v any, _ bool) bool { return v == "mvp-0.3" }),
	"version-any-case":       asVersion(func(v any, _ bool) bool { s, _ := v.(string); return strings.EqualFold(s, proto.Version) }),
	"version-number-taken":   asVersion(func(v any, _ bool) bool { return v == 0.2 }),
	"version-name-any-case":  mending(func(msg object) object { return withDefault(msg, "v", msg["V"]) }),
	"version-unread-in-join": ofType(proto.RelayJoin, func(msg object) object { return with(msg, "v", proto.Version) }),
	"wrong-version-dropped":  mending(func(msg object) object { return when(msg["v"] == proto.Version, msg) }),
	"wrong-version-no-tool":  recoding(relay.CheckV, proto.UnknownTool),
	"wrong-version-inactive": recoding(relay.CheckV, proto.SessionNotActive),
	"wrong-version-own-code": recoding(relay.CheckV, "UNSUPPORTED_VERSION"),
}

// junkFaults take what is no JSON object for something, or refuse it otherwise.
var junkFaults = map[string]fault{
	"junk-dropped":       dropping(func(data []byte) bool { return read(data) == nil }),
	"junk-closes-1007":   junkCloses(websocket.StatusInvalidFramePayloadData),
	"junk-closes-1000":   junkCloses(websocket.StatusNormalClosure),
	"junk-has-own-code":  recoding(relay.CheckText, "PARSE_ERROR"),
	"junk-is-a-failure":  recoding(relay.CheckText, proto.ToolExecutionFailed),
	"junk-is-no-params":  recoding(relay.CheckText, proto.InvalidParams),
	"batches-taken":      reframing(perFrame(unbatched)),
	"first-value-counts": reframing(perFrame(firstValue)),
	"empty-text-dropped": dropping(func(data []byte) bool { return len(data) == 0 }),
	"null-dropped":       dropping(func(data []byte) bool { return string(data) == "null" }),
	"number-dropped":     dropping(func(data []byte) bool { return jsontext.Value(data).Kind() == '0' }),
	"text-is-a-command":  reframing(perFrame(commanded)),
	"text-dropped":       dropping(func(data []byte) bool { return len(data) > 0 && data[0] == '"' }),
	"list-dropped":       dropping(func(data []byte) bool { return len(data) > 0 && data[0] == '[' }),
	"malformed-mended":   reframing(perFrame(mended)),
	"halves-joined":      reframing(halves),
}

// typeFaults mistake a type, or the lack of one.
var typeFaults = map[string]fault{
	"untyped-dropped":       mending(func(msg object) object { _, there := msg["type"]; return when(there, msg) }),
	"untyped-is-snapshot":   mending(func(msg object) object { return withDefault(msg, "type", proto.SnapshotGet) }),
	"unknown-type-dropped":  mending(func(msg object) object { return when(msg["type"] != "parley.unknown", msg) }),
	"unknown-type-no-tool":  recoding(relay.CheckKnown, proto.UnknownTool),
	"unknown-type-failure":  recoding(relay.CheckKnown, proto.ToolExecutionFailed),
	"empty-type-dropped":    mending(func(msg object) object { return when(msg["type"] != "", msg) }),
	"null-type-dropped":     mending(func(msg object) object { v, there := msg["type"]; return when(!there || v != nil, msg) }),
	"number-type-dropped":   mending(func(msg object) object { _, isNumber := msg["type"].(float64); return when(!isNumber, msg) }),
	"list-type-unwrapped":   mending(unwrappedType),
	"type-any-case":         mending(lowerType),
	"type-no-text-own-code": recoding(relay.CheckType, "BAD_REQUEST"),
}

// payloadFaults mistake a payload that is no object for one, or refuse it otherwise.
var payloadFaults = map[string]fault{
	"payload-optional":          mending(func(msg object) object { return withDefault(msg, "payload", object{}) }),
	"payload-null-is-empty":     emptyPayload(func(v any) bool { return v == nil }),
	"payload-list-is-empty":     emptyPayload(func(v any) bool { _, is := v.([]any); return is }),
	"payload-text-is-parsed":    emptyPayload(func(v any) bool { return v == "{}" }),
	"payload-number-is-empty":   emptyPayload(func(v any) bool { _, is := v.(float64); return is }),
	"payload-true-is-empty":     emptyPayload(func(v any) bool { return v == true }),
	"payload-unread":            ofType(proto.SnapshotGet, func(msg object) object { return with(msg, "payload", object{}) }),
	"no-payload-dropped":        mending(func(msg object) object { _, there := msg["payload"]; return when(there, msg) }),
	"no-payload-is-no-params":   recoding(relay.CheckPayload, proto.InvalidParams),
	"no-payload-own-code":       recoding(relay.CheckPayload, "BAD_PAYLOAD"),
	"join-without-payload":      joinsAnyhow(func(_ any, there bool) bool { return !there }),
	"join-with-null-for-all":    joinsAnyhow(func(v any, there bool) bool { return there && v == nil }),
	"join-with-a-list-for-all":  joinsAnyhow(func(v any, _ bool) bool { _, is := v.([]any); return is }),
	"join-without-payload-lost": ofType(proto.RelayJoin, func(msg object) object { _, is := msg["payload"].(object); return when(is, msg) }),
}

// when is msg if ok holds, and else nothing.
func when(ok bool, msg object) object {
	if !ok {
		return nil
	}
	return msg
}

func with(msg object, name string, v any) object {
	msg[name] = v
	return msg
}

func withDefault(msg object, name string, v any) object {
	if _, there := msg[name]; !there && v != nil {
		msg[name] = v
	}
	return msg
}

// asVersion takes some versions for the right one.
func asVersion(which func(v any, there bool) bool) fault {
	return mending(func(msg object) object {
		if v, there := msg["v"]; which(v, there) {
			msg["v"] = proto.Version
		}
		return msg
	})
}

// recoding refuses what fails a check with another code.
func recoding(check, code string) fault {
	return relayRuling(relayRules{checks: func(party) []relay.Check {
		all := relay.Checks()
		for i, c := range all {
			if c.Name != check {
				continue
			}
			all[i].Judge = func(from party, e *envelope) *relay.Refusal {
				why := c.Judge(from, e)
				if why != nil && !from.Attached {
					why = &relay.Refusal{Code: code, Text: why.Text}
				}
				return why
			}
		}
		return all
	}})
}

// perFrame makes of each frame of an agent what f says, whatever came before.
func perFrame(f func(data []byte) [][]byte) func() func(party, []byte) [][]byte {
	return func() func(party, []byte) [][]byte {
		return func(_ party, data []byte) [][]byte { return f(data) }
	}
}

func dropping(which func(data []byte) bool) fault {
	return reframing(perFrame(func(data []byte) [][]byte {
		if which(data) {
			return nil
		}
		return [][]byte{data}
	}))
}

func junkCloses(code websocket.StatusCode) fault {
	return func(o *options) {
		o.Relay.Inbound = func(r relayState, from party, in frame) []frame {
			if !from.Attached && read(in.Data) == nil {
				r.End(from.Conn, websocket.CloseError{Code: code, Reason: "no JSON object"})
				return nil
			}
			return []frame{in}
		}
	}
}

// unbatched takes a list for as many envelopes.
func unbatched(data []byte) (out [][]byte) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	if open, err := dec.ReadToken(); err != nil || open.Kind() != '[' {
		return [][]byte{data}
	}
	for dec.PeekKind() == '{' {
		v, err := dec.ReadValue()
		if err != nil {
			break
		}
		out = append(out, v.Clone())
	}
	return out
}

// firstValue reads one value, and forgets to ask whether that was all.
func firstValue(data []byte) [][]byte {
	v, err := jsontext.NewDecoder(bytes.NewReader(data)).ReadValue()
	if err != nil {
		return [][]byte{data}
	}
	return [][]byte{v.Clone()}
}

// commanded takes a string for a type.
func commanded(data []byte) [][]byte {
	if kind, err := jsontext.AppendUnquote(nil, data); err == nil {
		return [][]byte{encode(object{"v": proto.Version, "type": string(kind), "payload": object{}})}
	}
	return [][]byte{data}
}

// mended reads what a parser that forgives makes of a text.
func mended(data []byte) [][]byte {
	if bytes.HasPrefix(data, []byte("{{")) && read(data[1:]) != nil {
		data = data[1:]
	}
	return [][]byte{data}
}

// halves keeps what is no whole object until the rest of it comes.
func halves() func(from party, data []byte) [][]byte {
	kept := map[int][]byte{}
	return func(from party, data []byte) [][]byte {
		all := append(bytes.Clone(kept[from.Conn]), data...)
		delete(kept, from.Conn)
		if len(all) > 0 && all[0] == '{' && read(all) == nil && len(all) < 1<<16 {
			kept[from.Conn] = all
			return nil
		}
		return [][]byte{all}
	}
}

func unwrappedType(msg object) object {
	if all, is := msg["type"].([]any); is && len(all) == 1 {
		msg["type"] = all[0]
	}
	return msg
}

func lowerType(msg object) object {
	if kind, is := msg["type"].(string); is {
		msg["type"] = strings.ToLower(kind)
	}
	return msg
}

// emptyPayload takes some payloads for an empty one.
func emptyPayload(which func(v any) bool) fault {
	return mending(func(msg object) object {
		if v, there := msg["payload"]; there && which(v) {
			msg["payload"] = object{}
		}
		return msg
	})
}

// joinsAnyhow joins the default session where a join says nothing.
func joinsAnyhow(which func(v any, there bool) bool) fault {
	return ofType(proto.RelayJoin, func(msg object) object {
		if v, there := msg["payload"]; which(v, there) {
			msg["payload"] = object{"role": proto.AgentRole, "sessionId": proto.DefaultSession}
		}
		return msg
	})
}
