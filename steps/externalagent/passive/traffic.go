package passive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/toolschema"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Bounds on the stored state; older state is dropped and not judged.
const (
	mostRequests = 512
	mostIDs      = 100_000
	mostStates   = 32
)

// patience is the time that an answer may take, even if later requests were answered meanwhile.
const patience = 30 * time.Second

type object = map[string]any

// message is a record with its envelope.
type message struct {
	*transcript.Record
	kind      string
	env, body object // body is the payload if it is an object
	to        string // replyTo
}

// traffic is a partly judged transcript, with the findings.
type traffic struct {
	subject string
	out     []finding
	shown   map[string]bool
	lines   map[string]*line
	ids     map[string]bool // of all requests of the agent
	unknown bool            // some ids may have been missed
	crowd   bool            // several connections: a session may belong to another one
	at      time.Duration

	ours  func(*transcript.Record) bool // in a run, the harness's messages that a relay passes on; otherwise nil
	moved int                           // in a run, the record at which a party came or went last
}

// line is a connection.
type line struct {
	v        *traffic
	opened   bool // its beginning was observed
	joined   bool
	lost     bool // a clause was broken, and the course is no longer judged
	junk     bool // the client has sent messages that may not be understood
	requests map[string]*request
	order    []*request
	suspects []*suspect // errors that a later answer can refute

	session string          // the study session; "": unknown
	started map[string]bool // all of the connection
	pending int             // unanswered session.start
	ending  bool            // session.end is unanswered
	over    bool            // session.ended was received, without a later session.start
	last    *state
	all     []toolschema.Tools // announced in this session
	partial bool               // announcements of this session were missed or not understood
	quick   *request           // a result without uiSpec, which a state.updated must follow
	shot    *state             // a snapshot that differs from the state announced before
	words   []string           // the agent's messages in this session
	before  []string           // in the previous one
	history []any              // of the previous one, at its end
	fresh   int                // record of the latest session.started
	checked int                // the session whose first snapshot was judged
	seen    []any              // toolSchemas of all
	strange []stranger         // calls that no state allows so far
	blank   message            // a call that was carried out while uiSpec was null
	ahead   []nameless
	garbled []int // records of frames that are not JSON
	noID    int   // record of the latest message that an error may answer without replyTo; 0: it was handled
	mine    target
}

// state is a state that a message carried.
type state struct {
	message
	spec, history, tools any
}

// request is a request of an agent.
type request struct {
	message
	id       string
	legal    bool // as the document defines it
	active   bool // a session was active when it was sent
	over     bool // the session had ended
	twice    bool // another request has the same id
	tool     string
	last     *state // the latest state when it was sent
	answer   message
	answers  int
	wrong    message // an answer of another type
	changed  bool    // a snapshot after its answer shows another state than before it
	effects  int     // later requests that were answered after its answer
	effectAt int
	progress
}

type suspect struct {
	req *request
	err message
	why string
	of  []string
	on  string
}

// progress tracks later requests that were answered, one after the other.
type progress struct{ stages, since int }

func (p *progress) round(cause, effect int) {
	if cause > p.since && p.stages < 2 {
		p.stages, p.since = p.stages+1, effect
	}
}

func (v *traffic) take(r *transcript.Record) {
	if r.Late || r.Dir == transcript.Noted {
		return
	}
	v.at = r.At
	if r.Kind == transcript.Open || r.Kind == transcript.Closed || r.Kind == transcript.Failure {
		v.moved = r.N
	}
	l := v.lines[r.Conn]
	if l == nil || r.Kind == transcript.Open {
		if l != nil {
			l.close()
		}
		l = &line{v: v, opened: r.Kind == transcript.Open, requests: map[string]*request{}, started: map[string]bool{}}
		v.lines[r.Conn] = l
		v.crowd, v.unknown = len(v.lines) > 1, v.unknown || !l.opened
	}
	if r.Kind == transcript.Closed || r.Kind == transcript.Failure {
		l.close()
		return
	}
	if r.Kind != transcript.Frame {
		return
	}
	if r.Dir == transcript.Received {
		v.form(r)
	}
	if r.Event == nil || r.Cut > 0 || len(r.Event.Faults) > 0 {
		l.unread(r)
		return
	}
	m := read(r)
	l.agent(m)
	if r.Dir == transcript.Sent {
		l.sent(m)
	} else {
		l.received(m)
	}
}

func read(r *transcript.Record) message {
	m := message{Record: r, kind: r.Event.Type}
	m.env, _ = r.Event.Envelope.(object)
	m.body, _ = r.Event.Data.(object)
	m.to, _ = m.env[vocab.ReplyTo].(string)
	return m
}

// unread notes a frame that cannot be decoded.
func (l *line) unread(r *transcript.Record) {
	l.partial, l.quick, l.shot = true, nil, nil
	if r.Dir == transcript.Sent {
		l.junk, l.v.unknown, l.noID = true, true, r.N
		if r.Event == nil && r.Cut == 0 && r.Type != "binary" && l.session != "" {
			l.garbled = append(l.garbled, r.N)
		}
	}
}

