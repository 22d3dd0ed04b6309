// Package sessionchat has the steps of the session-chat features: what clients do and observe, in the protocol's
// terms.
package sessionchat

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
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
		vocab.AgentID: at.AgentID, vocab.Content: at.Content, vocab.Options: at.Options, vocab.Model: at.Model,
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
		if _, taken := p.Get(body); taken && name != vocab.Model {
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
	text, err := json.Marshal(body, jsonform.Unescaped)
	if err != nil {
		return driver.Message{}, fmt.Errorf("encode %s: %w", kind, err)
	}
	return driver.Message{Label: kind, Body: text}, nil
}

// decode fills a record's Event with the message under the names of the vocabulary, all at its top. Its Type is "" if
// the message has none. An outcome has its default name if it has one. A text that is not where the profile says is
// every string in the message, ordered by member name. Members that the message lacks are absent.
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
	f := b.wire.Fields.Message
	data := found(v, map[string]target.Pointer{
		vocab.AgentID: f.AgentID, vocab.SessionID: f.SessionID, vocab.Body: f.Body, vocab.Timestamp: f.Timestamp,
		vocab.Code: f.Code,
	})
	for i, p := range f.Type {
		m, found := p.Get(v)
		if !found {
			continue
		}
		if i == 0 {
			data[vocab.MessageType] = m
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
		data[vocab.Subtype] = m
	}
	if m, found := f.Text.Get(v); found && ev.Type == vocab.StreamMessage {
		data[vocab.Text], _ = m.(string)
		data[vocab.Piece] = true
	} else if said := strings.Join(texts(data[vocab.Body]), "\n"); said != "" {
		data[vocab.Text] = said // a member that the message may lack, and that is quoted with the others
	}
	ev.Data, ev.Timestamp = data, data[vocab.Timestamp]
}

// foreign marks a name that the default binding uses for something that has another name on this wire.
func foreign(name string) string { return "(" + name + ")" }

// sent decodes the harness's own messages into the same form, for the monitors.
func (b *codec) sent(ev *transcript.Event, v any) {
	f := b.wire.Fields.Request
	ev.Data = found(v, map[string]target.Pointer{
		vocab.AgentID: f.AgentID, vocab.Content: f.Content, vocab.Options: f.Options,
	})
	if m, found := f.Type.Get(v); found {
		ev.Type, _ = m.(string)
	}
	for _, known := range []string{vocab.ChatType, vocab.InterruptType, vocab.PingType} {
		if b.wire.MessageName(known) == ev.Type {
			ev.Type = known
			break
		}
	}
}

// found returns the members of a message that are there, by name.
func found(v any, places map[string]target.Pointer) map[string]any {
	data := map[string]any{}
	for name, p := range places {
		if m, ok := p.Get(v); ok {
			data[name] = m
		}
	}
	return data
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
