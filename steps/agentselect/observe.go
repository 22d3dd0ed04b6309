package agentselect

import (
	"cmp"
	"fmt"
	"net/http"

	vocab "parley/protocol/agentselect"
	"parley/steps/agentselect/binding"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// maxStreams bounds the streams that Correlate remembers.
const maxStreams = 10_000

// Correlate implements steps.Correlator: a request names the connection id of its stream.
func (Protocol) Correlate(p *target.Profile) func(*transcript.Record, http.Header) string {
	b := newCodec(p, "", target.SSE)
	given := map[string]string{} // id → party
	open := map[string]bool{}
	return func(r *transcript.Record, h http.Header) string {
		switch {
		case r.Kind == transcript.Open && r.Dir == transcript.Received && r.Conn != "":
			open[r.Conn] = true
		case r.Kind == transcript.Closed:
			delete(open, r.Conn)
		case r.Kind == transcript.Stream && r.Event != nil && r.Event.Type == vocab.ConnectedEvent:
			data, _ := r.Event.Data.(map[string]any)
			if id, ok := data["connectionId"]; ok {
				if len(given) >= maxStreams {
					clear(given)
				}
				given[fmt.Sprint(id)] = r.Conn
			}
		case r.Kind == transcript.Request:
			return b.partyOf(r, h, given, open)
		}
		return ""
	}
}

// partyOf returns the party of a request; "" if it is unknown.
func (b *codec) partyOf(r *transcript.Record, h http.Header, given map[string]string, open map[string]bool) string {
	body, _, err := wjson.Decode(r.Bytes)
	for _, how := range []binding.Correlation{b.wire.Correlation, b.wire.Correlation.OfCreate(),
		b.wire.Correlation.OfLoad()} {
		switch {
		case how.Single && len(open) == 1:
			for name := range open {
				return name
			}
		case how.Header != "" && h.Get(how.Header) != "":
			return owner(given, h.Get(how.Header))
		case how.Body != "" && err == nil:
			if id, ok := look(body, how.Body); ok {
				return owner(given, fmt.Sprint(id))
			}
		}
	}
	return ""
}

// nobody is the party of a request that names an unknown stream.
const nobody = "nobody"

func owner(given map[string]string, id string) string { return cmp.Or(given[id], nobody) }
