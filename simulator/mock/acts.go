package mock

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/simulator/gate"
	"parley/simulator/replay"
	"parley/transport/driver"
	"parley/transport/recording"
	"parley/transport/transcript"
	wire "parley/transport/wire/ws"
)

// act is something that a recorded client did, and what the server did then.
type act struct {
	place   int    // among all acts, from 1
	in      string // the name of the recording
	asked   transcript.Record
	answer  *transcript.Record // to a request, or to the opening of a connection
	follows []transcript.Record
}

// reading takes the acts out of a recording.
type reading struct {
	m      *Mock
	name   string
	last   map[string]*act // by connection
	asked  map[int]*act
	opened map[string]bool
	latest *act // of anybody
}

// readActs takes the acts out of a recording; n distinguishes its connections from those of others.
func (m *Mock) readActs(in *recording.ClientView, name string, n int, size *int) error {
	of := fmt.Sprintf("%d ", n)
	from := &reading{m: m, name: name, last: map[string]*act{}, asked: map[int]*act{}, opened: map[string]bool{}}
	for {
		r, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if *size += len(r.Bytes); *size > MaxBytes {
			return fmt.Errorf("the recordings hold more than %d MiB", MaxBytes>>20)
		}
		if r.Cut == 0 && !r.Late {
			m.noteIDs(r)
			r.Conn = of + r.Conn
			from.readRecord(r)
		}
	}
}

// maxDrawn bounds the ids that are distinguished by the side that generated them.
const maxDrawn = 1_000_000

// noteIDs notes the ids in a record by who has said them first.
func (m *Mock) noteIDs(r transcript.Record) {
	replay.EachID(r.Bytes, func(id string) {
		if _, known := m.drawn[id]; !known && len(m.drawn) < maxDrawn {
			m.drawn[id] = r.Dir == transcript.Received
		}
	})
}

func (f *reading) readRecord(r transcript.Record) {
	switch {
	case r.Dir == transcript.Sent:
		switch r.Kind {
		case transcript.Open, transcript.Request, transcript.Frame:
			f.addAct(r)
		}
	case r.Dir != transcript.Received:
	case r.Kind == transcript.Open || r.Kind == transcript.Response || r.Kind == transcript.Failure:
		if a := f.asked[r.Reply]; a != nil && (a.answer == nil || r.Kind == transcript.Response) {
			a.answer = &r
		}
	case r.Kind == transcript.Stream || r.Kind == transcript.Frame,
		r.Kind == transcript.Closed && r.Label != recording.ByClient:
		if a := f.causeOf(r); a != nil {
			a.follows = append(a.follows, r)
		}
	}
}

func (f *reading) addAct(r transcript.Record) {
	m := f.m
	a := &act{place: len(m.acts) + 1, in: f.name, asked: r}
	m.acts = append(m.acts, a)
	in := gate.Message{Kind: r.Kind, Body: r.Bytes}
	in.Method, in.Path, _ = strings.Cut(r.Label, " ")
	key := m.actKey(in, strings.HasSuffix(r.Label, " (upgrade)"))
	m.index[key] = append(m.index[key], a)
	f.last[r.Conn], f.asked[r.N], f.latest = a, a, a
	if r.Kind == transcript.Open {
		f.opened[r.Conn] = true
	}
}

// causeOf is the act that a message of the server follows: the last one on its connection if that has got nothing yet,
// or else the last one of anybody.
func (f *reading) causeOf(r transcript.Record) *act {
	mine := f.last[r.Conn]
	if mine == nil || mine == f.latest {
		return f.latest
	}
	for _, one := range mine.follows {
		if one.Conn == r.Conn {
			return f.latest
		}
	}
	if f.opened[f.latest.asked.Conn] {
		return mine
	}
	return f.latest // a request by a client without a connection
}

