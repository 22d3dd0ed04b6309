// Package sessionchat has the steps of the session-chat features: what clients do and observe, in the protocol's
// terms.
package sessionchat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	vocab "parley/protocol/sessionchat"
	"parley/steps/sessionchat/binding"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// codec maps the protocol's messages to the target's wire and back. It does no I/O and has no state.
type codec struct {
	wire binding.Binding
	base string
}

func newCodec(p *target.Profile, base string) *codec {
	return &codec{wire: *binding.Of(p), base: base}
}

func (b *codec) url() string { return b.base + b.wire.WS.Path }

// fields are the fields of a client message, by their default binding names.
type fields map[string]any

// message encodes a client message of type kind; "" means no type.
func (b *codec) message(kind string, f fields) (driver.Message, error) {
	body := map[string]any{}
	at := b.wire.Fields.Request
	places := map[string]target.Pointer{
		"agent_id": at.AgentID, "content": at.Content, "options": at.Options, "model": at.Model,
	}
	if kind != "" {
		if err := at.Type.Set(body, b.wire.MessageName(kind)); err != nil {
			return driver.Message{}, fmt.Errorf("message %s: %w", kind, err)
		}
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(f))) { // options before model, which is set inside them
		p, ok := places[name]
		if !ok {
			return driver.Message{}, fmt.Errorf("message %s has no field %s", kind, name)
		}
		if _, taken := p.Get(body); taken && name != "model" {
			return driver.Message{}, fmt.Errorf("message %s: field %s: %s is another field's place, or within it", kind, name, p)
		}
		v := f[name]
		if m, ok := v.(map[string]any); ok {
			v = maps.Clone(m)
		}
		if err := p.Set(body, v); err != nil {
			return driver.Message{}, fmt.Errorf("message %s: %w", kind, err)
		}
	}
	if _, there := at.Type.Get(body); kind != "" && !there {
		return driver.Message{}, fmt.Errorf("message %s: its type stands within another field", kind)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return driver.Message{}, fmt.Errorf("encode %s: %w", kind, err)
	}
	return driver.Message{Label: kind, Body: bytes.TrimRight(buf.Bytes(), "\n")}, nil
}

// Members of a decoded server message, by their default binding names. Missing members are absent.
const (
	inAgent   = "agent_id"
	inSession = "session_id"
	inType    = "message_type"
	inMessage = "message"
	inTime    = "timestamp"
	inSubtype = "subtype" // canonical: success, interrupted or error, otherwise as on the wire
	inCode    = "code"
	inPiece   = "piece" // of a stream message: true if its text is where the profile says
	inText    = "text"  // every string in the message, ordered by member name; absent if there is none
)

// decode fills a record's Event with the message under the names of the default binding. Its Type is "" if the
// message has none.
func (b *codec) decode(r *transcript.Record) {
	if r.Kind != transcript.Frame || r.Type != "text" {
		return
	}
	v, faults, err := wjson.Decode(r.Bytes)
	if err != nil {
		return
	}
	if _, object := v.(map[string]any); !object {
		return
	}
	ev := &transcript.Event{Envelope: v}
	for _, f := range faults {
		ev.Faults = append(ev.Faults, fmt.Sprint(f))
	}
	if r.Dir == transcript.Sent {
		b.sent(ev, v)
	} else {
		b.received(ev, v)
	}
	r.Event = ev
	if r.Label == "" {
		r.Label = ev.Type
	}
}

func (b *codec) received(ev *transcript.Event, v any) {
	f, data := b.wire.Fields.Message, map[string]any{}
	for name, p := range map[string]target.Pointer{
		inAgent: f.AgentID, inSession: f.SessionID, inMessage: f.Body, inTime: f.Timestamp, inCode: f.Code,
	} {
		if m, found := p.Get(v); found {
			data[name] = m
		}
	}
	for i, p := range f.Type {
		m, found := p.Get(v)
		if !found {
			continue
		}
		if i == 0 {
			data[inType] = m
		}
		if name, ok := m.(string); ok && ev.Type == "" {
			if ev.Type = b.wire.TypeOf(name); ev.Type == "" && name != "" {
				ev.Type = foreign(name)
			}
		}
	}
	if m, found := f.Subtype.Get(v); found {
		if name, ok := m.(string); ok {
			if m = b.wire.OutcomeOf(name); m == "" && name != "" {
				m = foreign(name)
			}
		}
		data[inSubtype] = m
	}
	if m, found := f.Text.Get(v); found && ev.Type == vocab.StreamMessage {
		data[inText], _ = m.(string)
		data[inPiece] = true
	} else if said := strings.Join(texts(data[inMessage]), "\n"); said != "" {
		data[inText] = said // a member that the message may lack, and that is quoted with the others
	}
	ev.Data, ev.Timestamp = data, data[inTime]
}

// foreign marks a name that the default binding uses for something that has another name on this wire.
func foreign(name string) string { return "(" + name + ")" }

// sent decodes the harness's own messages into the same form, for the monitors.
func (b *codec) sent(ev *transcript.Event, v any) {
	f, data := b.wire.Fields.Request, map[string]any{}
	for name, p := range map[string]target.Pointer{"agent_id": f.AgentID, "content": f.Content, "options": f.Options} {
		if m, found := p.Get(v); found {
			data[name] = m
		}
	}
	if m, found := f.Type.Get(v); found {
		ev.Type, _ = m.(string)
	}
	for _, known := range []string{vocab.ChatType, vocab.InterruptType, vocab.PingType} {
		if b.wire.MessageName(known) == ev.Type {
			ev.Type = known
			break
		}
	}
	ev.Data = data
}

// member returns a member of a decoded message; nil if it is null or absent.
func member(r *transcript.Record, name string) any {
	if r.Event == nil {
		return nil
	}
	data, _ := r.Event.Data.(map[string]any)
	return data[name]
}

// text returns a member that is a string; "" otherwise.
func text(r *transcript.Record, name string) string {
	s, _ := member(r, name).(string)
	return s
}
