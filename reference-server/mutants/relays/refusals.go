package relays

import (
	"bytes"
	"strings"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// refusalFaults take what is to be refused, or refuse it otherwise.
var refusalFaults = map[string]fault{
	"junk-unanswered":        ignoring(func(*envelope) bool { return true }),
	"broken-json-unanswered": ignoring(func(e *envelope) bool { return e.Fault == relay.NotJSON && len(e.Raw) > 0 }),
	"no-object-unanswered":   ignoring(func(e *envelope) bool { return e.Fault == relay.NotObject }),
	"empty-text-unanswered":  ignoring(func(e *envelope) bool { return len(e.Raw) == 0 }),
	"null-unanswered":        ignoring(func(e *envelope) bool { return string(e.Raw) == "null" }),
	"text-unanswered":        ignoring(func(e *envelope) bool { return starts(e, '"') }),
	"number-unanswered":      ignoring(func(e *envelope) bool { return starts(e, '4') }),
	"list-unanswered":        ignoring(func(e *envelope) bool { return starts(e, '[') }),
	"list-is-a-batch":        hearing(takesBatches),
	"first-value-counts":     hearing(takesTheFirst),
	"each-value-counts":      hearing(takesAll),
	"half-is-awaited":        hearing(awaitsTheRest),
	"broken-json-is-mended":  hearing(mends),
	"junk-passed-on":         deciding(junkPassedOn),
	"junk-closes":            deciding(junkCloses),
	"junk-another-code":      refusingAs(unreadable, func(why refusal) refusal { why.Code = proto.SessionNotActive; return why }),
	"junk-a-code-of-its-own": refusingAs(unreadable, func(why refusal) refusal { why.Code = "PARSE_ERROR"; return why }),
	"errors-in-lower-case":   refusingAs(nil, func(why refusal) refusal { why.Code = strings.ToLower(why.Code); return why }),
	"errors-in-camel-case": refusingAs(nil, func(why refusal) refusal {
		why.Code = map[string]string{proto.InvalidMessage: "InvalidMessage", proto.SessionNotActive: "SessionNotActive"}[why.Code]
		return why
	}),
	"errors-without-code":        failingBody(func(p object) { delete(p, "code") }),
	"errors-code-a-number":       failingBody(func(p object) { p["code"] = 400 }),
	"errors-code-beside":         failingAs(codeBeside),
	"errors-code-inside":         failingBody(func(p object) { p["error"] = object{"code": p["code"]}; delete(p, "code") }),
	"errors-without-message":     failingBody(func(p object) { delete(p, "message") }),
	"errors-message-null":        failingBody(func(p object) { p["message"] = nil }),
	"errors-message-a-list":      failingBody(func(p object) { p["message"] = []any{p["message"]} }),
	"errors-message-renamed":     failingBody(func(p object) { p["reason"] = p["message"]; delete(p, "message") }),
	"unjoined-unanswered":        deciding(func() rules { return rules{unjoined: func(view, party, *envelope) *refusal { return nil }} }),
	"unjoined-another-code":      deciding(func() rules { return rules{unjoined: unjoinedWith(proto.UnknownTool)} }),
	"unjoined-a-code-of-its-own": deciding(func() rules { return rules{unjoined: unjoinedWith("NOT_JOINED")} }),
	"unjoined-passed-on":         deciding(func() rules { return rules{unjoined: unjoinedPassedOn} }),
	"unjoined-confirmed":         deciding(func() rules { return rules{unjoined: unjoinedConfirmed} }),
	"hostless-unanswered":        deciding(func() rules { return rules{absent: func(view, party, *envelope) *refusal { return nil }} }),
	"hostless-another-code":      deciding(func() rules { return rules{absent: absentWith(proto.ToolExecutionFailed)} }),
	"hostless-a-code-of-its-own": deciding(func() rules { return rules{absent: absentWith("NO_HOST")} }),
	"hostless-without-reply-to":  deciding(hostlessNameless),
	"hostless-taken-for-done":    deciding(func() rules { return rules{absent: absentConfirmed} }),
	"never-hosted-unanswered":    deciding(func() rules { return hostedRules(false) }),
	"deserted-unanswered":        deciding(func() rules { return hostedRules(true) }),
}

// unreadable tells whether a refusal is about a frame that could not be read.
func unreadable(about request) bool { return about.Type == "" }

// starts tells whether a text begins so.
func starts(e *envelope, with byte) bool { return len(e.Raw) > 0 && e.Raw[0] == with }

// ignoring drops some of what is no envelope.
func ignoring(which func(e *envelope) bool) fault {
	return hearing(func() relay.Inbound {
		return func(_ view, _ party, f frame) []frame {
			if e := relay.Read(f); e.Fault != "" && which(e) {
				return nil
			}
			return []frame{f}
		}
	})
}

// valuesOf are the JSON values at the beginning of a text.
func valuesOf(data []byte) (all []frame) {
	for dec := jsontext.NewDecoder(bytes.NewReader(data)); ; {
		v, err := dec.ReadValue()
		if err != nil {
			return all
		}
		all = append(all, frame{Data: v.Clone()})
	}
}

// takesBatches handles the members of a list one by one.
func takesBatches() relay.Inbound {
	return func(_ view, _ party, f frame) []frame {
		if all := valuesOf(f.Data); len(all) == 1 && starts(relay.Read(f), '[') {
			return valuesOf(bytes.TrimSuffix(bytes.TrimPrefix(f.Data, []byte("[")), []byte("]")))
		}
		return []frame{f}
	}
}

// takesTheFirst reads one value from each frame, as a streaming decoder does.
func takesTheFirst() relay.Inbound {
	return func(_ view, _ party, f frame) []frame {
		if all := valuesOf(f.Data); len(all) > 1 {
			return all[:1]
		}
		return []frame{f}
	}
}

// takesAll reads values for as long as there are some.
func takesAll() relay.Inbound {
	return func(_ view, _ party, f frame) []frame {
		if all := valuesOf(f.Data); len(all) > 1 {
			return all
		}
		return []frame{f}
	}
}

// awaitsTheRest takes a frame that ends too soon for the first part of a message.
func awaitsTheRest() relay.Inbound {
	parts := map[int][]byte{}
	return func(_ view, from party, f frame) []frame {
		data := append(parts[from.Conn], f.Data...)
		delete(parts, from.Conn)
		if e := relay.Read(frame{Data: data}); e.Fault == relay.NotJSON && starts(e, '{') && bytes.Count(data, []byte("{")) > bytes.Count(data, []byte("}")) {
			parts[from.Conn] = data
			return nil
		}
		return []frame{{Data: data, Binary: f.Binary}}
	}
}

// mends reads an object that begins twice.
func mends() relay.Inbound {
	return func(_ view, _ party, f frame) []frame {
		if bytes.HasPrefix(f.Data, []byte("{{")) {
			f.Data = f.Data[1:]
		}
		return []frame{f}
	}
}

// junkPassedOn reads nothing of what parties say once they have joined.
func junkPassedOn() rules {
	return rules{checks: func(from party) []relay.Check {
		if from.Role == "" {
			return relay.Checks()
		}
		return nil
	}}
}

// junkCloses closes a connection without a word.
func junkCloses() rules {
	return rules{
		failure: func(about request, _ refusal, msg message) message {
			if unreadable(about) {
				return nil
			}
			return msg
		},
		ends: func(_ party, e *envelope) *websocket.CloseError {
			if e.Fault == "" {
				return nil
			}
			return &websocket.CloseError{Code: websocket.StatusInvalidFramePayloadData, Reason: "not JSON"}
		},
	}
}

// refusingAs gives other reasons for some refusals; for all, without a condition.
func refusingAs(which func(about request) bool, f func(why refusal) refusal) fault {
	return deciding(func() rules {
		return rules{failure: func(about request, why refusal, msg message) message {
			if which == nil || which(about) {
				why = f(why)
				return msg.With("payload", object{"code": why.Code, "message": why.Text})
			}
			return msg
		}}
	})
}

// failingBody changes the payload of the relay's own errors, which is made anew for each.
func failingBody(f func(p object)) fault {
	return failingAs(func(msg message) message {
		f(msg["payload"].(object))
		return msg
	})
}

func codeBeside(msg message) message {
	p := msg["payload"].(object)
	return msg.With("code", p["code"]).With("payload", object{"message": p["message"]})
}

func unjoinedWith(code string) func(view, party, *envelope) *refusal {
	return func(view, party, *envelope) *refusal { return &refusal{Code: code, Text: "join first"} }
}

// confirmation is the answer to a call that has gone well.
func confirmation(e *envelope) []byte {
	id, _ := e.ID()
	tool, _ := e.Payload().Text("toolName")
	return message{"v": proto.Version, "type": proto.ToolResult, "replyTo": id, "payload": object{"ok": true, "toolName": tool}}.Encode()
}

// unjoinedPassedOn sends what comes to a host, if there is one.
func unjoinedPassedOn(v view, _ party, e *envelope) *refusal {
	for _, p := range v.Parties() {
		if isHost(p) {
			v.Send(p.Conn, e.Raw)
			return nil
		}
	}
	return nil
}

func unjoinedConfirmed(v view, from party, e *envelope) *refusal {
	v.Send(from.Conn, confirmation(e))
	return nil
}

func absentWith(code string) func(view, party, *envelope) *refusal {
	return func(view, party, *envelope) *refusal { return &refusal{Code: code, Text: "no host"} }
}

func absentConfirmed(v view, from party, e *envelope) *refusal {
	v.Send(from.Conn, confirmation(e))
	return nil
}

// hostlessNameless forgets to name the request where no host is.
func hostlessNameless() rules {
	return rules{
		absent: absentWith(proto.SessionNotActive),
		failure: func(_ request, why refusal, msg message) message {
			if why.Text == "no host" {
				return msg.Without("replyTo")
			}
			return msg
		},
	}
}

// hostedRules leaves calls without an answer where a host has been once, or where none has.
func hostedRules(had bool) rules {
	hosted := map[string]bool{}
	return rules{
		joined: func(_ view, to party, _ *envelope, msg message, _ proto.Join) message {
			hosted[to.Session] = hosted[to.Session] || isHost(to)
			return msg
		},
		absent: func(v view, from party, e *envelope) *refusal {
			if hosted[from.Session] == had {
				return nil
			}
			return correct.HostAbsent(v, from, e)
		},
	}
}