// actKey is what an act is, and where: only acts with the same key are compared.
func (m *Mock) actKey(in gate.Message, upgrade bool) string {
	kind := m.readMessage(in).Type()
	if in.Kind == transcript.Frame {
		return "frame " + kind
	}
	at := in.Path
	if _, rest, is := strings.Cut(at, "://"); is {
		_, at, _ = strings.Cut(rest, "/")
		at = "/" + at
	}
	at = strings.TrimSuffix(at, " (upgrade)")
	at, _, _ = strings.Cut(at, " ") // what follows is for people
	at, _, _ = strings.Cut(at, "?")
	if upgrade {
		at += " (upgrade)"
	}
	return string(in.Kind) + " " + in.Method + " " + at + " " + kind
}

// readMessage reads what a client sends.
func (m *Mock) readMessage(in gate.Message) replay.Message {
	return replay.Read(m.o.Messages, transcript.Record{Kind: in.Kind, Label: in.Method + " " + in.Path, Bytes: in.Body})
}

// opensStream reports whether a GET opens a stream, and nothing else, by what was recorded: clients need not ask for an
// event stream.
func (m *Mock) opensStream(r *http.Request) bool {
	in := gate.Message{Method: r.Method, Path: r.RequestURI, Header: r.Header}
	in.Kind = transcript.Open
	opens := len(m.index[m.actKey(in, false)])
	in.Kind = transcript.Request
	return opens > 0 && len(m.index[m.actKey(in, false)]) == 0
}

func isUpgrade(in gate.Message) bool { return strings.EqualFold(in.Header.Get("Upgrade"), "websocket") }

// matchedAct is a recorded act that what came is.
type matchedAct struct {
	*act
	ids     *replay.IDs // what is known of ids then
	foreign bool        // it is of another connection, whose ids need not be those of this client
}

// findRecorded returns the recorded act that what came is; its act is nil if there is none. Of several it prefers one
// of the same connection, and the next one behind what the client did last. The caller holds m.mu.
func (m *Mock) findRecorded(in gate.Message, on *connection, known *replay.IDs) matchedAct {
	best := m.findAmong(in, on, known, false)
	if best.act == nil && on != nil {
		best = m.findAmong(in, on, replay.NewIDs(), true)
	}
	return best
}

func (m *Mock) findAmong(in gate.Message, on *connection, known *replay.IDs, foreign bool) (best matchedAct) {
	came := m.readMessage(in)
	at, like := m.loose, ""
	if on != nil {
		at, like = on.at, on.like
	}
	if in.Kind == transcript.Open {
		at = m.last
	}
	rank := func(a *act) int {
		r := a.place
		if in.Kind == transcript.Open && m.of[a.asked.Conn] != nil { // somebody plays it
			r += 2 * len(m.acts)
		}
		if a.place <= at {
			r += len(m.acts)
		}
		if like != "" && a.asked.Conn != like {
			r += 2 * len(m.acts)
		}
		return r
	}
	for _, a := range m.index[m.actKey(in, isUpgrade(in))] {
		if foreign && a.asked.Conn == like || best.act != nil && rank(a) >= rank(best.act) {
			continue
		}
		if replay.CountDifferences(replay.Read(m.o.Messages, a.asked), came, known, m.o.Ignore) == 0 {
			best = matchedAct{act: a, foreign: foreign}
		}
	}
	if best.act != nil {
		best.ids = known.Clone()
		replay.Compare(replay.Read(m.o.Messages, best.asked), came, best.ids, m.o.Ignore)
	}
	return best
}

// refuseUnknown refuses what no recording shows. a is set if only its answer was not recorded.
func (m *Mock) refuseUnknown(in gate.Message, a *act) gate.Decision {
	text := "never shown: " + replay.Shown(m.nameOf(in)+" "+string(in.Body)) + m.describeNearest(in, a)
	m.o.Unknown(text)
	if in.Kind == transcript.Frame {
		return gate.Decision{Drop: true}
	}
	h := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	allowOrigins(in, h)
	return gate.Decision{Reply: &gate.Message{Status: http.StatusNotImplemented, Body: []byte(text + "\n"), Header: h}}
}

