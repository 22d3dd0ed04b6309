package desk

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wire "parley/transport/wire/json"
)

// Names in the document: events, then messages.
const (
	welcome, pong, refused  = "welcome", "pong", "refused"
	opened, closed, history = "ticket.opened", "ticket.closed", "ticket.history"
	started, piece          = "agent.started", "agent.piece"
	asks, done              = "agent.asks", "agent.done"
	answered                = "answered"
)

// codec translates between the document's terms and the wire of one target. It is stateless.
type codec struct {
	*Binding
	base string
	ws   bool
}

func newCodec(p *target.Profile, base, driverName string) codec {
	return codec{Of(p), base, driverName == target.WS}
}

// stream returns the path to which a client connects.
func (c codec) stream() string {
	if c.ws {
		return c.base + c.WS.Path
	}
	return c.base + c.SSE.Events
}

// message encodes a message of a client. A ticket of "" is omitted.
func (c codec) message(client, kind, ref, ticket string, rest map[string]any) (driver.Message, error) {
	body := map[string]any{}
	maps.Copy(body, rest)
	places := map[target.Pointer]string{c.Fields.Type: kind, c.Fields.Ref: ref}
	if ticket != "" {
		places[c.Fields.Ticket] = ticket
	}
	for at, v := range places {
		if err := at.Set(body, v); err != nil {
			return driver.Message{}, err
		}
	}
	b, err := json.Marshal(body)
	return c.carry(client, kind, b), err
}

// carry wraps a body in a message of the transport.
func (c codec) carry(client, label string, body []byte) driver.Message {
	m := driver.Message{Label: label, Body: body}
	if !c.ws {
		m.URL = c.base + strings.ReplaceAll(c.SSE.Messages, "{client}", url.PathEscape(client))
	}
	return m
}

// decode sets the Event of a record: its meaning in the document's terms.
func (c codec) decode(r *transcript.Record) {
	switch r.Kind {
	case transcript.Stream, transcript.Frame, transcript.Request:
	default:
		return
	}
	v, faults, err := wire.Decode(r.Bytes)
	body, object := v.(map[string]any)
	if err != nil || !object {
		return
	}
	data := maps.Clone(body)
	for name, at := range map[string]target.Pointer{
		"type": c.Fields.Type, "client": c.Fields.Client, "ticket": c.Fields.Ticket, "ref": c.Fields.Ref,
	} {
		delete(data, name)
		if field, ok := at.Get(v); ok {
			data[name] = field
		}
	}
	ev := &transcript.Event{Type: text(data, "type"), Data: data, Envelope: v}
	for _, f := range faults {
		ev.Faults = append(ev.Faults, fmt.Sprint(f))
	}
	if r.Dir == transcript.Received {
		ev.Type = target.Original(c.Events, ev.Type)
	}
	if r.Event = ev; r.Label == "" {
		r.Label = ev.Type
	}
}

// text returns a string member of decoded data; "" if it is missing or no string.
func text(data any, name string) string {
	object, _ := data.(map[string]any)
	s, _ := object[name].(string)
	return s
}

// of is text for the event of a record.
func of(r transcript.Record, name string) string {
	if r.Event == nil {
		return ""
	}
	return text(r.Event.Data, name)
}

// is reports whether a record is an event from the target of one of these types.
func is(r *transcript.Record, types ...string) bool {
	if r.Event == nil || r.Dir != transcript.Received {
		return false
	}
	for _, t := range types {
		if r.Event.Type == t {
			return true
		}
	}
	return false
}

// event returns a matcher for events from the target of these types.
func event(types ...string) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool { return is(r, types...) }
}
