package relay

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
)

// session is a relay session: a host, agents, and the requests between them. Its fields are guarded by Server.mu,
// except the gate. It lives as long as a party is in it or at its gate.
type session struct {
	key  string
	name string // sessionId of the join that created it

	// gate is held while an agent joins and during OnEmpty, so that the session does not change meanwhile.
	gate chan struct{}
	uses int // parties that hold the gate or wait for it

	host     *conn     // nil without one
	agents   []*conn   // in the order in which they joined
	requests []Request // unanswered, oldest first
	asked    bool      // OnAgent has been called since the last host left
	occupied bool      // an agent has joined since OnEmpty was called
}

// sessionOf returns the session of a key, creating it if there is room. The caller holds the lock.
func (s *Server) sessionOf(key, name string) (*session, *Refusal) {
	if ses := s.sessions[key]; ses != nil {
		return ses, nil
	}
	if len(s.sessions) >= s.o.Limits.Sessions {
		return nil, inactiveError("no room for another relay session: try again later")
	}
	ses := &session{key: key, name: name, gate: make(chan struct{}, 1)}
	s.sessions[key] = ses
	return ses, nil
}

// pruneSession removes an empty session. The caller holds the lock.
func (s *Server) pruneSession(ses *session) {
	if ses.host == nil && len(ses.agents) == 0 && ses.uses == 0 {
		delete(s.sessions, ses.key)
	}
}

// releaseSession releases the session and, if held, its gate.
func (s *Server) releaseSession(ses *session, held bool) {
	if held {
		<-ses.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ses.uses--
	s.pruneSession(ses)
}

// noteRequest records a forwarded request, and drops the agent's oldest ones if there are too many.
func (ses *session) noteRequest(q Request, limits Limits) {
	ses.requests = append(ses.requests, q)
	count, bytes := 0, 0
	for i := len(ses.requests) - 1; i >= 0; i-- {
		r := ses.requests[i]
		if r.Conn != q.Conn {
			continue
		}
		count, bytes = count+1, bytes+len(r.ID)
		if count > 1 && (count > limits.Requests || bytes > limits.RequestBytes) {
			ses.requests = slices.Delete(ses.requests, i, i+1)
		}
	}
}

// removeAnswered removes the request that an envelope to these agents answers.
func (ses *session) removeAnswered(id, kind string, to []Party) {
	var own []int // indexes of these agents' requests
	var theirs []Request
	for i, q := range ses.requests {
		if slices.ContainsFunc(to, func(p Party) bool { return p.Conn == q.Conn }) {
			own, theirs = append(own, i), append(theirs, q)
		}
	}
	if i := Asked(theirs, id, kind); i >= 0 {
		ses.requests = slices.Delete(ses.requests, own[i], own[i]+1)
	}
}

// answerOf maps a request to the type of its reply, sections 4.1 and 4.2; an error may answer each.
var answerOf = map[string]string{
	proto.SessionStart: proto.SessionStarted,
	proto.SnapshotGet:  proto.SnapshotState,
	proto.ToolCall:     proto.ToolResult,
	proto.SessionEnd:   proto.SessionEnded,
}

// Asked returns the index of the request that a host's envelope answers; -1 if there is none. If several requests
// have the id, it prefers the oldest that this type can answer, then the oldest; an agent.message, which has no
// reply, comes last.
func Asked(outstanding []Request, id, kind string) int {
	best, fit := -1, -1
	for i, q := range outstanding {
		if q.ID != id {
			continue
		}
		f := 0
		switch answer, hasAnswer := answerOf[q.Type]; {
		case hasAnswer && (answer == kind || kind == proto.ErrorMessage):
			f = 2
		case hasAnswer:
			f = 1
		}
		if f > fit {
			best, fit = i, f
		}
	}
	return best
}

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
