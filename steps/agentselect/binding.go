// Package agentselect holds the steps of the agent-select features: what clients do and observe, in the protocol's
// terms, over any driver.
package agentselect

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonform"
	vocab "parley/protocol/agentselect"
	"parley/steps/agentselect/binding"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// codec maps the protocol's messages to the target's wire and back. It is pure: no I/O, no state.
type codec struct {
	wire binding.Binding
	env  binding.Envelope
	base string
	ws   bool
}

func newCodec(p *target.Profile, base, driverName string) *codec {
	name := target.SSE
	if driverName == target.WS {
		name = target.WS
	}
	return &codec{wire: *binding.Of(p), env: binding.Of(p).EnvelopeFor(name), base: base, ws: driverName == target.WS}
}

// raw is JSON text that is sent unchanged.
type raw = jsontext.Value

// fields are the fields of a client message under the names of the default binding.
type fields map[string]any

// streamURL returns the URL of a connection, with a query that may be empty.
func (b *codec) streamURL(query string) string {
	path := b.wire.SSE.Stream.Path
	if b.ws {
		path = b.wire.WS.Path
	}
	return withQuery(b.base+path, query)
}

func withQuery(url, query string) string {
	switch {
	case query == "":
		return url
	case strings.Contains(url, "?"):
		return url + "&" + query
	}
	return url + "?" + query
}

// message encodes a client message of the given kind. connID is the id that the target gave the connection.
func (b *codec) message(kind string, f fields, connID any) (driver.Message, error) {
	body := map[string]any{}
	put := func(p target.Pointer, v any) error { return p.Set(body, v) }
	at := b.wire.Fields.Request.Places()
	for name, v := range f {
		p, ok := at[name]
		if !ok {
			p = target.Pointer("/" + name)
		}
		if err := put(p, v); err != nil {
			return driver.Message{}, err
		}
	}
	endpoint := b.endpoint(kind)
	if b.ws || endpoint == b.wire.SSE.Message {
		if err := put(b.wire.Fields.Request.Type, b.wire.MessageName(kind)); err != nil {
			return driver.Message{}, err
		}
	}
	if how := b.correlation(kind); !b.ws && connID != nil && how.Body != "" && !how.Single {
		if err := put(how.Body, connID); err != nil {
			return driver.Message{}, err
		}
	}
	text, err := encode(body)
	if err != nil {
		return driver.Message{}, fmt.Errorf("encode %s: %w", kind, err)
	}
	return b.carry(kind, endpoint, text, connID), nil
}

// verbatim returns a client message whose body is given byte by byte.
func (b *codec) verbatim(body string, connID any) driver.Message {
	return b.carry("verbatim", b.wire.SSE.Message, []byte(body), connID)
}

// deletion returns the request that deletes a session.
func (b *codec) deletion(session string, connID any) driver.Message {
	m := b.carry("session_delete", b.wire.SSE.Delete, nil, connID)
	m.URL = strings.ReplaceAll(m.URL, "{id}", url.PathEscape(session))
	return m
}

func (b *codec) carry(label string, e binding.Endpoint, body []byte, connID any) driver.Message {
	m := driver.Message{Label: label, Body: body}
	if b.ws {
		return m
	}
	m.Method, m.URL = e.Method, b.base+e.Path
	if h := b.correlation(label).Header; h != "" && connID != nil {
		m.Header = http.Header{http.CanonicalHeaderKey(h): {fmt.Sprint(connID)}}
	}
	return m
}

// correlation returns how a message of a kind identifies its connection.
func (b *codec) correlation(kind string) binding.Correlation {
	switch kind {
	case vocab.SessionCreateType:
		return b.wire.Correlation.OfCreate()
	case vocab.SessionLoadType:
		return b.wire.Correlation.OfLoad()
	}
	return b.wire.Correlation
}

func (b *codec) endpoint(kind string) binding.Endpoint {
	switch kind {
	case vocab.SessionCreateType:
		return b.wire.SSE.Create
	case vocab.SessionLoadType:
		return b.wire.SSE.Load
	}
	return b.wire.SSE.Message
}

func encode(v any) ([]byte, error) { return json.Marshal(v, jsonform.Unescaped) }

// decode fills a record's Event: the message in the protocol's terms, under the names of the default binding.
func (b *codec) decode(r *transcript.Record) {
	if r.Dir == transcript.Sent {
		b.decodeSent(r)
		return
	}
	switch {
	case r.Kind == transcript.Stream:
	case r.Kind == transcript.Frame && r.Type == "text":
	default:
		return
	}
	v, faults, err := wjson.Decode(r.Bytes)
	if err != nil {
		if r.Kind == transcript.Stream && b.env.SSEEvent {
			r.Event = &transcript.Event{Type: b.wire.EventOf(r.Type), Faults: []string{err.Error()}}
		}
		return
	}
	ev := &transcript.Event{Envelope: v}
	for _, f := range faults {
		ev.Faults = append(ev.Faults, fmt.Sprint(f))
	}
	if b.env.SSEEvent {
		ev.Type = r.Type
	} else {
		name, _ := b.env.Type.Get(v)
		s, ok := name.(string)
		if !ok {
			return // not an event of this protocol: it has no type
		}
		ev.Type = s
	}
	ev.Type = b.wire.EventOf(ev.Type)
	ev.Data, _ = b.env.Data.Get(v)
	ev.RequestID, _ = b.env.RequestID.Get(v)
	ev.Timestamp, _ = b.env.Timestamp.Get(v)
	ev.Data = b.canonical(ev.Type, ev.Data)
	r.Event, r.Label = ev, ev.Type
}

