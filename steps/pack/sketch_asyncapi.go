package pack

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"parley/internal/script"
	"parley/target"
)

var plainWord = regexp.MustCompile(`^[A-Za-z/][\w./-]*$`)

// FromAsyncAPI sketches the protocol of the server that an AsyncAPI 3 document describes, in YAML or JSON. name stands
// for the file.
func FromAsyncAPI(name string, text []byte) (*Sketch, error) {
	rd := &script.Reader{}
	root := rd.Read(text, "AsyncAPI document")
	if err := rd.Err(name); err != nil {
		return nil, err
	}
	d := &asyncReader{}
	if d.root, _ = valueOf(root).(map[string]any); d.root == nil {
		return nil, fmt.Errorf("%s: it is not a map (asyncapi: 3.0.0)", name)
	}
	if version, _ := d.root["asyncapi"].(string); !strings.HasPrefix(version, "3.") {
		return nil, fmt.Errorf("%s: it is no AsyncAPI document of version 3 (asyncapi: 3.0.0)", name)
	}
	s := &Sketch{From: name}
	operations, _ := d.root["operations"].(map[string]any)
	for _, key := range sorted(operations) {
		d.readOperation(s, d.resolve(operations[key], 0))
	}
	if d.nodes > maxSketched {
		return nil, fmt.Errorf("%s: its schemas have more than %d values with their references followed", name, maxSketched)
	}
	s.Sent, s.Type = typePointer(s.Sends), typePointer(s.Receives)
	if path, posted := strings.CutPrefix(s.Send, "POST "); posted && s.SSE == "" {
		s.Post, s.Send = path, "" // the answers come to the requests
	}
	switch {
	case s.SSE == "" && s.WS == "" && s.Post == "":
		return nil, fmt.Errorf("%s: no channel is a WebSocket, an event stream or one of requests (bindings: {ws: {}}, or "+
			"{http: {method: GET}}, or POST)", name)
	case len(s.Sends) == 0 && len(s.Receives) == 0:
		return nil, errors.New(name + ": its operations have no messages")
	}
	return s, nil
}

// asyncReader reads an AsyncAPI document.
type asyncReader struct {
	root  map[string]any
	nodes int // values of schemas that were inlined
}

// maxSketched bounds the values of all schemas, in which a reference counts as what it refers to.
const maxSketched = 50_000

// maxRefs bounds how deep references are followed.
const maxRefs = 16

// resolve returns an object with the references in it followed, as far as they lead within the document.
func (d *asyncReader) resolve(v any, depth int) map[string]any {
	object, _ := v.(map[string]any)
	at, is := object["$ref"].(string)
	if !is {
		return object
	}
	at, local := strings.CutPrefix(at, "#/")
	if !local || depth > maxRefs {
		return nil
	}
	var in any = d.root
	for name := range strings.SplitSeq(at, "/") {
		m, _ := in.(map[string]any)
		in = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return d.resolve(in, depth+1)
}

// inlined returns a JSON Schema with its references followed; one that leads back to itself allows anything.
func (d *asyncReader) inlined(v any, depth int) any {
	if d.nodes++; d.nodes > maxSketched {
		return map[string]any{}
	}
	switch v := v.(type) {
	case map[string]any:
		if _, is := v["$ref"]; is {
			if depth > maxRefs {
				return map[string]any{}
			}
			return d.inlined(d.resolve(v, 0), depth+1)
		}
		out := map[string]any{}
		for name, member := range v {
			if !strings.HasPrefix(name, "x-") {
				out[name] = d.inlined(member, depth+1)
			}
		}
		return out
	case []any:
		var out []any
		for _, item := range v {
			out = append(out, d.inlined(item, depth+1))
		}
		return out
	}
	return v
}

// readOperation reads where an operation's messages pass, and what they are.
func (d *asyncReader) readOperation(s *Sketch, o map[string]any) {
	channel := d.resolve(o["channel"], 0)
	address, _ := channel["address"].(string)
	address = "/" + strings.TrimPrefix(strings.NewReplacer("{", "${").Replace(address), "/")
	to := &s.Sends
	if o["action"] == "send" {
		to = &s.Receives
	}
	all, _ := channel["messages"].(map[string]any)
	of, _ := o["messages"].([]any)
	if of == nil {
		for _, name := range sorted(all) {
			of = append(of, all[name])
		}
	}
	for _, one := range of {
		m := d.resolve(one, 0)
		schema, _ := d.inlined(m["payload"], 0).(map[string]any)
		if name := messageType(m, schema); name != "" {
			if schema["type"] != "object" {
				schema = nil
			}
			addMessage(to, SketchedMessage{Type: name, Schema: schema, Answer: d.replyOf(o)})
		}
	}
	switch d.over(channel, o) {
	case target.WS:
		s.WS = address
	case "GET":
		s.SSE = address
	case "POST":
		s.Send = "POST " + address
	}
}

// replyOf returns the type of the message that an operation says is its reply; "" if it says none.
func (d *asyncReader) replyOf(o map[string]any) string {
	of, _ := d.resolve(o["reply"], 0)["messages"].([]any)
	if len(of) == 0 {
		return ""
	}
	m := d.resolve(of[0], 0)
	schema, _ := d.inlined(m["payload"], 0).(map[string]any)
	return messageType(m, schema)
}

// over returns ws, or the HTTP method by which messages pass.
func (d *asyncReader) over(channel, operation map[string]any) string {
	for _, in := range []map[string]any{operation, channel} {
		bindings := d.resolve(in["bindings"], 0)
		if bindings["ws"] != nil {
			return target.WS
		}
		http, _ := bindings["http"].(map[string]any)
		if method, _ := http["method"].(string); method != "" {
			return method
		}
	}
	servers, _ := channel["servers"].([]any)
	if servers == nil {
		all, _ := d.root["servers"].(map[string]any)
		servers = slices.Collect(maps.Values(all))
	}
	for _, one := range servers {
		if kind, _ := d.resolve(one, 0)["protocol"].(string); strings.HasPrefix(kind, "ws") {
			return target.WS
		}
	}
	return ""
}

// messageType returns the type of a message: the constant of a member that is named like a type, or its name.
func messageType(m, schema map[string]any) string {
	members, _ := schema["properties"].(map[string]any)
	for _, name := range typeNames {
		of, _ := members[name].(map[string]any)
		if text, is := of["const"].(string); is {
			return text
		}
	}
	name, _ := m["name"].(string)
	return name
}

// typeNames are the usual names of the member with the type of a message.
var typeNames = []string{"type", "message_type", "messageType", "event", "kind", "method", "action", "op"}

// typePointer returns where messages have their type: /type if none of them tells.
func typePointer(all []SketchedMessage) target.Pointer {
	for _, m := range all {
		if at := typeMember(m.Schema, m.Type); at != "" {
			return target.Pointer("/" + at)
		}
	}
	return "/type"
}

// typeMember returns the member of a message that is its type; "" if there is none.
func typeMember(schema map[string]any, kind string) string {
	members, _ := schema["properties"].(map[string]any)
	for _, name := range typeNames {
		if of, _ := members[name].(map[string]any); of["const"] == kind {
			return name
		}
	}
	return ""
}
