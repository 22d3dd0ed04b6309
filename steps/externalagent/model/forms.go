package model

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// shape describes what a member of a payload must be.
type shape struct {
	clause, name, form string
	ok                 func(v any, there bool) bool
}

func maybe(ok func(any, bool) bool) func(any, bool) bool {
	return func(v any, there bool) bool { return !there || v == nil || ok(v, there) }
}

func is(want any) func(any, bool) bool { return func(v any, _ bool) bool { return v == want } }

func truth(v any, _ bool) bool { _, ok := v.(bool); return ok }

// shapes has the members of the payloads of a party's messages: a host's (section 4.2) and an agent's (sections 4.0 and
// 4.1).
var shapes = map[string]map[string][]shape{
	vocab.Host: {
		vocab.SessionStarted: {{"EA-039", "sessionId", "a string", text}},
		vocab.SnapshotState: {{"EA-043", "uiSpec", "an object, or null while none is active", obj},
			{"EA-044", "messageHistory", "an array", list}, {"EA-045", "toolSchema", "an array", list}},
		vocab.ToolResult: {{"EA-048", "ok", "a boolean", truth},
			{"EA-052a", "uiSpec", "an object, if present", maybe(obj)}},
		vocab.StateUpdated: {{"EA-056", "source", "a string that is not empty", word},
			{"EA-056a", "source", `"host"`, is(vocab.SourceHost)},
			{"EA-057", "uiSpec", "an object, or null while none is active", obj},
			{"EA-058", "messageHistory", "an array", list}, {"EA-059", "toolSchema", "an array", list}},
		vocab.UserMessage:  {{"EA-061", "text", "a string", text}, {"EA-062", "stage", "a string", text}},
		vocab.SessionEnded: {{"EA-065", "logFile", "a string", text}, {"EA-067", "stateReset", "true", is(true)}},
	},
	vocab.Agent: {
		vocab.RelayJoin:    {{"EA-027", "role", `"agent"`, is(vocab.AgentRole)}, {"EA-027", "sessionId", "a string", text}},
		vocab.SessionStart: {{"EA-031", "studyId", "a string", text}, {"EA-031", "participantId", "a string", text}},
		vocab.ToolCall: {{"EA-033", "toolName", "a string", text}, {"EA-034", "params", "an object", obj},
			{"EA-035", "reason", "a string", text}},
		vocab.AgentMessage: {{"EA-036", "text", "a string", text}},
		vocab.SessionEnd:   {{"EA-037", "reason", "a string", text}},
	},
}

// forms judges what each message of the target shows by itself.
type forms struct {
	role   string
	quiet  bool // others judge single messages
	places places
	passed passedOn
	out    []verdict.Finding
}

func newForms(role string, o obligation.Observer) forms {
	return forms{role: role, places: newPlaces(), passed: passedOn{off: role != vocab.Relay || o != obligation.Ours}}
}

func (f *forms) take(m message) {
	f.places.take(&m.Record)
	f.passed.take(&m.Record)
	if f.quiet || !m.fromTarget() || f.passed.have(&m.Record) {
		return
	}
	if m.Cut == 0 {
		f.envelope(m)
	}
	if m.Event == nil {
		return
	}
	f.payload(m)
	switch {
	case f.role == vocab.Agent:
		f.request(m)
	case m.kind == vocab.ErrorMessage:
		f.error(m)
	}
	if f.role == vocab.Host {
		f.noBackendData(m)
	}
}

func (f *forms) check(ok bool, m message, clause, expected, observed string) {
	if ok {
		f.out = obligation.AddKept(f.out, m.N, "", clause)
		return
	}
	f.out = append(f.out, verdict.Finding{Clauses: []string{clause}, At: m.N, Expected: expected,
		Observed: observed + " in " + m.told()})
}

// member judges a member of an envelope or a payload. It renders the member only if it is at fault, as a state may be
// long.
func (f *forms) member(ok bool, m message, clause, expected, path string, in object, name string) {
	if ok {
		f.check(true, m, clause, "", "")
		return
	}
	observed := path + name + " is missing"
	if v, there := in[name]; there {
		observed = path + name + " is " + wjson.Compact(v)
	}
	f.check(false, m, clause, expected, observed)
}

// envelope judges the form of a message (section 3).
func (f *forms) envelope(m message) {
	if m.Event == nil {
		f.check(false, m, "EA-018", "one JSON object", "it is not a JSON object")
		return
	}
	add := func(clause string, ok bool, expected, name string) {
		f.member(ok, m, clause, expected, "", m.env, name)
	}
	f.check(len(m.Event.Faults) == 0, m, "EA-018", "one JSON object", strings.Join(m.Event.Faults, ", "))
	add("EA-019", m.env[vocab.V] == vocab.Version, `v is "`+vocab.Version+`"`, vocab.V)
	add("EA-021", word(m.env[vocab.Type], true), "type is a string", vocab.Type)
	add("EA-024", obj(m.env[vocab.Payload], true), "payload is an object", vocab.Payload)
	add("EA-022a", m.env[vocab.ID] == nil || text(m.env[vocab.ID], true), "id is a string, if present", vocab.ID)
}

