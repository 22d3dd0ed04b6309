package recording

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"parley/transport/transcript"
	"parley/transport/wire/sse"
)

// ByClient is the label of the last record of a connection that the client has ended, in what ClientView returns. Any
// other label of such a record says that the server has, or that it broke off.
const ByClient = "closed by the harness"

// ByServer is the label of the last record of a connection that the server has ended, where it was recorded at the
// server's end: with what code is not known.
const ByServer = "the target closed the connection"

// maxAhead bounds the records that a ClientView reads before it knows at which end they were recorded.
const maxAhead = 10_000

// ClientView reads a recording as if it had been made at the client's end, whichever end it was made at: Sent is what
// the client did, Received what the server did. Records that are of neither, such as remarks, keep their form. It is
// for one goroutine.
type ClientView struct {
	in     *Reader
	ahead  []transcript.Record
	err    error // of reading ahead
	known  bool
	turned bool           // it was made at the server's end
	opens  map[string]int // connection → number of its opening, until that is answered
	left   restorer
	pages  map[string]bool // what a browser shows, and its user does: no connections of a protocol
}

// NewClientView returns the view of a recording from which nothing has been read.
func NewClientView(in *Reader) *ClientView { return &ClientView{in: in, opens: map[string]int{}} }

// Header returns the first line.
func (v *ClientView) Header() Header { return v.in.Header() }

// Torn is that of the Reader.
func (v *ClientView) Torn() bool { return v.in.Torn() }

// AtServer reports whether the recording was made at the server's end. It is known after the first Next.
func (v *ClientView) AtServer() bool { return v.turned }

// Next returns the next record. Errors are those of Reader.Next.
func (v *ClientView) Next() (transcript.Record, error) {
	if !v.known {
		v.findClient()
	}
	r, err := v.nextWritten()
	for err == nil && v.ofPage(r) {
		r, err = v.nextWritten()
	}
	if err != nil {
		return r, err
	}
	r = v.streamedOpening(r)
	if r = v.left.restoreRecord(r); v.turned {
		return v.turnRecord(r), nil
	}
	if r.Kind == transcript.Closed {
		return addIntermediary(r), nil
	}
	return r, nil
}

// addIntermediary turns the last record of a connection that an intermediary has recorded, which names the client, the
// server or the proxy as the one who ended it, into that of the client. Older recordings call the client the peer.
func addIntermediary(r transcript.Record) transcript.Record {
	for _, who := range []string{"the client ", "the proxy ", "the peer "} {
		if strings.HasPrefix(r.Label, who) {
			r.Dir, r.Label = transcript.Received, ByClient
			return r
		}
	}
	if rest, ok := strings.CutPrefix(r.Label, "the server broke the connection off"); ok {
		r.Label = "the connection broke off" + rest
	} else if rest, ok := strings.CutPrefix(r.Label, "the server "); ok {
		r.Label = "the target " + rest
	}
	return r
}

// nextWritten returns the next record as it was written.
func (v *ClientView) nextWritten() (transcript.Record, error) {
	if len(v.ahead) > 0 {
		r := v.ahead[0]
		v.ahead = v.ahead[1:]
		return r, nil
	}
	if v.err != nil {
		return transcript.Record{}, v.err
	}
	return v.in.Next()
}

// ofPage reports whether a record is of a page in a browser, and not of what it says to servers: that is recorded at
// the server's end.
func (v *ClientView) ofPage(r transcript.Record) bool {
	if v.in.Header().Driver != "browser" || r.Conn == "" {
		return false
	}
	if r.Kind == transcript.Open && r.Dir == transcript.Sent && r.Status == 0 {
		if v.pages == nil {
			v.pages = map[string]bool{}
		}
		v.pages[r.Conn] = true
	}
	return v.pages[r.Conn]
}

// findClient reads on until it is clear who is the client: who opens a connection, or makes a request.
func (v *ClientView) findClient() {
	v.known = true
	for len(v.ahead) < maxAhead {
		r, err := v.in.Next()
		if err != nil {
			v.err = err
			return
		}
		v.ahead = append(v.ahead, r)
		switch {
		case r.Kind != transcript.Open && r.Kind != transcript.Request || v.ofPage(r):
		case r.Dir == transcript.Sent:
			return
		case r.Dir == transcript.Received && r.Kind == transcript.Request || r.Status == 0 && r.Reply == 0:
			v.turned = true
			return
		}
	}
}

