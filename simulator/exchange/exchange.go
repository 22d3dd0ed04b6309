// Package exchange pairs messages with their answers: requests with those of HTTP, and messages with those that the
// schemas of their protocol call their answers (package messages). It knows no protocol.
package exchange

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
	"parley/protocol/messages"
	"parley/transport/transcript"
)

// Bounds of what a Pairing keeps.
const (
	maxPending = 10_000    // exchanges without an answer; the oldest ends without one
	maxBetween = 128       // messages of one exchange
	maxPlaces  = 10_000    // conversations whose sessions are known
	maxBody    = 256 << 10 // of a message in which a session is looked for
)

// Exchange is a message with its answer, or a message that has none.
type Exchange struct {
	Conn     string
	Session  string            // id of the session; "" if no message has named one
	Request  transcript.Record // the first message
	Awaited  bool              // the protocol, or HTTP, has answers to such messages
	Between  []transcript.Record
	MoreLeft int                // messages between that are not in Between
	Answer   *transcript.Record // nil: none came
	Last     int                // number of the last record
	Until    time.Duration      // when that was

	lane string
}

// ByClient reports whether the client has begun the exchange.
func (x *Exchange) ByClient() bool { return x.Request.Dir == transcript.Sent }

// Records returns the records of the exchange that are kept, in their order.
func (x *Exchange) Records() []transcript.Record {
	out := append([]transcript.Record{x.Request}, x.Between...)
	if x.Answer != nil {
		out = append(out, *x.Answer)
	}
	return out
}

// Type returns the type of a message in its protocol; "" if it has none.
func Type(r transcript.Record) string {
	if r.Event == nil {
		return ""
	}
	return strings.TrimPrefix(r.Event.Type, "parley ") // set-up frames of session-runtime's default binding
}

// Connect is the name of an opening.
const Connect = "connect"

// Name names what a message begins: by the type of the message, or else by the method of its request.
func Name(r transcript.Record) string {
	typ := Type(r)
	switch method, _, _ := strings.Cut(r.Label, " "); {
	case typ != "":
		return typ
	case r.Kind == transcript.Open:
		return Connect
	case r.Kind == transcript.Request && method != "":
		return method
	}
	return string(r.Kind)
}

// Pairing pairs the records of a client's end, which a codec of the protocol has decoded, as they come. It is for one
// goroutine.
type Pairing struct {
	set     *messages.Set
	done    func(*Exchange)
	pending []*Exchange
	session map[[2]string]string // connection and conversation → session
}

// New returns a Pairing for a protocol. done gets each exchange when it has ended.
func New(protocol string, done func(*Exchange)) *Pairing {
	return &Pairing{set: messages.For(protocol), done: done, session: map[[2]string]string{}}
}

// Add adds the next record.
func (p *Pairing) Add(r transcript.Record) {
	switch {
	case r.Late, r.Dir == transcript.Noted && r.Kind != transcript.Failure:
	case r.Kind == transcript.Request, r.Kind == transcript.Open && r.Reply == 0:
		p.finishAnswered(r)
		p.begin(r, true)
	case r.Kind == transcript.Response, r.Kind == transcript.Open, r.Kind == transcript.Failure:
		p.takeReply(r)
	case r.Kind == transcript.Frame, r.Kind == transcript.Stream:
		p.takeMessage(r)
	case r.Kind == transcript.Closed:
		p.endAll(func(x *Exchange) bool { return x.Conn == r.Conn && r.Conn != "" })
		maps.DeleteFunc(p.session, func(at [2]string, _ string) bool { return at[0] == r.Conn })
	}
}

// End ends all exchanges that have no answer.
func (p *Pairing) End() { p.endAll(func(*Exchange) bool { return true }) }

// Oldest returns the number of the first record of an exchange that has not ended; 0 if there is none.
func (p *Pairing) Oldest() int {
	if len(p.pending) == 0 {
		return 0
	}
	return p.pending[0].Request.N
}

// begin begins an exchange that awaits an answer.
func (p *Pairing) begin(r transcript.Record, awaited bool) *Exchange {
	x := &Exchange{Conn: r.Conn, Request: r, Awaited: awaited}
	x.passed(r)
	if r.Event != nil {
		x.lane = p.set.Lane(r.Event.Envelope)
	}
	p.noteSession(x, r)
	if !awaited {
		p.finish(x)
		return x
	}
	if len(p.pending) >= maxPending {
		p.finish(p.pending[0])
		p.pending = p.pending[1:]
	}
	p.pending = append(p.pending, x)
	return x
}

// finish ends an exchange, which is not pending any more.
func (p *Pairing) finish(x *Exchange) {
	if x.Session == "" {
		x.Session = p.session[[2]string{x.Conn, x.lane}]
	}
	p.done(x)
}

