package model

import (
	"fmt"
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/steps/obligation/obligationtest"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// script parses a transcript from lines such as
//
//	A open
//	A > tool.call #r1 {"toolName":"next"}
//	A < tool.result @r1 {"ok":true}
//	A < {"v":"mvp-0.2","type":"error"}
//	A < not JSON
//	A closed
//	- a remark
//	+ 45s
//
// where > means sent, < received, # gives an id, @ a replyTo, and + lets time pass. A line that begins with a type is
// a complete envelope with the payload {} by default; anything else is on the wire verbatim.
func script(t testing.TB, lines string) []transcript.Record {
	t.Helper()
	return obligationtest.Script(t, lines, func(r *transcript.Record) {
		r.Bytes = []byte(frame(t, string(r.Bytes)))
		decode(r)
	})
}

// frame returns the text that a line has on the wire.
func frame(t testing.TB, text string) string {
	t.Helper()
	kind, rest, _ := strings.Cut(text, " ")
	if kind != vocab.ErrorMessage && !strings.Contains(kind, ".") || strings.ContainsAny(kind, `{["`) {
		return text
	}
	env := object{"v": vocab.Version, "type": kind, vocab.Payload: object{}}
	for rest != "" {
		var word string
		switch rest[0] {
		case '#':
			word, rest, _ = strings.Cut(rest[1:], " ")
			env[vocab.ID] = word
		case '@':
			word, rest, _ = strings.Cut(rest[1:], " ")
			env[vocab.ReplyTo] = word
		default:
			v, _, err := wjson.Decode([]byte(rest))
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			env[vocab.Payload], rest = v, ""
		}
	}
	return wjson.Compact(env)
}

// decode decodes a frame as the steps do.
func decode(r *transcript.Record) {
	v, faults, err := wjson.Decode(r.Bytes)
	env, ok := v.(object)
	if err != nil || !ok {
		return
	}
	r.Event = &transcript.Event{Data: env[vocab.Payload], RequestID: env[vocab.ID], Envelope: env}
	r.Event.Type, _ = env[vocab.Type].(string)
	for _, f := range faults {
		r.Event.Faults = append(r.Event.Faults, fmt.Sprint(f))
	}
}
