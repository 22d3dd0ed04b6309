package agentclient

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
	vocab "parley/protocol/agentselect"
	"parley/steps/agentclient/model"
	selectwire "parley/steps/agentselect/binding"
	"parley/target"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
	"parley/transport/wire/sse"
)

// fields are the fields of an event or a request, by their default binding names.
type fields = map[string]any

// wire maps the events of the scripted server to the wire that the page expects, and the page's requests back. It
// does no I/O and has no state.
type wire struct {
	selectwire.Binding
}

// event encodes an event for an event stream. Its time, if any, is both beside and within its data, because the
// sources have it in either place (AC-119).
func (w wire) event(kind string, data fields, at any) []byte {
	body := map[string]any{}
	for name, v := range data {
		p, ok := w.places()[name]
		if !ok {
			p = target.Pointer("/" + name)
		}
		p.Put(body, w.listed(v))
	}
	if at != nil {
		body["timestamp"] = at
	}
	whole := body
	if w.Envelope.Data != "" {
		whole = map[string]any{}
		w.Envelope.Data.Put(whole, body)
	}
	var out bytes.Buffer
	if w.Envelope.SSEEvent {
		out.WriteString("event: " + w.EventName(kind) + "\n")
	} else {
		w.Envelope.Type.Put(whole, w.EventName(kind))
	}
	if at != nil {
		w.Envelope.Timestamp.Put(whole, at)
	}
	out.WriteString("data: ")
	out.Write(encode(whole))
	out.WriteString("\n\n")
	return out.Bytes()
}

// places returns where the fields of events are within their data.
func (w wire) places() map[string]target.Pointer {
	f := w.Fields.Event
	return map[string]target.Pointer{
		vocab.ConnectionID: f.ConnectionID, vocab.Agents: f.Agents, vocab.CurrentAgentID: f.CurrentAgentID,
		vocab.PreviousAgentID: f.PreviousAgentID, vocab.AgentName: f.AgentName, vocab.ErrorCode: f.ErrorCode,
		vocab.Message: f.Message, vocab.AvailableAgents: f.AvailableAgents, vocab.Role: f.Role,
		vocab.Content: f.Content, vocab.Streaming: f.Streaming, vocab.SessionID: f.SessionID,
		vocab.Cancelled: f.Cancelled,
	}
}

// listed converts a list of agents to this wire; other values stay unchanged.
func (w wire) listed(v any) any {
	agents, ok := v.([]agent)
	if !ok {
		return v
	}
	out := make([]any, len(agents))
	for i, a := range agents {
		entry := map[string]any{}
		for k, extra := range a.more {
			entry[k] = extra
		}
		w.Fields.Agent.ID.Put(entry, a.id)
		w.Fields.Agent.Name.Put(entry, a.name)
		w.Fields.Agent.Description.Put(entry, a.description)
		out[i] = entry
	}
	return out
}

// encode returns JSON without HTML escaping.
func encode(v any) []byte {
	b, err := json.Marshal(v, jsonform.Unescaped)
	if err != nil {
		panic("agentclient: a message of the scenario cannot be encoded: " + err.Error())
	}
	return b
}

// Kinds of records beside those of the model, as their Event.Type. The vocabulary names the messages.
const (
	askHealth = "health"
	given     = "session" // of an answer that gives a session
	answered  = "answer"  // of another answer
	seen      = "look"
)

// decode fills a record's Event.
func (w wire) decode(r *transcript.Record) {
	switch {
	case r.Kind == transcript.Snapshot:
		var l snapshot.Page
		if json.Unmarshal(r.Bytes, &l, jsonform.Lenient) == nil {
			r.Event = &transcript.Event{Type: seen, Data: &l}
		}
	case r.Kind == transcript.Request, r.Kind == transcript.Ask:
		method, at, _ := strings.Cut(r.Label, " ")
		if kind, data, ok := w.asked(method, at, r.Bytes); ok {
			r.Event = &transcript.Event{Type: kind, Data: data}
		}
	case r.Kind == transcript.Response && r.Dir == transcript.Sent && r.Status < 300:
		w.decodeAnswer(r)
	case r.Kind == transcript.Stream && r.Dir == transcript.Sent:
		w.decodeEvent(r)
	}
}