// turnRecord makes a record of the server's end one of the client's.
func (v *ClientView) turnRecord(r transcript.Record) transcript.Record {
	switch {
	case r.Dir == transcript.Noted:
		return r
	case r.Kind == transcript.Closed:
		return closedAtServer(r)
	case r.Kind == transcript.Request && r.Dir == transcript.Received:
		if r = v.openingRecord(r); r.Kind == transcript.Open {
			v.opens[r.Conn] = r.N
		}
	case r.Kind == transcript.Open && r.Dir == transcript.Sent && r.Reply == 0:
		r.Reply = v.opens[r.Conn]
		delete(v.opens, r.Conn)
	case r.Kind == transcript.Open && r.Dir == transcript.Received:
		r.Bytes = nil // the head of the request
		if !strings.Contains(r.Label, " ") {
			r.Label = "GET " + r.Label
		}
	case r.Kind == transcript.Stream && r.Type == "":
		r = readEvent(r)
	}
	if r.Dir == transcript.Received {
		r.Dir = transcript.Sent
	} else {
		r.Dir = transcript.Received
	}
	return r
}

// openingRecord returns, in place of a request that opens a stream, the record of that opening, if it follows.
func (v *ClientView) openingRecord(r transcript.Record) transcript.Record {
	next, err := v.nextWritten()
	switch {
	case errors.Is(err, io.EOF):
	case err != nil:
		v.err = err
	case next.Kind == transcript.Open && next.Dir == transcript.Received && next.Reply == r.N:
		next.Bytes, next.Reply = nil, 0
		next.Label = "GET " + next.Label
		return next
	default:
		v.ahead = append([]transcript.Record{next}, v.ahead...)
	}
	return r
}

// Bounds of what a ClientView reads to see how a request was answered.
const (
	maxToAnswer      = 64
	maxToAnswerBytes = 4 << 20
)

// streamedOpening returns, in place of a request that was answered by a stream, the record of an opening: a request
// that does not ask for an event stream, as that of a plain HTTP client, was not recorded as one.
func (v *ClientView) streamedOpening(r transcript.Record) transcript.Record {
	if r.Kind != transcript.Request || len(r.Bytes) > 0 || !strings.HasPrefix(r.Label, "GET ") {
		return r
	}
	for i, size := 0, 0; i < maxToAnswer && size < maxToAnswerBytes; i++ {
		if i == len(v.ahead) {
			if v.err != nil {
				return r
			}
			next, err := v.in.Next()
			if err != nil {
				v.err = err
				return r
			}
			v.ahead = append(v.ahead, next)
		}
		answer := v.ahead[i]
		if answer.Reply == r.N && answer.Dir != transcript.Noted {
			if answer.Kind == transcript.Open && answer.Conn != "" && answer.Status != 0 && answer.Dir != r.Dir {
				r.Kind, r.Conn, r.Type = transcript.Open, answer.Conn, ""
			}
			return r
		}
		size += len(answer.Bytes)
	}
	return r
}

// readEvent reads the bytes of an event as the client does.
func readEvent(r transcript.Record) transcript.Record {
	for _, it := range sse.NewDecoder(sse.Limits{}).Feed(bytes.Clone(r.Bytes)) {
		if it.Kind == sse.Event {
			r.Type, r.Label, r.Bytes = it.Type, it.Type, []byte(it.Data)
			return r
		}
	}
	r.Kind = transcript.Comment
	return r
}

// closedAtServer says who has ended a connection, as the client would: see ByClient.
func closedAtServer(r transcript.Record) transcript.Record {
	theirs := r.Dir == transcript.Received && (strings.HasPrefix(r.Label, "the target ") ||
		strings.HasPrefix(r.Label, "the client ") || strings.HasPrefix(r.Label, "the connection broke off"))
	r.Dir = transcript.Received
	if theirs {
		r.Label = ByClient
		return r
	}
	r.Label = ByServer
	return r
}
