package model

import (
	"maps"
	"slices"
	"strings"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

type object = map[string]any

// message is a record with its envelope. The zero values stand for members that are absent or of another type.
type message struct {
	transcript.Record
	kind      string
	env, body object // body is the payload if it is an object
	to        string // replyTo
}

func read(r transcript.Record) message {
	m := message{Record: r}
	if r.Event != nil {
		m.kind = r.Event.Type
		m.env, _ = r.Event.Envelope.(object)
		m.body, _ = r.Event.Data.(object)
		m.to, _ = m.env[vocab.ReplyTo].(string)
	}
	return m
}

// entry is a message as package obligation knows it.
type entry struct{ message }

// Record implements obligation.Message.
func (e entry) Record() int { return e.N }

// Time implements obligation.Message.
func (e entry) Time() time.Duration { return e.At }

// Title implements obligation.Message.
func (e entry) Title() string {
	switch name := e.word(vocab.ToolName); {
	case e.Kind == transcript.Open:
		return "the connection"
	case name != "":
		return e.kind + " of " + name
	}
	return e.kind
}

// from names a message with who has sent it, as in a chart of a role's duties.
func (e entry) from(role string) string {
	by, kind := role, e.kind
	switch {
	case e.Kind == transcript.Open:
		return "the connection"
	case e.Dir == transcript.Received:
	case role == vocab.Agent || role == vocab.Relay && strings.HasPrefix(e.Conn, vocab.HostRole):
		by = vocab.HostRole
	default:
		by = vocab.AgentRole
	}
	return by + ": " + kind
}

// word returns a member of the payload, a string.
func (m message) word(name string) string { s, _ := m.body[name].(string); return s }

// id returns the id of a request; ok reports whether it has one.
func (m message) id() (id string, ok bool) { id, ok = m.env[vocab.ID].(string); return id, ok }

// told describes a message for a finding.
func (m message) told() string { return monitor.Describe(m.Record) }

// fromTarget reports whether the target has sent it.
func (m message) fromTarget() bool { return m.Kind == transcript.Frame && m.Dir == transcript.Received }

func (m message) isState() bool { return m.kind == vocab.StateUpdated || m.kind == vocab.SnapshotState }

// failed reports whether an answer says that its request has failed.
func (m message) failed() bool {
	return m.kind == vocab.ErrorMessage || m.kind == vocab.ToolResult && m.body[vocab.OK] == false
}

// unread reports whether a frame cannot be decoded as it was meant.
func unread(r *transcript.Record) bool { return r.Event == nil || r.Cut > 0 || len(r.Event.Faults) > 0 }

// legal reports whether a request is as the document defines it.
func (m message) legal() bool {
	if m.Type == "binary" || m.env[vocab.V] != vocab.Version || !text(m.env[vocab.ID], true) || m.env[vocab.ID] == "" ||
		m.body == nil || m.env[vocab.ReplyTo] != nil {
		return false
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return m.word(n) == "" })
	}
	switch m.kind {
	case vocab.RelayJoin:
		return has("role", "sessionId")
	case vocab.SessionStart:
		return has("studyId", "participantId")
	case vocab.SnapshotGet:
		return len(m.body) == 0
	case vocab.ToolCall:
		return obj(m.body[vocab.Params], true) && has("toolName", "reason")
	case vocab.AgentMessage:
		return has("text")
	case vocab.SessionEnd:
		return has("reason")
	}
	return false
}

// legalApartFromParams reports whether a call would be legal with other params.
func (m message) legalApartFromParams() bool {
	if m.kind != vocab.ToolCall || m.body == nil {
		return false
	}
	body := maps.Clone(m.body)
	body[vocab.Params] = object{}
	m.body = body
	return m.legal()
}

// plain reports whether a message is short and has only documented members: a party may limit anything else.
func (m message) plain() bool {
	for name := range m.env {
		if name != vocab.V && name != vocab.Type && name != vocab.ID && name != vocab.Payload {
			return false
		}
	}
	return len(m.Bytes) < 4096 && len(m.body) <= 3
}

// AnswerOf maps each type of request to that of its answer.
var AnswerOf = map[string]string{vocab.RelayJoin: vocab.RelayJoined, vocab.SessionStart: vocab.SessionStarted,
	vocab.SnapshotGet: vocab.SnapshotState, vocab.ToolCall: vocab.ToolResult, vocab.SessionEnd: vocab.SessionEnded}