// decodeAnswer decodes the answer to a request of the page.
func (w wire) decodeAnswer(r *transcript.Record) {
	v, _, err := wjson.Decode(r.Bytes)
	if err != nil {
		return
	}
	data := fields{"body": v}
	r.Event = &transcript.Event{Type: answered, Data: data}
	if id, ok := w.Fields.Answer.SessionID.Get(v); ok {
		r.Event.Type, data[vocab.SessionID] = given, id
	}
	if success, ok := w.Fields.Answer.Success.Get(v); ok && success == false {
		data["refused"] = true
	}
}

// decodeEvent decodes an event for a page: its data under the names of the default binding, and any other members.
// Bytes that do not come from an event stream are those of the scripted server, with their field names.
func (w wire) decodeEvent(r *transcript.Record) {
	kind, text := r.Type, r.Bytes
	if kind == "" {
		items := sse.NewDecoder(sse.Limits{}).Feed(text)
		if len(items) != 1 || items[0].Kind != sse.Event {
			return
		}
		kind, text = items[0].Type, []byte(items[0].Data)
	}
	v, faults, err := wjson.Decode(text)
	if err != nil {
		return
	}
	if !w.Envelope.SSEEvent {
		name, _ := w.Envelope.Type.Get(v)
		if kind, _ = name.(string); kind == "" {
			return
		}
	}
	whole, _ := w.Envelope.Data.Get(v)
	has, _ := whole.(fields)
	data := maps.Clone(has)
	for name, p := range w.places() {
		if field, ok := p.Get(whole); ok && data != nil {
			data[name] = w.plain(name, field)
		}
	}
	r.Event = &transcript.Event{Type: w.EventOf(kind), Data: data}
	for _, f := range faults {
		r.Event.Faults = append(r.Event.Faults, fmt.Sprint(f))
	}
}

// plain is the inverse of listed.
func (w wire) plain(name string, v any) any {
	list, ok := v.([]any)
	if !ok || name != vocab.Agents && name != vocab.AvailableAgents {
		return v
	}
	out := make([]any, len(list))
	for i, e := range list {
		entry := fields{}
		for name, p := range map[string]target.Pointer{"id": w.Fields.Agent.ID, "name": w.Fields.Agent.Name} {
			if field, ok := p.Get(e); ok {
				entry[name] = field
			}
		}
		out[i] = entry
	}
	return out
}

// asked returns the kind of a request and, under the names of the default binding, its fields.
func (w wire) asked(method, at string, body []byte) (kind string, data fields, ok bool) {
	u, err := url.Parse(at)
	if err != nil {
		return "", nil, false
	}
	for kind, e := range map[string]selectwire.Endpoint{
		model.StreamType: w.SSE.Stream, model.CreateType: w.SSE.Create, model.LoadType: w.SSE.Load,
		model.ListType: w.SSE.List, askHealth: w.SSE.Health,
	} {
		if method == e.Method && ends(u.Path, e.Path) && (e.Path != w.SSE.Message.Path || e.Method != w.SSE.Message.Method) {
			return kind, w.requested(body), true
		}
	}
	prefix, _, _ := strings.Cut(w.SSE.Delete.Path, "{id}")
	if method == w.SSE.Delete.Method && method != http.MethodPost && strings.Contains(u.Path, prefix) {
		return model.DeleteType, fields{}, true
	}
	if method != w.SSE.Message.Method || !ends(u.Path, w.SSE.Message.Path) {
		return "", nil, false
	}
	data = w.requested(body)
	name, _ := data[vocab.Type].(string)
	if name == "" {
		return "", nil, false
	}
	for _, known := range []string{vocab.SwitchAgentType, vocab.ChatType, vocab.AbortType, vocab.ConfirmationResponse,
		vocab.QuestionResponse} {
		if w.MessageName(known) == name {
			return known, data, true
		}
	}
	return name, data, true
}

// ends reports whether a path is an endpoint's, below any base path given to the page.
func ends(path, endpoint string) bool {
	endpoint, _, _ = strings.Cut(endpoint, "?")
	return strings.HasSuffix(strings.TrimSuffix(path, "/"), strings.TrimSuffix(endpoint, "/"))
}

func (w wire) requested(body []byte) fields {
	out := fields{}
	v, _, err := wjson.Decode(body)
	if err != nil {
		return out
	}
	places := w.Fields.Request.Places()
	places[vocab.ConnectionID] = w.Correlation.Body
	for name, p := range places {
		if field, ok := p.Get(v); ok && p != "" {
			out[name] = field
		}
	}
	return out
}