// decodeSent gives the harness's own messages the same form, for the monitors.
func (b *codec) decodeSent(r *transcript.Record) {
	if r.Dir != transcript.Sent || r.Kind != transcript.Request && r.Kind != transcript.Frame {
		return
	}
	v, _, err := wjson.Decode(r.Bytes)
	if err != nil {
		return
	}
	kind := b.requested(r)
	if kind == "" {
		name, _ := b.wire.Fields.Request.Type.Get(v)
		kind, _ = name.(string)
	}
	if kind == "" {
		return
	}
	for _, known := range []string{vocab.SwitchAgentType, vocab.ChatType, vocab.AbortType, vocab.SessionCreateType,
		vocab.SessionLoadType} {
		if b.wire.MessageName(known) == kind {
			kind = known
			break
		}
	}
	data := map[string]any{}
	at := b.wire.Fields.Request
	for key, p := range map[string]target.Pointer{vocab.AgentID: at.AgentID, vocab.SessionID: at.SessionID,
		vocab.InitialAgentID: at.InitialAgentID} {
		if f, found := p.Get(v); found {
			data[key] = f
		}
	}
	r.Event = &transcript.Event{Type: kind, Data: data, Envelope: v}
}

// requested returns the kind of an HTTP request by its address: a session is created or loaded; "" for others.
func (b *codec) requested(r *transcript.Record) string {
	method, at, _ := strings.Cut(r.Label, " ")
	at, _, _ = strings.Cut(at, "?")
	for _, kind := range []string{vocab.SessionCreateType, vocab.SessionLoadType} {
		e := b.endpoint(kind)
		path, _, _ := strings.Cut(e.Path, "?")
		if r.Kind == transcript.Request && method == e.Method && strings.HasSuffix(at, path) && e != b.wire.SSE.Message {
			return kind
		}
	}
	return ""
}

// usualPlaces returns the places of the default binding.
var usualPlaces = sync.OnceValue(func() binding.Fields { return binding.Default().Fields })

// canonical moves the fields of an event to where the default binding has them.
func (b *codec) canonical(event string, data any) any {
	f, std := b.wire.Fields.Event, usualPlaces()
	type move struct{ from, to target.Pointer }
	moves := map[string][]move{
		vocab.ConnectedEvent: {{f.ConnectionID, std.Event.ConnectionID}},
		vocab.AgentListEvent: {{f.Agents, std.Event.Agents}, {f.CurrentAgentID, std.Event.CurrentAgentID}},
		vocab.AgentSwitchedEvent: {{f.PreviousAgentID, std.Event.PreviousAgentID},
			{f.CurrentAgentID, std.Event.CurrentAgentID}, {f.AgentName, std.Event.AgentName}},
		vocab.ErrorEvent: {{f.ErrorCode, std.Event.ErrorCode}, {f.Message, std.Event.Message},
			{f.AvailableAgents, std.Event.AvailableAgents}},
		vocab.MessageEvent: {{f.Role, std.Event.Role}, {f.Content, std.Event.Content},
			{f.Streaming, std.Event.Streaming}},
		vocab.CompleteEvent:       {{f.SessionID, std.Event.SessionID}, {f.Cancelled, std.Event.Cancelled}},
		vocab.SessionCreatedEvent: {{f.SessionID, std.Event.SessionID}},
		vocab.SessionLoadedEvent:  {{f.SessionID, std.Event.SessionID}},
	}
	original := data // positions may be swapped, so every move reads the original
	for _, m := range moves[event] {
		data = moved(data, original, m.from, m.to)
	}
	if a := b.wire.Fields.Agent; a != std.Agent {
		for _, key := range []string{vocab.Agents, vocab.AvailableAgents} {
			data = eachEntry(data, key, func(v any) any {
				out := moved(v, v, a.ID, std.Agent.ID)
				out = moved(out, v, a.Name, std.Agent.Name)
				return moved(out, v, a.Description, std.Agent.Description)
			})
		}
	}
	return data
}

// moved returns a copy of data whose member to has the value at from in the original; if there is none, to is absent.
func moved(data, original any, from, to target.Pointer) any {
	obj, ok := data.(map[string]any)
	if !ok || from == to {
		return data
	}
	out := make(map[string]any, len(obj)+1)
	for k, v := range obj {
		out[k] = v
	}
	key := strings.TrimPrefix(string(to), "/")
	if v, found := from.Get(original); found {
		out[key] = v
	} else {
		delete(out, key)
	}
	return out
}

func eachEntry(data any, key string, f func(any) any) any {
	obj, ok := data.(map[string]any)
	if !ok {
		return data
	}
	list, ok := obj[key].([]any)
	if !ok {
		return data
	}
	entries := make([]any, len(list))
	for i, e := range list {
		entries[i] = f(e)
	}
	out := map[string]any{}
	for k, v := range obj {
		out[k] = v
	}
	out[key] = entries
	return out
}
