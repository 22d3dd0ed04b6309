package agentselect

import (
	"cmp"
	"fmt"
	"net/http"

	vocab "parley/protocol/agentselect"
	"parley/steps/agentselect/binding"
	"parley/target"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// maxStreams bounds the streams that Correlate remembers.
const maxStreams = 10_000

// Correlate implements steps.Correlator: a request names the connection id of its stream. One that does not, such as
// that of a page whose profile is not known, belongs to the only stream that it can belong to, if there is one.
func (Protocol) Correlate(p *target.Profile) func(*transcript.Record, http.Header) string {
	k := &correlation{codec: newCodec(p, "", target.SSE), given: map[string]string{},
		sessions: map[string]map[string]bool{}, open: map[string]bool{}}
	return func(r *transcript.Record, h http.Header) string {
		switch {
		case r.Kind == transcript.Open && r.Dir == transcript.Received && r.Conn != "":
			k.open[r.Conn] = true
		case r.Kind == transcript.Closed:
			delete(k.open, r.Conn)
		case r.Kind == transcript.Stream && r.Event != nil:
			k.learn(r)
		case r.Kind == transcript.Request:
			return cmp.Or(k.partyOf(r, h), k.onlyParty(r, h))
		}
		return ""
	}
}

// correlation is what the streams have shown so far.
type correlation struct {
	*codec
	given    map[string]string          // connection id → party
	sessions map[string]map[string]bool // session id → parties whose streams have named it
	open     map[string]bool
}

// learn notes the ids in an event.
func (k *correlation) learn(r *transcript.Record) {
	data, _ := r.Event.Data.(map[string]any)
	if id, ok := data["connectionId"]; ok && r.Event.Type == vocab.ConnectedEvent {
		if len(k.given) >= maxStreams {
			clear(k.given)
		}
		k.given[fmt.Sprint(id)] = r.Conn
	}
	id, ok := data["sessionId"].(string)
	if !ok {
		return
	}
	if k.sessions[id] == nil {
		if len(k.sessions) >= maxStreams {
			clear(k.sessions)
		}
		k.sessions[id] = map[string]bool{}
	}
	k.sessions[id][r.Conn] = true
}

// partyOf returns the party of a request, found where the profile says; "" if that is silent.
func (k *correlation) partyOf(r *transcript.Record, h http.Header) string {
	body, _, err := wjson.Decode(r.Bytes)
	for _, how := range []binding.Correlation{k.wire.Correlation, k.wire.Correlation.OfCreate(),
		k.wire.Correlation.OfLoad()} {
		switch {
		case how.Single && len(k.open) == 1:
			return k.onlyOpen()
		case how.Header != "" && h.Get(how.Header) != "":
			return owner(k.given, h.Get(how.Header))
		case how.Body != "" && err == nil:
			if id, ok := look(body, how.Body); ok {
				return owner(k.given, fmt.Sprint(id))
			}
		}
	}
	return ""
}

// onlyParty returns the party of a message that does not say its stream where the profile expects it: that whose
// connection id stands in any header or member, else that whose stream alone is open or has named the message's
// session. "" if several streams are possible.
func (k *correlation) onlyParty(r *transcript.Record, h http.Header) string {
	if r.Event == nil {
		return ""
	}
	for _, values := range h {
		for _, v := range values {
			if party := k.given[v]; party != "" {
				return party
			}
		}
	}
	body, _, _ := wjson.Decode(r.Bytes)
	members, _ := body.(map[string]any)
	for _, v := range members {
		if text, ok := v.(string); ok && k.given[text] != "" {
			return k.given[text]
		}
	}
	if len(k.open) == 1 {
		return k.onlyOpen()
	}
	id, _ := look(body, k.wire.Fields.Request.SessionID)
	text, _ := id.(string)
	found := ""
	for party := range k.sessions[text] {
		switch {
		case !k.open[party]:
		case found != "":
			return ""
		default:
			found = party
		}
	}
	return found
}

// onlyOpen returns the party of the only open stream.
func (k *correlation) onlyOpen() string {
	for name := range k.open {
		return name
	}
	return ""
}

// nobody is the party of a request that names an unknown stream.
const nobody = "nobody"

func owner(given map[string]string, id string) string { return cmp.Or(given[id], nobody) }
