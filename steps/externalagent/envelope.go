// Package externalagent has the steps of the external-agent features: what hosts, agents and relays do and observe,
// in the protocol's terms. The target's role decides which of them the harness plays.
package externalagent

import (
	"fmt"
	"slices"

	vocab "parley/protocol/externalagent"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// object is a decoded JSON object, or one to be encoded.
type object = map[string]any

// decode fills a record's Event with the envelope: its Type, its payload as Data, and its id as RequestID. A frame
// that is not a JSON object has no Event.
func decode(r *transcript.Record) {
	if r.Kind != transcript.Frame {
		return
	}
	v, faults, err := wjson.Decode(r.Bytes)
	if err != nil {
		return
	}
	env, ok := v.(object)
	if !ok {
		return
	}
	ev := &transcript.Event{Data: env["payload"], RequestID: env["id"], Envelope: env}
	ev.Type, _ = env["type"].(string)
	for _, f := range faults {
		ev.Faults = append(ev.Faults, fmt.Sprint(f))
	}
	r.Event = ev
	if r.Label == "" {
		r.Label = ev.Type
	}
}

// envelope makes an envelope; an empty id or replyTo is omitted.
func envelope(kind, id, replyTo string, payload any) object {
	e := object{"v": vocab.Version, "type": kind, "payload": payload}
	if id != "" {
		e["id"] = id
	}
	if replyTo != "" {
		e["replyTo"] = replyTo
	}
	return e
}

// message encodes an envelope, or its replacement.
func message(v any) (driver.Message, error) {
	b, err := wjson.Encode(v)
	if err != nil {
		return driver.Message{}, fmt.Errorf("encode an envelope: %w", err)
	}
	label := ""
	if env, ok := v.(object); ok {
		label, _ = env["type"].(string)
	}
	return driver.Message{Label: label, Body: b}, nil
}

// kindOf returns the type of a received or sent envelope, or "".
func kindOf(r *transcript.Record) string {
	if r.Event == nil {
		return ""
	}
	return r.Event.Type
}

// field returns a string member of a record's envelope, or "".
func field(r *transcript.Record, name string) string {
	if r.Event == nil {
		return ""
	}
	env, _ := r.Event.Envelope.(object)
	s, _ := env[name].(string)
	return s
}

// payload returns the payload of a record's envelope, or nil if it is not an object.
func payload(r *transcript.Record) object {
	if r.Event == nil {
		return nil
	}
	p, _ := r.Event.Data.(object)
	return p
}

// received matches an envelope of one of the types sent by the target.
func received(kinds ...string) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		return r.Dir == transcript.Received && r.Event != nil && slices.Contains(kinds, r.Event.Type)
	}
}

// sent matches an envelope of one of the types sent by the harness.
func sent(kinds ...string) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		return r.Dir == transcript.Sent && r.Event != nil && slices.Contains(kinds, r.Event.Type)
	}
}

// answers matches the answer to a request: an envelope of a type that answers requests, with its id. What else names
// the id, such as the progress of a call or the state that it has led to, comes beside the answer.
func answers(id string) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		return r.Dir == transcript.Received && id != "" && field(r, "replyTo") == id && isAnswer(kindOf(r))
	}
}