func (m *Mock) nameOf(in gate.Message) string {
	kind := m.readMessage(in).Type()
	at := strings.TrimSpace(in.Method + " " + in.Path)
	if in.Kind == transcript.Frame {
		at = in.Conn + " message"
	}
	return strings.TrimSpace(at + " " + kind)
}

// describeNearest says what was shown that is most like it.
func (m *Mock) describeNearest(in gate.Message, a *act) string {
	if a != nil {
		return fmt.Sprintf(" (record %d of %s is the same, and its answer was not recorded)", a.asked.N, a.in)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	came := m.readMessage(in)
	var best *act
	var where []replay.Place
	for _, a := range m.index[m.actKey(in, isUpgrade(in))] {
		places := replay.Compare(replay.Read(m.o.Messages, a.asked), came, replay.NewIDs(), m.o.Ignore)
		if best == nil || len(places) < len(where) {
			best, where = a, places
		}
	}
	if best == nil {
		return nothingAlike
	}
	return describeDifference(best.asked.N, best.in, where)
}

const nothingAlike = " (nothing of the kind was shown)"

// describeDifference says where the record that is most like a message differs from it.
func describeDifference(n int, in string, where []replay.Place) string {
	var names []string
	for _, p := range where {
		names = append(names, replay.Shown(cmp.Or(p.At, "its content")))
	}
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	return fmt.Sprintf(" (record %d of %s differs at %s)", n, in, strings.Join(names, ", "))
}

// replyRecorded answers a request as it was recorded.
func (m *Mock) replyRecorded(in gate.Message, a *act, ids *replay.IDs) gate.Decision {
	r := *a.answer
	if r.Kind == transcript.Failure {
		how := driver.Reset
		return gate.Decision{Drop: true, End: &how}
	}
	out := &gate.Message{Status: r.Status, Body: ids.Renew(m.o.Messages, r), Header: http.Header{}}
	if r.Type != "" {
		out.Header.Set("Content-Type", r.Type)
	}
	allowOrigins(in, out.Header)
	return gate.Decision{Reply: out}
}

// acceptResponse is the answer that opens a stream or socket.
func acceptResponse(in gate.Message, status int) *gate.Message {
	out := &gate.Message{Status: status, Header: http.Header{}}
	allowOrigins(in, out.Header)
	if !isUpgrade(in) {
		out.Header.Set("Content-Type", "text/event-stream")
		return out
	}
	if offered := wire.Offered(in.Header); len(offered) > 0 {
		out.Header.Set("Sec-Websocket-Protocol", offered[0])
	}
	return out
}

// outgoing is what is sent to a client.
type outgoing struct {
	gate.Message
	broken bool      // the connection breaks off
	due    time.Time // zero: at once
}

// gateMessage is a recorded message of the server for the gate.
func gateMessage(r transcript.Record, body []byte) outgoing {
	one := outgoing{Message: gate.Message{Kind: r.Kind, Event: r.Type, ID: r.ID, Binary: r.Type == "binary", Body: body}}
	switch {
	case r.Kind == transcript.Stream && r.Type == "message":
		one.Event = ""
	case r.Kind == transcript.Closed:
		one.Status, one.broken = r.Status, strings.Contains(r.Label, "broke off")
		_, quoted, _ := strings.Cut(r.Label, ": ")
		reason, _ := strconv.Unquote(quoted)
		one.Body = []byte(reason)
	}
	return one
}

// allowOrigins lets pages of every origin in.
func allowOrigins(in gate.Message, h http.Header) {
	if origin := in.Header.Get("Origin"); origin != "" {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Add("Vary", "Origin")
	}
}

// answerPreflight answers the question of a browser whether a page may ask.
func answerPreflight(in gate.Message) (gate.Decision, bool) {
	method := in.Header.Get("Access-Control-Request-Method")
	if in.Kind != transcript.Request || in.Method != http.MethodOptions || method == "" {
		return gate.Decision{}, false
	}
	h := http.Header{"Access-Control-Allow-Methods": {method}}
	if asked := in.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	allowOrigins(in, h)
	return gate.Decision{Reply: &gate.Message{Status: http.StatusNoContent, Header: h}}, true
}
