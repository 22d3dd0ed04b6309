package gate

import (
	"unicode/utf8"

	"parley/transport/transcript"
)

// ClientLeft ends the label of the last record of a stream of a server under test that the client has left.
const ClientLeft = ": the client left the stream"

// record gives a record to the sink.
func (g *Gate) record(r transcript.Record) int {
	if g.o.Sink == nil {
		return 0
	}
	return g.o.Sink(r)
}

// messageRecord is the record of an event or WebSocket message.
func messageRecord(kind, party string, dir transcript.Dir, m Message) transcript.Record {
	r := transcript.Record{Conn: party, Dir: dir, Kind: transcript.Frame, Bytes: m.Body, Type: "text"}
	switch {
	case kind == "sse":
		r.Kind, r.Type, r.ID = transcript.Stream, m.Event, m.ID
		if r.Type == "" {
			r.Type = "message"
		}
		r.Label = r.Type
	case m.Binary:
		r.Type = "binary"
	case !utf8.Valid(m.Body):
		r.Label = "text that is not UTF-8"
	}
	return r
}