// form judges the form of an envelope.
func (v *traffic) form(r *transcript.Record) {
	if r.Cut > 0 {
		return
	}
	if r.Event == nil {
		v.broken(forms, message{Record: r}, "one JSON object", "EA-018")
		return
	}
	m := read(r)
	kind, isText := m.env[vocab.Type].(string)
	_, payload := m.env[vocab.Payload].(object)
	v.check(forms, len(r.Event.Faults) == 0, m, "one JSON object: "+strings.Join(r.Event.Faults, ", "), "EA-018")
	v.check(forms, m.env[vocab.V] == vocab.Version, m, "v is "+vocab.Version, "EA-019")
	v.check(forms, isText && kind != "", m, "type is a string", "EA-021")
	v.check(forms, payload, m, "payload is an object", "EA-024")
	if id := m.env[vocab.ID]; id != nil {
		v.check(forms, text(id), m, "id is a string", "EA-022a")
	}
}

func text(v any) bool { _, ok := v.(string); return ok }

func word(m message, name string) string { s, _ := m.body[name].(string); return s }

// legal reports whether a request is as the document defines it.
func legal(m message) bool {
	if m.Type == "binary" || m.env[vocab.V] != vocab.Version || !text(m.env[vocab.ID]) || m.env[vocab.ID] == "" ||
		m.body == nil || m.env[vocab.ReplyTo] != nil {
		return false
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return word(m, n) == "" })
	}
	switch m.kind {
	case vocab.RelayJoin:
		return has("role", "sessionId")
	case vocab.SessionStart:
		return has("studyId", "participantId")
	case vocab.SnapshotGet:
		return len(m.body) == 0
	case vocab.ToolCall:
		_, params := m.body[vocab.Params].(object)
		return params && has("toolName", "reason")
	case vocab.AgentMessage:
		return has("text")
	case vocab.SessionEnd:
		return has("reason")
	}
	return false
}

// proper are the types of the answers.
var proper = map[string]string{vocab.RelayJoin: vocab.RelayJoined, vocab.SessionStart: vocab.SessionStarted,
	vocab.SnapshotGet: vocab.SnapshotState, vocab.ToolCall: vocab.ToolResult, vocab.SessionEnd: vocab.SessionEnded}

// asking are the clauses about the answer to a request.
var asking = map[string][]string{vocab.SessionStart: {"EA-038"},
	vocab.SnapshotGet: {"EA-004", "EA-005", "EA-006", "EA-041", "EA-077a"},
	vocab.ToolCall:    {"EA-007", "EA-046", "EA-047"}, vocab.SessionEnd: {"EA-063"}}

// sent handles a message of the client.
func (l *line) sent(m message) {
	id, named := m.env[vocab.ID].(string)
	if !named {
		l.junk = l.junk || proper[m.kind] != "" || m.env[vocab.ID] != nil || m.kind == ""
		l.v.unknown = l.v.unknown || m.env[vocab.ID] != nil
	}
	q := &request{message: m, id: id, legal: legal(m), active: l.session != "" && l.pending == 0 && !l.ending && l.joined,
		over: l.over && l.pending == 0, tool: word(m, vocab.ToolName), last: l.last}
	q.since = m.N
	if id == "" || m.kind == "" {
		l.noID = m.N
	}
	if m.kind == vocab.RelayJoin {
		l.v.moved = m.N
	}
	if named {
		if len(l.v.ids) < mostIDs {
			l.v.ids[id] = true
		} else {
			l.v.unknown = true
		}
		if old := l.requests[id]; old != nil {
			old.twice, q.twice = true, true
		}
		l.requests[id] = q
	}
	if l.order = append(l.order, q); len(l.order) > mostRequests {
		if old := l.order[0]; l.requests[old.id] == old {
			delete(l.requests, old.id)
		}
		l.order = l.order[1:]
	}
	l.junk = l.junk || !q.legal
	switch m.kind {
	case vocab.SessionStart:
		l.pending++
		l.suspects, l.quick, l.shot = nil, nil, nil
		l.ahead = slices.DeleteFunc(l.ahead, func(n nameless) bool { return n.req.kind != vocab.RelayJoin })
		l.words = nil
	case vocab.SessionEnd:
		l.ending, l.quick, l.shot = true, nil, nil
	case vocab.ToolCall, vocab.AgentMessage:
		l.shot = nil
		params, _ := m.body[vocab.Params].(object)
		said, _ := params[vocab.Text].(string)
		if said = cmp.Or(word(m, vocab.Text), said); said != "" && len(l.words) < mostRequests {
			l.words = append(l.words, said)
		}
	}
}

// close judges missing messages at the end of a connection.
func (l *line) close() {
	if !l.lost {
		l.silent()
	}
	for _, q := range l.order {
		clauses, taken := asking[q.kind], q.active || q.kind == vocab.SessionStart && l.joined
		switch {
		case l.lost || clauses == nil || q.answers > 0 || q.twice || !q.legal || !taken || q.stages < 1:
		case q.wrong.Record != nil:
			l.v.broken(answers, q.wrong, proper[q.kind]+", since it answers the "+q.kind+" of record "+fmt.Sprint(q.N),
				clauses...)
			l.lost = true
		case q.stages > 1 && l.v.at-q.At >= patience:
			l.v.broken(answers, q.message, proper[q.kind]+" with replyTo "+q.id+", since later requests were answered",
				clauses...)
			l.lost = true
		}
	}
	l.lost, l.order, l.suspects, l.requests = true, nil, nil, map[string]*request{}
	l.all, l.seen, l.last, l.shot, l.quick, l.ahead, l.strange = nil, nil, nil, nil, nil, nil, nil
}

// equal reports whether two states are the same.
func (s *state) equal(o *state) bool {
	return wjson.Equal(s.spec, o.spec) && wjson.Equal(s.history, o.history) && wjson.Equal(s.tools, o.tools)
}