// payload judges the members of a payload.
func (f *forms) payload(m message) {
	for _, s := range shapes[f.role][m.kind] {
		v, there := m.body[s.name]
		if s.name == vocab.Spec && v == nil && (there || s.clause == "EA-052a") {
			continue // while none is active, or in a result without one
		}
		if s.clause == "EA-056a" && !word(v, there) {
			continue // EA-056 is broken
		}
		f.member(s.ok(v, there), m, s.clause, fmt.Sprintf("%s: payload.%s is %s", m.kind, s.name, s.form), "payload.",
			m.body, s.name)
	}
}

// request judges what only an agent's messages have to be. No clause says what an agent may answer, so that its replyTo
// is only a string.
func (f *forms) request(m message) {
	to := m.env[vocab.ReplyTo]
	f.check(to == nil || text(to, true), m, "EA-023a", "replyTo is a string, if present", "replyTo is "+wjson.Compact(to))
	switch m.kind {
	case vocab.RelayJoin:
		_, ok := m.Event.RequestID.(string)
		f.check(ok, m, "EA-027", "relay.join has an id, a string", "its id is "+wjson.Compact(m.env[vocab.ID]))
	case vocab.SnapshotGet:
		f.check(obj(m.Event.Data, true) && len(m.body) == 0, m, "EA-032", "snapshot.get has the payload {}",
			"its payload is "+wjson.Compact(m.Event.Data))
	}
}

// error judges the payload of an error.
func (f *forms) error(m message) {
	v := f.places.ofError(m)
	code, isText := v.(string)
	observed := "the code is " + wjson.Compact(v)
	f.check(isText, m, "EA-069", "error: a code, a string, at "+f.places.code, observed)
	f.check(slices.Contains(vocab.Codes(), code), m, "EA-084", "error: "+oneOfTheCodes(), observed)
	f.check(text(m.body[vocab.Message], true), m, "EA-070", "error: payload.message is a string",
		"payload.message is "+wjson.Compact(m.body[vocab.Message]))
}

func oneOfTheCodes() string { return "one of the codes " + strings.Join(vocab.Codes(), ", ") }

// noBackendData judges that the key occurs nowhere. Its absence proves something only where it could be expected.
func (f *forms) noBackendData(m message) {
	at := find(m.Event.Envelope, vocab.BackendData)
	if at == "" && !m.isState() && m.kind != vocab.ToolResult {
		return
	}
	if at == "" {
		f.out = obligation.AddKept(f.out, m.N, "", "EA-102", "EA-015")
		return
	}
	f.out = append(f.out, verdict.Finding{Clauses: []string{"EA-102", "EA-015"}, At: m.N,
		Expected: "no key " + vocab.BackendData + " in a message to an agent", Observed: m.kind + " has it at " + at})
}

// find returns the place of a key in a value as a JSON Pointer, or "".
func find(v any, key string) string {
	switch v := v.(type) {
	case object:
		if _, ok := v[key]; ok {
			return wjson.FormatPointer(key)
		}
		for name, m := range v {
			if at := find(m, key); at != "" {
				return wjson.FormatPointer(name) + at
			}
		}
	case []any:
		for i, m := range v {
			if at := find(m, key); at != "" {
				return fmt.Sprintf("/%d%s", i, at)
			}
		}
	}
	return ""
}

// passedOn knows the frames of the harness that a relay passes on between its parties, unchanged or encoded anew: they
// are not the relay's. Without a host of the harness, nothing is passed on.
type passedOn struct {
	off    bool
	hosted bool
	sent   map[string]bool
}

func (p *passedOn) take(r *transcript.Record) {
	if p.off {
		return
	}
	p.hosted = p.hosted || r.Conn == "host"
	if r.Kind == transcript.Frame && r.Dir == transcript.Sent {
		if p.sent == nil {
			p.sent = map[string]bool{}
		}
		p.sent[essence(r)] = true
	}
}

func (p *passedOn) have(r *transcript.Record) bool { return p.hosted && p.sent[essence(r)] }

// essence returns what a relay preserves of a frame.
func essence(r *transcript.Record) string {
	if r.Event == nil {
		return string(r.Bytes)
	}
	env, _ := r.Event.Envelope.(object)
	return wjson.Compact([]any{env[vocab.V], env[vocab.Type], env[vocab.Payload]})
}
