package pack

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/target"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// FromRecords sketches the protocol of recorded traffic. name stands for the file, and next returns the records, then
// an error such as io.EOF.
func FromRecords(name string, next func() (transcript.Record, error)) (*Sketch, error) {
	s := &Sketch{From: name}
	r := &recordSketch{streams: map[string]bool{}, asking: map[int]*seenMessage{}}
	for {
		rec, err := next()
		if err != nil {
			break
		}
		r.take(rec)
	}
	s.Sent, s.Type = r.typePointer(true), r.typePointer(false)
	r.findTypes(s)
	ids := r.carried()
	r.findPlaces(s, ids)
	r.findOnly(s, ids)
	said := map[string]string{} // by connection, or request: the client's last message without an answer
	for _, m := range r.seen {
		if m.kind == "" || m.kind == answer {
			continue
		}
		to, of := &s.Receives, m.conn
		if m.client {
			to = &s.Sends
		}
		if s.Post != "" {
			of = fmt.Sprint(cmp.Or(m.reply, m.n))
		}
		addMessage(to, SketchedMessage{Type: m.kind})
		one := &(*to)[slices.IndexFunc(*to, func(o SketchedMessage) bool { return o.Type == m.kind })]
		one.Schema = widened(one.Schema, m.body)
		before, spoken := said[of]
		switch {
		case m.client:
			said[of] = m.kind
		case !spoken && s.Greeting == "" && s.Post == "":
			s.Greeting = m.kind
		case before != "":
			asked := &s.Sends[slices.IndexFunc(s.Sends, func(o SketchedMessage) bool { return o.Type == before })]
			asked.Answer, said[of] = cmp.Or(asked.Answer, m.kind), ""
		}
	}
	switch {
	case s.SSE == "" && s.WS == "" && s.Post == "":
		return nil, errors.New(name + ": no WebSocket and no event stream was opened in it")
	case len(s.Sends)+len(s.Receives) == 0:
		return nil, errors.New(name + ": its messages have no type (" + strings.Join(typeNames, ", ") + ")")
	}
	r.fillSends(s, ids)
	return s, nil
}

// recordSketch collects the messages of a recording, and where they passed.
type recordSketch struct {
	seen    []*seenMessage
	streams map[string]bool      // event streams that are open, by connection
	asking  map[int]*seenMessage // requests, by their records
}

// seenMessage is a message, or a request or HTTP answer without one, in the order of the records.
type seenMessage struct {
	n, reply int    // its record, and the one that it answers
	driver   string // of a request that opens a connection: sse or ws
	target   string // of a request: method and target, such as POST /message?a=b
	conn     string
	client   bool
	named    string // name of the event
	body     map[string]any
	kind     string // its type; "": none; http: the answer to a request
	streamed bool   // of a request: its answer is an event stream
}

// mostSketched bounds the messages of a recording that are looked at.
const mostSketched = 10_000

func (rs *recordSketch) take(rec transcript.Record) {
	m := &seenMessage{n: rec.N, reply: rec.Reply, conn: rec.Conn, client: rec.Dir == transcript.Sent}
	switch rec.Kind {
	case transcript.Open:
		if !m.client {
			rs.streams[rec.Conn] = rec.Label == "stream"
			return
		}
		m.driver, m.target = target.SSE, rec.Label
		if label, socket := strings.CutSuffix(rec.Label, " (upgrade)"); socket {
			m.driver, m.target = target.WS, label
		}
	case transcript.Closed:
		delete(rs.streams, rec.Conn)
		return
	case transcript.Request:
		m.target = rec.Label
		rs.asking[rec.N] = m
		if m.conn == "" {
			m.conn = rs.onlyStream()
		}
	case transcript.Response:
		m.kind = answer
	case transcript.Stream:
		if m.named = rec.Type; rec.Type == "message" {
			m.named = ""
		}
		if of := rs.asking[rec.Reply]; of != nil {
			of.streamed = true
		}
	}
	v, _, err := wjson.Decode(rec.Bytes)
	if err == nil {
		m.body, _ = v.(map[string]any)
	}
	if len(rs.seen) < mostSketched && (m.body != nil || m.target != "") {
		rs.seen = append(rs.seen, m)
	}
}

// onlyStream returns the connection of the event stream that is open; "" if there is none, or several.
func (rs *recordSketch) onlyStream() (conn string) {
	for name, open := range rs.streams {
		if open && conn != "" {
			return ""
		}
		if open {
			conn = name
		}
	}
	return conn
}