// IsAnswer reports whether messages of a type answer requests, errors apart.
func IsAnswer(kind string) bool { return slices.Contains(slices.Collect(maps.Values(AnswerOf)), kind) }

// answered has the clauses that the answer to a request keeps, and its absence breaks.
var answered = map[string][]string{vocab.RelayJoin: {"EA-028"}, vocab.SessionStart: {"EA-038"},
	vocab.SnapshotGet: {"EA-004", "EA-005", "EA-006", "EA-041", "EA-077a"},
	vocab.ToolCall:    {"EA-007", "EA-046", "EA-047"}, vocab.SessionEnd: {"EA-063"}}

// known reports whether a type is one of the protocol.
func known(kind string) bool {
	return AnswerOf[kind] != "" || IsAnswer(kind) || slices.Contains([]string{vocab.AgentMessage, vocab.StateUpdated,
		vocab.UserMessage, vocab.ErrorMessage}, kind)
}

func text(v any, there bool) bool { _, ok := v.(string); return there && ok }
func word(v any, there bool) bool { return text(v, there) && v != "" }
func list(v any, there bool) bool { _, ok := v.([]any); return there && ok }
func obj(v any, there bool) bool  { _, ok := v.(object); return there && ok }

// announces reports whether a state announces a tool.
func (s *State) announces(tool any) bool {
	all, _ := s.Tools.([]any)
	return slices.ContainsFunc(all, func(item any) bool {
		o, _ := item.(object)
		return o != nil && o["name"] == tool
	})
}

// quotes reports whether a value contains a text as one of its strings.
func quotes(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return quotes(e, text) })
	case object:
		for _, e := range v {
			if quotes(e, text) {
				return true
			}
		}
	}
	return false
}

// CodeAt is the beginning of the remark with the place of error codes in the target's errors, a JSON Pointer from the
// top of the message.
const CodeAt = "errors have their code at "

// CodesAt is the beginning of the remark with the places of error codes in a tool.result that is not ok: JSON
// Pointers from the top of the message, separated by blanks.
const CodesAt = "results have their code at "

// AgentParty begins the connection names of a target that is an agent; the number of the connection follows.
const AgentParty = "agent"

// AnotherAgent is the remark that one agent has been stopped and another one has started, which knows nothing of the
// first.
const AnotherAgent = "another agent is started"

// places are where error codes are, as remarks say it.
type places struct {
	code  string   // in errors
	codes []string // in results that are not ok; nil: no remark says it
}

func newPlaces() places { return places{code: "/payload/code"} }

func (p *places) take(r *transcript.Record) {
	if r.Kind != transcript.Remark {
		return
	}
	if at, ok := strings.CutPrefix(r.Label, CodeAt); ok {
		p.code = at
	}
	if at, ok := strings.CutPrefix(r.Label, CodesAt); ok {
		p.codes = strings.Fields(at)
	}
}

// ofError returns the code of an error.
func (p *places) ofError(m message) any {
	code, _ := wjson.Lookup(m.Event.Envelope, p.code)
	return code
}

// ofResult returns the code of a result that is not ok, and where it is looked for. Without a remark, the only code
// anywhere in the result will do if any is true.
func (p *places) ofResult(m message, anywhere bool) (code any, at string) {
	where := p.codes
	if where == nil {
		if anywhere {
			return codeIn(m.body), "anywhere"
		}
		where = []string{"/payload/code"}
	}
	for _, place := range slices.Backward(where) {
		if v, ok := wjson.Lookup(m.Event.Envelope, place); ok {
			code = v // the first place counts
		}
	}
	return code, strings.Join(where, " or ")
}

// codeIn returns a code of section 5 within a value, except for its uiSpec; "" if there is none.
func codeIn(v any) (found string) {
	switch v := v.(type) {
	case string:
		if slices.Contains(vocab.Codes(), v) {
			return v
		}
	case []any:
		for _, e := range v {
			found = codeIn(e)
			if found != "" {
				return found
			}
		}
	case object:
		for name, e := range v {
			if name != vocab.Spec {
				if found = codeIn(e); found != "" {
					return found
				}
			}
		}
	}
	return found
}
