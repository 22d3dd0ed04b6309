package pack

import (
	"cmp"
	"errors"
	"net/url"
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
	r := &recordSketch{}
	for {
		rec, err := next()
		if err != nil {
			break
		}
		r.take(s, rec)
	}
	s.Sent, s.Type = r.typePointer(true), r.typePointer(false)
	said := map[string]string{} // by connection: the client's last message without an answer
	for _, m := range r.seen {
		at := s.Type
		if m.client {
			at = s.Sent
		}
		kind, _ := m.body[strings.TrimPrefix(string(at), "/")].(string)
		if kind == "" || strings.ContainsAny(kind, "/\\ ") {
			continue
		}
		to := &s.Receives
		if m.client {
			to = &s.Sends
		}
		addMessage(to, SketchedMessage{Type: kind})
		one := &(*to)[slices.IndexFunc(*to, func(o SketchedMessage) bool { return o.Type == kind })]
		one.Schema = widened(one.Schema, m.body)
		before, spoken := said[m.conn]
		switch {
		case m.client:
			said[m.conn] = kind
		case !spoken && s.Greeting == "":
			s.Greeting = kind
		case before != "":
			asked := &s.Sends[slices.IndexFunc(s.Sends, func(o SketchedMessage) bool { return o.Type == before })]
			asked.Answer, said[m.conn] = cmp.Or(asked.Answer, kind), ""
		}
	}
	switch {
	case s.SSE == "" && s.WS == "" && s.Post == "":
		return nil, errors.New(name + ": no WebSocket and no event stream was opened in it")
	case len(s.Sends)+len(s.Receives) == 0:
		return nil, errors.New(name + ": its messages have no type (" + strings.Join(typeNames, ", ") + ")")
	}
	return s, nil
}

// recordSketch collects the messages of a recording.
type recordSketch struct{ seen []seenMessage }

type seenMessage struct {
	conn   string
	client bool
	body   map[string]any
}

// mostSketched bounds the messages of a recording that are looked at.
const mostSketched = 10_000

func (rs *recordSketch) take(s *Sketch, rec transcript.Record) {
	switch rec.Kind {
	case transcript.Open:
		if path := pathOf(rec.Label); rec.Dir == transcript.Sent && path != "" {
			if strings.Contains(rec.Label, "upgrade") || strings.Contains(rec.Label, "ws") {
				s.WS = path
			} else {
				s.SSE = path
			}
		}
	case transcript.Request:
		if path := pathOf(rec.Label); path != "" && s.Send == "" {
			s.Send = "POST " + path
		}
	}
	v, _, err := wjson.Decode(rec.Bytes)
	body, object := v.(map[string]any)
	if err == nil && object && len(rs.seen) < mostSketched && rec.Kind != transcript.Response {
		rs.seen = append(rs.seen, seenMessage{rec.Conn, rec.Dir == transcript.Sent, body})
	}
}

// pathOf returns the path in the label of a request: "GET ws://host/ws (upgrade)", "POST /message".
func pathOf(label string) string {
	words := strings.Fields(label)
	if len(words) < 2 {
		return ""
	}
	u, err := url.Parse(words[1])
	if err != nil {
		return ""
	}
	return u.Path
}

// typePointer returns the usual place of a type that most messages of a side have.
func (rs *recordSketch) typePointer(client bool) target.Pointer {
	best, most := typeNames[0], 0
	for _, name := range typeNames {
		n := 0
		for _, m := range rs.seen {
			if _, is := m.body[name].(string); is && m.client == client {
				n++
			}
		}
		if n > most {
			best, most = name, n
		}
	}
	return target.Pointer("/" + best)
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
