package mutants

import (
	"bytes"
	"strings"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// refusalFaults accept what should be refused, or refuse it incorrectly.
var refusalFaults = map[string]fault{
	"junk-unanswered":        dropping(func(e *envelope) bool { return e.Fault != "" }),
	"broken-json-unanswered": dropping(func(e *envelope) bool { return e.Fault == relay.NotJSON && len(e.Raw) > 0 }),
	"no-object-unanswered":   dropping(func(e *envelope) bool { return e.Fault == relay.NotObject }),
	"empty-text-unanswered":  dropping(func(e *envelope) bool { return len(e.Raw) == 0 }),
	"null-unanswered":        dropping(func(e *envelope) bool { return string(e.Raw) == "null" }),
	"text-unanswered":        dropping(func(e *envelope) bool { return starts(e, '"') }),
	"number-unanswered":      dropping(func(e *envelope) bool { return starts(e, '4') }),
	"list-unanswered":        dropping(func(e *envelope) bool { return starts(e, '[') }),
	"list-is-a-batch":        hearing(takesBatches),
	"first-value-counts":     hearing(takesTheFirst),
	"each-value-counts":      hearing(takesAll),
	"half-is-awaited":        awaitsTheRest,
	"broken-json-is-mended":  hearing(mends),
	"untyped-unanswered":     dropping(untyped),
	"untyped-another-code":   Recoding(relay.CheckType, proto.SessionNotActive),
	"untyped-closes":         ClosingAt(untyped, websocket.StatusPolicyViolation),
	"type-in-a-list-counts":  hearing(takesListedTypes),
	"junk-passed-on":         checking(junkPassedOn),
	"junk-closes": ClosingAt(func(e *envelope) bool {
		return e.Fault != ""
	}, websocket.StatusInvalidFramePayloadData),
	"junk-another-code":      unreadableAs(proto.SessionNotActive),
	"junk-a-code-of-its-own": unreadableAs("PARSE_ERROR"),
	"errors-in-lower-case":   failingBody(spoil.Text("code", strings.ToLower)),
	"errors-in-camel-case": failingBody(func(p object) {
		p["code"] = map[any]string{proto.InvalidMessage: "InvalidMessage",
			proto.SessionNotActive: "SessionNotActive"}[p["code"]]
	}),
	"errors-code-beside": failingAs(codeBeside),
	"errors-code-inside": failingBody(func(p object) {
		p["error"] = object{"code": p["code"]}
		delete(p, "code")
	}),
	"unjoined-unanswered":        unjoined(func(view, party, *envelope, *refusal) *refusal { return nil }),
	"unjoined-another-code":      unjoined(refusedWith(proto.UnknownTool)),
	"unjoined-a-code-of-its-own": unjoined(refusedWith("NOT_JOINED")),
	"unjoined-passed-on":         unjoined(unjoinedPassedOn),
	"unjoined-confirmed":         unjoined(confirmed),
	"hostless-unanswered":        hostless(func(view, party, *envelope, *refusal) *refusal { return nil }),
	"hostless-another-code":      hostless(refusedWith(proto.ToolExecutionFailed)),
	"hostless-a-code-of-its-own": hostless(refusedWith("NO_HOST")),
	"hostless-without-reply-to":  hostlessNameless,
	"versions-refused-unnamed":   versionNameless,
	"hostless-taken-for-done":    hostless(confirmed),
	"never-hosted-unanswered":    unansweredWhere(false),
	"deserted-unanswered":        unansweredWhere(true),
}

// starts reports whether a text begins with a character.
func starts(e *envelope, with byte) bool { return len(e.Raw) > 0 && e.Raw[0] == with }

// valuesOf returns the JSON values at the beginning of a text.
func valuesOf(data []byte) (all []frame) {
	for dec := jsontext.NewDecoder(bytes.NewReader(data)); ; {
		v, err := dec.ReadValue()
		if err != nil {
			return all
		}
		all = append(all, frame{Data: v.Clone()})
	}
}

// takesBatches handles the elements of a list one by one.
func takesBatches(_ view, _ party, f frame, e *envelope) []frame {
	var list []jsontext.Value
	if !starts(e, '[') || json.Unmarshal(f.Data, &list) != nil {
		return []frame{f}
	}
	var all []frame
	for _, v := range list {
		all = append(all, frame{Data: v})
	}
	return all
}

// takesTheFirst reads one value from each frame, as a streaming decoder does.
func takesTheFirst(_ view, _ party, f frame, _ *envelope) []frame {
	if all := valuesOf(f.Data); len(all) > 1 {
		return all[:1]
	}
	return []frame{f}
}

// takesAll reads all values of a frame.
func takesAll(_ view, _ party, f frame, _ *envelope) []frame {
	if all := valuesOf(f.Data); len(all) > 1 {
		return all
	}
	return []frame{f}
}

// awaitsTheRest treats a truncated frame as the first part of a message.
func awaitsTheRest(o *options) {
	parts := map[int][]byte{}
	o.Inbound = func(_ view, from party, f frame) []frame {
		data := append(parts[from.Conn], f.Data...)
		delete(parts, from.Conn)
		if e := relay.Read(frame{Data: data}); e.Fault == relay.NotJSON && starts(e, '{') && bytes.Count(data,
			[]byte("{")) > bytes.Count(data, []byte("}")) {
			parts[from.Conn] = data
			return nil
		}
		return []frame{{Data: data, Binary: f.Binary}}
	}
}

// mends reads an object that begins twice.
func mends(_ view, _ party, f frame, _ *envelope) []frame {
	if bytes.HasPrefix(f.Data, []byte("{{")) {
		f.Data = f.Data[1:]
	}
	return []frame{f}
}

// junkPassedOn checks nothing after the join.
func junkPassedOn(_ string, from party, _ *envelope, why *refusal) *refusal {
	if from.Role != "" {
		return nil
	}
	return why
}

// ClosingAt closes the connection without an error on some envelopes.
func ClosingAt(which func(e *envelope) bool, code websocket.StatusCode) fault {
	return hearing(func(v view, from party, f frame, e *envelope) []frame {
		if which(e) && !from.Attached {
			v.End(from.Conn, websocket.CloseError{Code: code, Reason: "not understood"})
			return nil
		}
		return []frame{f}
	})
}

// Recoding refuses envelopes from sockets that fail a check with another code.
func Recoding(check, code string) fault {
	return checking(func(name string, from party, _ *envelope, why *refusal) *refusal {
		if name == check && why != nil && !from.Attached {
			return &refusal{Code: code, Text: why.Text}
		}
		return why
	})
}

// unreadableAs refuses unreadable frames with another code.
func unreadableAs(code string) fault {
	return func(o *options) {
		o.Policy.Error = func(_ party, about request, _ refusal, msg message) message {
			if about.Type == "" {
				msg.Payload()["code"] = code
			}
			return msg
		}
	}
}

// untyped reports whether a readable envelope has no type that is a string.
func untyped(e *envelope) bool { _, isText := e.Text("type"); return e.Fault == "" && !isText }

// takesListedTypes accepts a list of one type as that type, as a JavaScript lookup does.
func takesListedTypes(_ view, _ party, f frame, e *envelope) []frame {
	if env := message(wire.Read(f.Data)); env != nil && untyped(e) {
		if list, ok := env["type"].([]any); ok && len(list) == 1 {
			f.Data = wire.Encode(env.With("type", list[0]))
		}
	}
	return []frame{f}
}

// failingBody changes the payload of the relay's own errors.
func failingBody(f func(p object)) fault {
	return failingAs(func(msg message) message {
		f(msg.Payload())
		return msg
	})
}

func codeBeside(msg message) message {
	p := msg.Payload()
	return msg.With("code", p["code"]).With("payload", object{"message": p["message"]})
}

func refusedWith(code string) func(view, party, *envelope, *refusal) *refusal {
	return func(view, party, *envelope, *refusal) *refusal { return &refusal{Code: code, Text: "not now"} }
}

// confirmed replies as if a call had succeeded.
func confirmed(v view, from party, e *envelope, _ *refusal) *refusal {
	v.Send(from.Conn, wire.Encode(confirmation(e)))
	return nil
}

// unjoinedPassedOn passes an envelope on to a host, if there is one.
func unjoinedPassedOn(v view, _ party, e *envelope, _ *refusal) *refusal {
	for _, p := range v.Parties() {
		if isHost(p) {
			v.Send(p.Conn, e.Raw)
			return nil
		}
	}
	return nil
}

// hostlessNameless omits replyTo when there is no host.
func hostlessNameless(o *options) {
	hostless(refusedWith(proto.SessionNotActive))(o)
	o.Policy.Error = func(_ party, _ request, why refusal, msg message) message {
		if why.Text == "not now" {
			return msg.Without("replyTo")
		}
		return msg
	}
}

// versionNameless refuses other versions without naming the request.
func versionNameless(o *options) {
	o.Policy.Error = func(_ party, _ request, why refusal, msg message) message {
		if strings.HasPrefix(why.Text, "v must be ") {
			return msg.Without("replyTo")
		}
		return msg
	}
}

// unansweredWhere leaves calls unanswered where a host has joined before, or where none has.
func unansweredWhere(hadHost bool) fault {
	return func(o *options) {
		hosted := map[string]bool{}
		o.Policy.Joined = func(_ view, to party, _ proto.Join, msg message) message {
			hosted[to.Session] = hosted[to.Session] || isHost(to)
			return msg
		}
		o.Policy.HostAbsent = func(_ view, from party, _ *envelope, why *refusal) *refusal {
			if hosted[from.Session] == hadHost {
				return nil
			}
			return why
		}
	}
}