func (p *Pairing) endAll(which func(*Exchange) bool) {
	p.pending = slices.DeleteFunc(p.pending, func(x *Exchange) bool {
		if !which(x) {
			return false
		}
		p.finish(x)
		return true
	})
}

// takeReply takes the answer of HTTP to a request or to an opening, or why there is none.
func (p *Pairing) takeReply(r transcript.Record) {
	i := slices.IndexFunc(p.pending, func(x *Exchange) bool { return r.Reply > 0 && x.Request.N == r.Reply })
	if i < 0 {
		return
	}
	x := p.pending[i]
	p.noteSession(x, r)
	if r.Kind == transcript.Open && r.Conn != "" {
		x.Conn = r.Conn
	}
	if r.Kind == transcript.Response && r.Status < http.StatusBadRequest && p.set.Awaits(Type(x.Request), false) {
		x.addBetween(r)
		return
	}
	p.pending = slices.Delete(p.pending, i, i+1)
	p.answer(x, r)
}

func (p *Pairing) answer(x *Exchange, r transcript.Record) {
	x.Answer = &r
	x.passed(r)
	p.finish(x)
}

func (x *Exchange) passed(r transcript.Record) {
	x.Last, x.Until = max(x.Last, r.N), max(x.Until, r.At)
}

func (x *Exchange) addBetween(r transcript.Record) {
	x.passed(r)
	if len(x.Between) >= maxBetween {
		x.MoreLeft++
		return
	}
	x.Between = append(x.Between, r)
}

// takeMessage takes a message on a socket or a stream: an answer, a message that awaits one, one between the two, or
// one that stands alone.
func (p *Pairing) takeMessage(r transcript.Record) {
	if p.finishAnswered(r) {
		return
	}
	if p.set.Awaits(Type(r), true) {
		p.begin(r, true)
		return
	}
	lane := p.laneOf(r)
	for _, x := range slices.Backward(p.pending) {
		if x.Conn == r.Conn && r.Conn != "" && x.Request.Dir != r.Dir && x.Request.Kind != transcript.Open &&
			(lane == "" || x.lane == "" || lane == x.lane) {
			p.noteSession(x, r)
			x.addBetween(r)
			return
		}
	}
	p.begin(r, false)
}

func (p *Pairing) laneOf(r transcript.Record) string {
	if r.Event == nil {
		return ""
	}
	return p.set.Lane(r.Event.Envelope)
}

// finishAnswered ends the oldest exchange that a message answers, if there is one.
func (p *Pairing) finishAnswered(r transcript.Record) bool {
	if r.Event == nil {
		return false
	}
	i := slices.IndexFunc(p.pending, func(x *Exchange) bool {
		return x.Conn == r.Conn && x.Request.Dir != r.Dir && x.Request.Event != nil &&
			p.set.Answers(Type(r), r.Event.Envelope, Type(x.Request), x.Request.Event.Envelope)
	})
	if i < 0 {
		return false
	}
	x := p.pending[i]
	p.pending = slices.Delete(p.pending, i, i+1)
	p.noteSession(x, r)
	p.answer(x, r)
	return true
}

// noteSession notes the session that a message of an exchange names. The first one counts for the exchange, the last
// one for later exchanges of the conversation.
func (p *Pairing) noteSession(x *Exchange, r transcript.Record) {
	id := p.sessionIn(r)
	if id == "" {
		return
	}
	if x.Session == "" {
		x.Session = id
	}
	if len(p.session) >= maxPlaces {
		clear(p.session)
	}
	p.session[[2]string{x.Conn, x.lane}] = id
}

// sessionIn returns the id of the session that a message names.
func (p *Pairing) sessionIn(r transcript.Record) string {
	var v any
	switch {
	case r.Event != nil && r.Event.Envelope != nil:
		v = r.Event.Envelope
	case len(r.Bytes) == 0 || r.Bytes[0] != '{' || len(r.Bytes) > maxBody:
		return ""
	case json.Unmarshal(r.Bytes, &v, jsonform.Lenient) != nil:
		return ""
	}
	return findSession(v, "", 3)
}

// findSession looks for the id of a session in an object and those within: session_id, sessionId, or id of session.
func findSession(v any, parent string, depth int) string {
	o, is := v.(map[string]any)
	if !is || depth == 0 {
		return ""
	}
	for name, of := range o {
		plain := messages.PlainName(name)
		if text, ok := of.(string); ok && text != "" && (plain == "sessionid" || plain == "id" && parent == "session") {
			return text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if id := findSession(o[name], messages.PlainName(name), depth-1); id != "" {
			return id
		}
	}
	return ""
}
