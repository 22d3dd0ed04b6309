package pack

import (
	"fmt"
	"mime"
	"slices"
	"strings"
	"time"

	"parley/internal/cut"
	"parley/internal/expression"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// message is a record as the rules read it.
type message struct {
	r    transcript.Record
	kind string // type, or one of special; "": none that a rule names
	from string // client or server
	it   any    // the decoded message, or body of an HTTP answer; nil: none
	http any    // of an HTTP answer and an opened connection: status and media type
}

// Record implements obligation.Message.
func (m *message) Record() int { return m.r.N }

// Time implements obligation.Message.
func (m *message) Time() time.Duration { return m.r.At }

// Title implements obligation.Message.
func (m *message) Title() string {
	if m.kind != "" && !isSpecial(m.kind) {
		return m.kind
	}
	if m.r.Event != nil && m.r.Event.Type != "" {
		return m.r.Event.Type
	}
	if m.r.Label != "" {
		return m.r.Label
	}
	return m.kind
}

// described quotes a message in a finding.
func (m *message) described() string {
	if len(m.r.Bytes) > 0 {
		return cut.Head(m.Title()+" "+string(m.r.Bytes), 300)
	}
	if m.kind == answer && m.r.Type != "" {
		return m.r.Label + " " + m.r.Type
	}
	return m.Title()
}

// messages returns what the rules read in a record: an HTTP answer may also be a message of the protocol.
func (d *document) messages(r transcript.Record) []*message {
	m := d.read(r)
	if m == nil {
		return nil
	}
	if m.kind != answer || r.Event == nil {
		return []*message{m}
	}
	body := &message{r: r, from: m.from, http: m.http}
	if d.readBody(body); isSpecial(body.kind) {
		return []*message{m}
	}
	return []*message{m, body}
}

// read returns what the rules read in a record, apart from the body of an HTTP answer; nil: nothing.
func (d *document) read(r transcript.Record) *message {
	m := &message{r: r, from: "client"}
	if r.Dir == transcript.Received {
		m.from = "server"
	}
	switch r.Kind {
	case transcript.Open:
		m.kind = connecting
		if r.Dir == transcript.Received {
			m.kind, m.http = connected, answerOf(r)
		}
	case transcript.Closed, transcript.Failure:
		m.kind, m.it = ended, map[string]any{"code": r.Status}
	case transcript.Remark:
		if !isRestart(r) {
			return nil
		}
		m.kind = restarted
	case transcript.Comment:
		if m.kind = ended; driver.AnswerGoesOn(r) || r.Label == driver.AnswerLeft {
			return nil
		}
	case transcript.Response:
		m.kind, m.http = answer, answerOf(r)
		if v, _, err := wjson.Decode(r.Bytes); err == nil {
			m.it = expression.Plain(v)
		}
	case transcript.Request:
		method, _, _ := strings.Cut(r.Label, " ")
		m.http = map[string]any{"method": method, "header": headersOf(r)}
		if d.before.is(r) {
			return m
		}
		if m.kind = d.post.bodyless(r); m.kind == "" {
			d.readBody(m)
		}
	case transcript.Stream, transcript.Frame:
		if d.readBody(m); r.Kind == transcript.Stream && len(r.Bytes) == 0 {
			m.kind = empty
		}
	default:
		return nil
	}
	return m
}

// readBody reads a message of the protocol. One that is no JSON object, or has no known type, has a kind of its own.
func (d *document) readBody(m *message) {
	if m.r.Event == nil {
		m.kind = malformed
		return
	}
	m.it, m.kind = expression.Plain(m.r.Event.Data), m.r.Event.Type
	if m.from == "client" && d.only != "" {
		m.kind = d.only
	}
	if !d.knows(m.kind, m.from) {
		m.kind = d.typeOfUntyped(m.it, m.from)
	}
}

// typeOfUntyped returns the type of a message that has none which is known.
func (d *document) typeOfUntyped(it any, from string) string {
	for _, u := range d.untyped {
		if u.is.Holds(expression.Scope{"it": it}) && d.knows(u.name, from) {
			return u.name
		}
	}
	return unknown
}

// knows reports whether a side sends messages of a type.
func (d *document) knows(kind, from string) bool {
	if from == "client" {
		_, ok := d.sends[kind]
		return ok
	}
	return slices.Contains(d.receives, kind)
}

// answerOf has the status, the media type, the size and the headers of an HTTP answer.
func answerOf(r transcript.Record) map[string]any {
	return map[string]any{"status": r.Status, "media": mediaOf(r.Type), "type": r.Type,
		"size": len(r.Bytes) + r.Cut, "header": headersOf(r)}
}

// selects reports whether a trigger is about a message, in a scope in which it is "it".
func (t *trigger) selects(m *message, in expression.Scope) bool {
	if t.from != "" && t.from != m.from {
		return false
	}
	if t.types != nil && !slices.Contains(t.types, m.kind) {
		return false
	}
	if t.types == nil && isSpecial(m.kind) { // a rule about any message is about messages of the protocol
		return false
	}
	return t.where.Holds(in)
}

// is reports whether a trigger names a type.
func (t *trigger) is(kind string) bool { return slices.Contains(t.types, kind) }

// words names what a trigger selects.
func (t *trigger) words() string {
	name := "a message"
	for i, kind := range t.types {
		if i == 0 {
			name = kindWords(kind)
		} else {
			name += " or " + kindWords(kind)
		}
	}
	if t.where != nil {
		name += " where " + t.where.Text
	}
	return name
}

func kindWords(kind string) string {
	switch kind {
	case answer:
		return "an HTTP answer"
	case connected:
		return "an opened connection"
	case ended:
		return "the end of the connection"
	}
	return kind
}

func isSpecial(kind string) bool { return slices.Contains(special, kind) }

// scopeOf is what expressions know about a message.
func scopeOf(m *message) expression.Scope {
	var request any
	if n := m.request(); n > 0 {
		request = n
	}
	var event any
	if m.r.Kind == transcript.Stream {
		event = map[string]any{"name": m.r.Type}
		if m.r.ID != "" {
			event = map[string]any{"name": m.r.Type, "id": m.r.ID}
		}
	}
	return expression.Scope{"request": request, "event": event,
		"it": m.it, "kind": m.kind, "from": m.from, "conn": m.r.Conn, "http": m.http, "act": nil}
}

// request returns the record of the request that a message is, or answers; 0: none.
func (m *message) request() int {
	if m.r.Kind == transcript.Request {
		return m.r.N
	}
	return m.r.Reply
}

// ofAnother reports whether a message answers another request than the one that m is, or answers.
func (m *message) ofAnother(p *message) bool {
	return p.r.Reply > 0 && p.kind != connected && p.r.Reply != m.r.N && p.r.Reply != m.request()
}

// textOf is the text of a value, as a key.
func textOf(v any) string { return fmt.Sprint(v) }

// mediaOf is the media type of a Content-Type, without its parameters.
func mediaOf(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return contentType
	}
	return media
}
