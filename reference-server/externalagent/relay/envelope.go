package relay

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the maximum nesting of objects and arrays in an envelope, counting the envelope itself.
const MaxDepth = 128

// Envelope is an incoming frame, valid or not. It must not be modified.
type Envelope struct {
	Raw    []byte // as sent
	Binary bool   // the frame was not a text frame
	Fault  Fault  // why it is not a single JSON object; "" if it is

	members Members
}

// Fault is what is wrong with the text of an envelope.
type Fault string

// The faults. If there are several, the first in this list is reported.
const (
	NotUTF8    Fault = "utf8"
	TooDeep    Fault = "depth"      // deeper than MaxDepth
	Duplicates Fault = "duplicates" // a repeated name in an object, at any depth
	NotJSON    Fault = "json"       // includes an unpaired surrogate (RFC 7493)
	NotObject  Fault = "object"
)

// Members are the members of a JSON object.
type Members map[string]jsontext.Value

// Text returns the member and reports whether it is a string.
func (m Members) Text(name string) (string, bool) {
	v := m[name]
	if v.Kind() != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, v)
	return string(s), err == nil
}

// Read decodes a frame. From a faulty text it keeps the members before the fault, and the last member of a repeated
// name.
func Read(f Frame) *Envelope {
	e := &Envelope{Raw: f.Data, Binary: f.Binary}
	if e.members, e.Fault = readStrictly(f.Data); e.Fault != "" {
		e.members = readSome(f.Data)
	}
	return e
}

func readStrictly(data []byte) (Members, Fault) {
	if !utf8.Valid(data) {
		return nil, NotUTF8
	}
	if deeperThan(data, MaxDepth) {
		return nil, TooDeep
	}
	var m Members
	err := json.Unmarshal(data, &m)
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil && m != nil:
		return m, ""
	case errors.Is(err, jsontext.ErrDuplicateName):
		return nil, Duplicates
	case errors.As(err, &syntax):
		return nil, NotJSON
	}
	return nil, NotObject // Unmarshal accepts null
}

// deeperThan reports whether a JSON text nests deeper than max. It runs before the parser, so that no text can
// exhaust the parser's stack.
func deeperThan(data []byte, max int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > max {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// readSome reads the members of a faulty text up to the syntax error.
func readSome(data []byte) Members {
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if open, err := dec.ReadToken(); err != nil || open.Kind() != '{' {
		return nil
	}
	m := Members{}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			break
		}
		key := name.String() // the token is invalid after the next read
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		m[key] = value.Clone()
	}
	return m
}

// Has reports whether the member is present, even if null.
func (e *Envelope) Has(name string) bool { _, ok := e.members[name]; return ok }

// Text returns a member, and reports whether it is a string.
func (e *Envelope) Text(name string) (string, bool) { return e.members.Text(name) }

// ID returns the id, and reports whether it is a string.
func (e *Envelope) ID() (string, bool) { return e.Text("id") }

// ReplyTo returns the id of the request that the envelope answers, and reports whether it is a string.
func (e *Envelope) ReplyTo() (string, bool) { return e.Text("replyTo") }

// Type returns the envelope's type; "" if it is not a string.
func (e *Envelope) Type() string { kind, _ := e.Text("type"); return kind }

// Payload returns the payload's members; nil if the payload is not an object.
func (e *Envelope) Payload() Members {
	payload := e.members["payload"]
	if payload.Kind() != '{' {
		return nil
	}
	var m Members
	if json.Unmarshal(payload, &m) != nil {
		return nil
	}
	return m
}