// typePointer returns the usual place of a type that most messages of a side have.
func (rs *recordSketch) typePointer(client bool) target.Pointer {
	best, most := typeNames[0], 0
	for _, name := range typeNames {
		n := 0
		for _, m := range rs.seen {
			if _, is := m.body[name].(string); is && m.client == client && m.kind != answer {
				n++
			}
		}
		if n > most {
			best, most = name, n
		}
	}
	return target.Pointer("/" + best)
}

// findTypes finds the types of the messages. An event without one has its name as the type.
func (rs *recordSketch) findTypes(s *Sketch) {
	for _, m := range rs.seen {
		at := s.Type
		if m.client {
			at = s.Sent
		}
		if m.kind == answer || m.body == nil {
			continue
		}
		kind, _ := m.body[strings.TrimPrefix(string(at), "/")].(string)
		if kind = cmp.Or(kind, m.named); !strings.ContainsAny(kind, "/\\ ") {
			m.kind = kind
		}
	}
}

// findPlaces finds where connections are opened, and messages go: at most places of their kind, with the values that
// differ between clients as holes.
func (rs *recordSketch) findPlaces(s *Sketch, ids *carried) {
	streams, sockets, sends, posts, others := places{}, places{}, places{}, places{}, places{}
	for _, m := range rs.seen {
		method, at := ids.place(m)
		switch {
		case at == "":
		case m.driver == target.WS:
			sockets.add(at)
		case m.driver == target.SSE:
			streams.add(at)
		case m.streamed && method == "POST":
			posts.add(at)
		case m.kind != "":
			sends.add(method + " " + at)
		default:
			others.add(method + " " + at)
		}
	}
	s.SSE, s.WS, s.Send, s.Post = streams.most(), sockets.most(), cmp.Or(sends.most(), others.most()), posts.most()
	if path, posted := strings.CutPrefix(sends.most(), "POST "); posted && s.Post == "" {
		s.Post = path
	}
	if s.WS != "" || s.SSE != "" && s.SSE != s.Post { // beside connections a request is no protocol of its own
		s.Post = ""
	}
	if s.Post != "" {
		s.SSE, s.Send = "", ""
	}
}

// findOnly gives requests that are answered by themselves the only type that clients send, if none has a type, and
// answers in JSON the types that they have.
func (rs *recordSketch) findOnly(s *Sketch, ids *carried) {
	if s.Post == "" {
		return
	}
	posted := func(m *seenMessage) bool {
		method, at := ids.place(m)
		return method == "POST" && at == s.Post
	}
	typed := func(m *seenMessage) bool { return m.client && m.kind != "" }
	if !slices.ContainsFunc(rs.seen, typed) {
		s.Only = "request"
	}
	for _, m := range rs.seen {
		switch kind, _ := m.body[strings.TrimPrefix(string(s.Type), "/")].(string); {
		case m.body != nil && s.Only != "" && posted(m):
			m.kind = s.Only
		case m.kind == answer && kind != "":
			m.kind = kind
		}
	}
}

// places counts places.
type places struct {
	order []string
	count map[string]int
}

func (p *places) add(at string) {
	if p.count == nil {
		p.count = map[string]int{}
	}
	if p.count[at]++; p.count[at] == 1 {
		p.order = append(p.order, at)
	}
}

// most returns the place that was met most often, of several the first; "" if there is none.
func (p *places) most() (best string) {
	for _, at := range p.order {
		if p.count[at] > p.count[best] {
			best = at
		}
	}
	return best
}

// widened returns a JSON Schema that also allows a value.
func widened(schema map[string]any, v any) map[string]any {
	kind := kindOfValue(v)
	if schema == nil {
		schema = map[string]any{"type": kind}
		if body, is := v.(map[string]any); is {
			var required []any
			for _, name := range sorted(body) {
				required = append(required, name)
			}
			schema["required"], schema["properties"] = required, map[string]any{}
		}
	}
	if kinds := kindsOf(schema); !slices.Contains(kinds, any(kind)) {
		schema["type"] = append(kinds, kind)
	}
	body, object := v.(map[string]any)
	members, known := schema["properties"].(map[string]any)
	if !object || !known {
		return schema
	}
	required, _ := schema["required"].([]any)
	schema["required"] = slices.DeleteFunc(required, func(name any) bool { return body[name.(string)] == nil })
	for name, member := range body {
		of, _ := members[name].(map[string]any)
		members[name] = widened(of, member)
	}
	return schema
}

func kindsOf(schema map[string]any) []any {
	if kind, is := schema["type"].(string); is {
		return []any{kind}
	}
	kinds, _ := schema["type"].([]any)
	return kinds
}

func kindOfValue(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}
