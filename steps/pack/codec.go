package pack

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// binding is the protocol's section of a profile: where the wire of a target differs from the document.
type binding struct {
	SSE struct {
		Open string `yaml:"open"` // path of the stream
		Send string `yaml:"send"` // method and path of messages, with ${name}
	} `yaml:"sse"`
	WS   target.WSWire `yaml:"ws"`
	Post struct {
		Path string `yaml:"path"`
	} `yaml:"post"`
	Type    target.Pointer            `yaml:"type"`    // where messages have their type
	Sent    target.Pointer            `yaml:"sent"`    // where those of a client have it; "": at type
	Members map[string]target.Pointer `yaml:"members"` // where they have other members
	Names   map[string]target.Names   `yaml:"names"`   // this wire's names for the document's types
}

// binding returns the wire of the document.
func (d *document) binding() *binding {
	b := &binding{Type: d.typeAt, Sent: d.sentAt, Members: maps.Clone(d.members),
		WS: target.WSWire{Path: d.ws, Subprotocols: d.subprotocols}}
	b.SSE.Open, b.SSE.Send, b.Post.Path = d.open, d.send, d.post.path
	return b
}

// section returns the wire of the document for a profile, in which ${NAME} is a variable of the environment: a path
// with holes is left out.
func (d *document) section() *binding {
	b := d.binding()
	for _, path := range []*string{&b.SSE.Open, &b.WS.Path, &b.Post.Path} {
		if hole.MatchString(*path) {
			*path = ""
		}
	}
	return b
}

// bindingOf returns the wire of a profile, with the paths of the document for those that it does not name.
func (d *document) bindingOf(p *target.Profile) *binding {
	b := *target.SectionOf[binding](p)
	b.SSE.Open, b.WS.Path = cmp.Or(b.SSE.Open, d.open), cmp.Or(b.WS.Path, d.ws)
	b.Post.Path = cmp.Or(b.Post.Path, d.post.path)
	return &b
}

// codec translates between the document's messages and the wire of one target.
type codec struct {
	*binding
	doc    *document
	base   string
	driver string
}

// opening completes how a client opens its connection: at a URL, or with a process of its own. find fills the holes of
// the URL.
func (c codec) opening(o driver.OpenOptions, run target.Running, find func(string) (any, error)) (driver.OpenOptions,
	error) {
	if c.driver == target.Stdio {
		o.Process = &ownProcess{target.Starter(run)}
		return o, nil
	}
	var err error
	o.URL, err = c.stream(find)
	return o, err
}

// ownProcess starts a process that no later connection takes over: a greeting comes once in its life.
type ownProcess struct{ driver.Starter }

// stream returns the URL to which a client connects. That of single requests is only known when they are sent.
func (c codec) stream(find func(string) (any, error)) (string, error) {
	switch c.driver {
	case target.WS:
		return c.at(c.WS.Path, find)
	case target.Post:
		return c.base + hole.ReplaceAllString(c.Post.Path, "-"), nil
	}
	return c.at(c.SSE.Open, find)
}

// at returns the URL of a path, whose holes find fills.
func (c codec) at(path string, find func(string) (any, error)) (string, error) {
	filled, err := fillText(path, func(name string) (any, error) {
		v, err := find(name)
		return url.PathEscape(fmt.Sprint(v)), err
	})
	return c.base + fmt.Sprint(filled), err
}

// encode returns the message of a type with the given members. find fills the holes of its path.
func (c codec) encode(kind string, members map[string]any, find func(string) (any, error)) (driver.Message, error) {
	body := map[string]any{}
	for name, v := range members {
		at, elsewhere := c.Members[name]
		if !elsewhere {
			body[name] = v
			continue
		}
		if err := at.Set(body, v); err != nil {
			return driver.Message{}, err
		}
	}
	if c.doc.post.isBodyless(kind) {
		return c.carry(kind, nil, find)
	}
	if c.doc.only == "" && !c.doc.isUntyped(kind) {
		if err := c.sentAt().Set(body, target.Sent(c.Names, kind)); err != nil {
			return driver.Message{}, err
		}
	}
	b, err := wjson.Encode(body)
	if err != nil {
		return driver.Message{}, err
	}
	return c.carry(kind, b, find)
}

// filled returns the message of a type as its template has it, and its members.
func (c codec) filled(kind string, find func(string) (any, error)) (driver.Message, map[string]any, error) {
	template, _ := c.doc.sends[kind].(map[string]any)
	body, err := fill(template, find)
	if err != nil {
		return driver.Message{}, nil, err
	}
	members := body.(map[string]any)
	m, err := c.encode(kind, members, find)
	return m, members, err
}

// sentAt is where the messages of a client have their type.
func (c codec) sentAt() target.Pointer { return cmp.Or(c.Sent, c.Type) }

// carry puts bytes into a message of the transport.
func (c codec) carry(label string, body []byte, find func(string) (any, error)) (driver.Message, error) {
	m := driver.Message{Label: label, Body: body}
	switch c.driver {
	case target.SSE:
		method, path, _ := strings.Cut(c.SSE.Send, " ")
		if path == "" {
			return m, errors.New("the protocol does not say how a client sends messages beside an event stream " +
				"(transports.sse.send)")
		}
		at, err := c.at(path, find)
		if err != nil {
			return m, err
		}
		m.Method, m.URL = method, at
	case target.Post:
		at, err := c.at(c.Post.Path, find)
		if err != nil {
			return m, err
		}
		m.Method, m.URL = http.MethodPost, at
		if r, is := c.doc.post.requests[label]; is {
			m.Method = r.method
		}
		m.Header = c.doc.post.header(label, find)
	}
	return m, nil
}

// decode sets the Event of a record: its meaning in the document's terms.
func (c codec) decode(r *transcript.Record) {
	switch r.Kind {
	case transcript.Stream, transcript.Frame, transcript.Request:
	case transcript.Response:
		if c.doc.post.path == "" || mediaOf(r.Type) != "application/json" {
			return
		}
	default:
		return
	}
	v, faults, err := wjson.Decode(r.Bytes)
	body, object := v.(map[string]any)
	if err != nil || !object {
		return
	}
	data := body
	if len(c.Members) > 0 {
		data = maps.Clone(body)
		for name, at := range c.Members {
			delete(data, name)
			if member, ok := at.Get(v); ok {
				data[name] = member
			}
		}
	}
	ev := &transcript.Event{Data: data, Envelope: v}
	at := c.Type
	if r.Dir == transcript.Sent {
		at = c.sentAt()
	}
	if kind, ok := at.Get(v); ok {
		ev.Type, _ = kind.(string)
	}
	if r.Kind == transcript.Stream && ev.Type == "" {
		ev.Type = r.Type
	}
	for _, f := range faults {
		ev.Faults = append(ev.Faults, fmt.Sprint(f))
	}
	ev.Type = target.Original(c.Names, ev.Type)
	if r.Event = ev; r.Label == "" {
		r.Label = ev.Type
	}
}
