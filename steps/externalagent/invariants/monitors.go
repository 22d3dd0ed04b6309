// Package invariants has the monitors of external-agent: what must hold for every message of a host, relay or agent
// in every transcript. They read records as the steps decode them: the envelope's type, its payload as Data, its id
// as RequestID.
package invariants

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// CodeAt is the beginning of the remark with the place of error codes in the target's errors, a JSON Pointer from the
// top of the message.
const CodeAt = "errors have their code at "

// AgentParty begins the connection names of a target that is an agent; the number of the connection follows.
const AgentParty = "agent"

// AnotherAgent is the remark that one agent has been stopped and another one has started, which knows nothing of the
// first.
const AnotherAgent = "another agent is started"

type object = map[string]any

var (
	servers = []string{vocab.Host, vocab.Relay}
	host    = []string{vocab.Host}
	agent   = []string{vocab.Agent}
)

// All lists the monitors of external-agent.
func All() []monitor.Monitor {
	return []monitor.Monitor{
		{Name: "envelopes", Clauses: []string{"EA-018", "EA-019", "EA-021", "EA-022a", "EA-024"},
			Text:  "every message is one JSON object with well-formed v, type and payload, and id if present",
			Check: envelopes, PerRecord: true},
		{Name: "answers", Clauses: []string{"EA-023a"}, Roles: servers,
			Text: "replyTo, if present, is the id of a request", Check: repliesNamed},
		{Name: "agent-replies", Clauses: []string{"EA-023a"}, Roles: agent, Text: "replyTo, if present, is a string",
			Check: repliesAsText},
		{Name: "no-backend-data", Clauses: []string{"EA-015", "EA-102"}, Roles: host,
			Text: "no message to an agent contains the key backendData", Check: noBackendData, Passive: true},
		{Name: "host-messages", Roles: host, Clauses: []string{"EA-039", "EA-043", "EA-044", "EA-045", "EA-048", "EA-052a",
			"EA-056", "EA-056a", "EA-057", "EA-058", "EA-059",
			"EA-061", "EA-062", "EA-065", "EA-067"}, Text: "every message of the host has the members that its type requires",
			Check: hostMessages, Passive: true},
		{Name: "errors", Clauses: []string{"EA-069", "EA-070", "EA-084"}, Roles: servers,
			Text: "every error has a code of section 5 and a message", Check: errors},
		{Name: "failures", Clauses: []string{"EA-104"}, Roles: host,
			Text: "a tool.result that is not ok has a code of section 5", Check: failures},
		{Name: "nothing-to-act-on", Clauses: []string{"EA-082"}, Roles: host,
			Text: "while uiSpec is null, no call is carried out", Check: actsOnNothing},
		{Name: "one-answer", Clauses: []string{"EA-104"}, Roles: host,
			Text: "a tool.call is answered once: by a tool.result, or by an error", Check: oneAnswer},
		{Name: "agent-joins-first", Clauses: []string{"EA-026"}, Roles: agent,
			Text: "an agent sends nothing but relay.join before relay.joined has answered it", Check: joinsFirst},
		{Name: "agent-messages", Clauses: []string{"EA-027", "EA-031", "EA-032", "EA-033", "EA-034", "EA-035", "EA-036",
			"EA-037"}, Roles: agent,
			Text: "every message of an agent has the members that its type requires", Check: agentMessages, Passive: true},
		{Name: "agent-ids", Clauses: []string{"EA-022b"}, Roles: agent, Text: "no two requests of an agent have the same id",
			Check: agentIDs},
		{Name: "agent-calls", Clauses: []string{"EA-081a", "EA-096a"}, Roles: agent,
			Text:  "an agent calls only tools that the latest state announces, with params that match their schemas",
			Check: agentCalls},
		{Name: "agent-resynchronises", Clauses: []string{"EA-076"}, Roles: agent,
			Text: "an agent that reconnected requests a snapshot before it calls a tool", Check: resynchronises},
		{Name: "agent-connection", Clauses: []string{"EA-016", "EA-103", "EA-106"}, Roles: agent,
			Text: "an agent has one connection at a time and rejoins the same relay session", Check: oneConnection},
	}
}

// shape describes what a member of a payload must be.
type shape struct {
	clause, name, form string
	ok                 func(v any, there bool) bool
}

func text(v any, there bool) bool { _, ok := v.(string); return there && ok }
func word(v any, there bool) bool { return text(v, there) && v != "" }
func list(v any, there bool) bool { _, ok := v.([]any); return there && ok }
func obj(v any, there bool) bool  { _, ok := v.(object); return there && ok }

func maybe(ok func(any, bool) bool) func(any, bool) bool {
	return func(v any, there bool) bool { return !there || v == nil || ok(v, there) }
}

func is(want any) func(any, bool) bool { return func(v any, _ bool) bool { return v == want } }

// ofHost has the members of the payloads of a host's messages (section 4.2).
var ofHost = map[string][]shape{
	vocab.SessionStarted: {{"EA-039", "sessionId", "a string", text}},
	vocab.SnapshotState: {{"EA-043", "uiSpec", "an object, or null while none is active", obj},
		{"EA-044", "messageHistory", "an array", list},
		{"EA-045", "toolSchema", "an array", list}},
	vocab.ToolResult: {{"EA-048", "ok", "a boolean", func(v any, _ bool) bool { _, ok := v.(bool); return ok }},
		{"EA-052a", "uiSpec", "an object, if present", maybe(obj)}},
	vocab.StateUpdated: {{"EA-056", "source", "a string that is not empty", word},
		{"EA-056a", "source", `"host"`, is(vocab.SourceHost)},
		{"EA-057", "uiSpec", "an object, or null while none is active", obj},
		{"EA-058", "messageHistory", "an array", list}, {"EA-059", "toolSchema", "an array", list}},
	vocab.UserMessage:  {{"EA-061", "text", "a string", text}, {"EA-062", "stage", "a string", text}},
	vocab.SessionEnded: {{"EA-065", "logFile", "a string", text}, {"EA-067", "stateReset", "true", is(true)}},
}

// ofAgent has the members of the payloads of an agent's messages (sections 4.0 and 4.1).
var ofAgent = map[string][]shape{
	vocab.RelayJoin:    {{"EA-027", "role", `"agent"`, is(vocab.AgentRole)}, {"EA-027", "sessionId", "a string", text}},
	vocab.SessionStart: {{"EA-031", "studyId", "a string", text}, {"EA-031", "participantId", "a string", text}},
	vocab.ToolCall: {{"EA-033", "toolName", "a string", text}, {"EA-034", "params", "an object", obj},
		{"EA-035", "reason", "a string", text}},
	vocab.AgentMessage: {{"EA-036", "text", "a string", text}},
	vocab.SessionEnd:   {{"EA-037", "reason", "a string", text}},
}

func hostMessages(t []transcript.Record) []verdict.Finding { return shapes(t, ofHost) }

func agentMessages(t []transcript.Record) []verdict.Finding {
	out := shapes(t, ofAgent)
	for m := range received(t) {
		switch m.kind {
		case vocab.RelayJoin:
			_, ok := m.Event.RequestID.(string)
			out = append(out, m.finding(ok, "EA-027", "relay.join has an id, a string",
				"its id is "+wjson.Compact(m.env[vocab.ID])))
		case vocab.SnapshotGet:
			ok := obj(m.Event.Data, true) && len(m.body) == 0
			out = append(out, m.finding(ok, "EA-032", "snapshot.get has the payload {}",
				"its payload is "+wjson.Compact(m.Event.Data)))
		}
	}
	return out
}

func shapes(t []transcript.Record, of map[string][]shape) []verdict.Finding {
	var out []verdict.Finding
	for m := range received(t) {
		for _, s := range of[m.kind] {
			v, there := m.body[s.name]
			if s.name == vocab.Spec && v == nil && (there || s.clause == "EA-052a") {
				continue // while none is active, or in a result without one
			}
			if s.clause == "EA-056a" && !word(v, there) {
				continue // EA-056 is broken
			}
			expected := fmt.Sprintf("%s: payload.%s is %s", m.kind, s.name, s.form)
			out = append(out, m.shaped(s.ok(v, there), s.clause, expected, "payload.", m.body, s.name))
		}
	}
	return out
}

// envelopes judges the form of every message (EA-018, EA-019, EA-021, EA-022a, EA-024). It skips what a relay passed
// on unchanged from the harness.
func envelopes(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	sent := sentByUs(t)
	for _, r := range t {
		if !target(&r) || sent.have(&r) || r.Cut > 0 {
			continue
		}
		if r.Event == nil {
			out = append(out, finding(&r, false, "EA-018", "one JSON object", "it is not a JSON object"))
			continue
		}
		m := messageOf(&r)
		add := func(clause string, ok bool, expected, name string) {
			out = append(out, m.shaped(ok, clause, expected, "", m.env, name))
		}
		out = append(out, m.finding(len(m.Event.Faults) == 0, "EA-018", "one JSON object",
			strings.Join(m.Event.Faults, ", ")))
		add("EA-019", m.env[vocab.V] == vocab.Version, `v is "`+vocab.Version+`"`, "v")
		kind, isText := m.env[vocab.Type].(string)
		add("EA-021", isText && kind != "", "type is a string", "type")
		add("EA-024", obj(m.env[vocab.Payload], true), "payload is an object", "payload")
		add("EA-022a", m.env[vocab.ID] == nil || text(m.env[vocab.ID], true), "id is a string, if present", "id")
	}
	return out
}

// ours has the frames sent by the harness, which a relay passes on between its parties, unchanged or re-encoded. It
// is nil if the harness plays no host.
type ours map[string]bool

func sentByUs(t []transcript.Record) ours {
	if !slices.ContainsFunc(t, func(r transcript.Record) bool { return r.Conn == "host" }) {
		return nil
	}
	sent := ours{}
	for _, r := range t {
		if r.Kind == transcript.Frame && r.Dir == transcript.Sent {
			sent[essence(&r)] = true
		}
	}
	return sent
}

// PassedOn matches the messages of the harness that a relay passes on.
func PassedOn(t []transcript.Record) func(*transcript.Record) bool { return sentByUs(t).have }

func (o ours) have(r *transcript.Record) bool { return len(o) > 0 && o[essence(r)] }

// essence returns what a relay preserves of a frame.
func essence(r *transcript.Record) string {
	if r.Event == nil {
		return string(r.Bytes)
	}
	env, _ := r.Event.Envelope.(object)
	return wjson.Compact([]any{env[vocab.V], env[vocab.Type], env[vocab.Payload]})
}

// repliesNamed judges that every replyTo is the id of a request of the harness (EA-023a).
func repliesNamed(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	sent, ids := sentByUs(t), []any{}
	var broken []string // frames that are not envelopes, in which a target may still find an id
	for _, r := range t {
		switch {
		case r.Kind == transcript.Frame && r.Dir == transcript.Sent:
			if r.Event == nil {
				broken = append(broken, string(r.Bytes))
			} else if r.Event.RequestID != nil {
				ids = append(ids, r.Event.RequestID)
			}
			continue
		case !target(&r) || r.Event == nil || sent.have(&r):
			continue
		}
		env, _ := r.Event.Envelope.(object)
		to := env[vocab.ReplyTo]
		if to == nil {
			continue
		}
		word, isText := to.(string)
		known := slices.ContainsFunc(ids, func(id any) bool {
			return wjson.Equal(id, to) || !text(id, true) && wjson.Compact(id) == to
		}) || isText && slices.ContainsFunc(broken, func(b string) bool { return strings.Contains(b, word) })
		out = append(out, finding(&r, known, "EA-023a", "replyTo is the id of a request", "replyTo is "+wjson.Compact(to)))
	}
	return out
}

// noBackendData judges that the key occurs nowhere (EA-102, EA-015).
func noBackendData(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	for m := range received(t) {
		at := find(m.Event.Envelope, vocab.BackendData)
		if at == "" && !m.isState() && m.kind != vocab.ToolResult {
			continue // its absence in other messages proves nothing
		}
		f := verdict.Finding{Clauses: []string{"EA-102", "EA-015"}, OK: at == "", At: m.N}
		if !f.OK {
			f.Expected, f.Observed = "no key "+vocab.BackendData+" in a message to an agent", m.kind+" has it at "+at
		}
		out = append(out, f)
	}
	return out
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

// said returns what a remark with the given beginning says of the target, or the default.
func said(t []transcript.Record, begin, otherwise string) string {
	for _, r := range t {
		if what, ok := strings.CutPrefix(r.Label, begin); ok && r.Kind == transcript.Remark {
			otherwise = what
		}
	}
	return otherwise
}

// errors judges the payload of every error (EA-069, EA-070, EA-084).
func errors(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	at, sent := said(t, CodeAt, "/payload/code"), sentByUs(t)
	for m := range received(t) {
		if m.kind != vocab.ErrorMessage || sent.have(m.Record) {
			continue
		}
		v, _ := wjson.Lookup(m.Event.Envelope, at)
		code, isText := v.(string)
		observed := "the code is " + wjson.Compact(v)
		out = append(out, m.finding(isText, "EA-069", "error: a code, a string, at "+at, observed),
			m.finding(slices.Contains(vocab.Codes(), code), "EA-084", "error: "+oneOfTheCodes(), observed),
			m.finding(text(m.body[vocab.Message], true), "EA-070", "error: payload.message is a string",
				"payload.message is "+wjson.Compact(m.body[vocab.Message])))
	}
	return out
}

func oneOfTheCodes() string { return "one of the codes " + strings.Join(vocab.Codes(), ", ") }

// CodesAt is the beginning of the remark with the places of error codes in a tool.result that is not ok: JSON
// Pointers from the top of the message, separated by blanks.
const CodesAt = "results have their code at "

// failures judges that a tool.result that is not ok has an error code (EA-104).
func failures(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	at := strings.Fields(said(t, CodesAt, "/payload/code"))
	for m := range received(t) {
		if m.kind != vocab.ToolResult || m.body[vocab.OK] != false {
			continue
		}
		var code any
		for _, p := range slices.Backward(at) {
			if v, ok := wjson.Lookup(m.Event.Envelope, p); ok {
				code = v // the first place counts
			}
		}
		name, _ := code.(string)
		out = append(out, m.finding(slices.Contains(vocab.Codes(), name), "EA-104",
			"tool.result with ok:false: "+oneOfTheCodes()+" at "+strings.Join(at, " or "), "the code is "+wjson.Compact(code)))
	}
	return out
}

// actsOnNothing judges that a call is not executed while uiSpec is null (EA-082). A state may cross the call, so both
// the last state before the call and the last before its answer must have a null uiSpec. A tool that the former
// announces may be called.
func actsOnNothing(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	type call struct{ conn, id string }
	null, tools := map[string]bool{}, map[string][]any{} // by connection, in the latest state
	calls, announced := map[call]bool{}, map[call]bool{} // made while uiSpec was null; of these, of announced tools
	at := said(t, CodeAt, "/payload/code")
	for m := range messages(t) {
		answered := call{m.Conn, m.replyTo()}
		both := calls[answered] && null[m.Conn]
		switch {
		case m.sent(vocab.ToolCall):
			if id, ok := m.env[vocab.ID].(string); ok {
				calls[call{m.Conn, id}] = null[m.Conn]
				announced[call{m.Conn, id}] = names(tools[m.Conn], m.body[vocab.ToolName])
			}
		case !target(m.Record):
		case m.isState():
			v, there := m.body[vocab.Spec]
			null[m.Conn] = there && v == nil
			tools[m.Conn], _ = m.body[vocab.ToolSchema].([]any)
		case m.kind == vocab.ToolResult && m.body[vocab.OK] == true && both && !announced[answered]:
			out = append(out, m.finding(false, "EA-082", "a call refused with "+vocab.NoActiveSpec+" while uiSpec is null",
				"it was carried out"))
		case m.kind == vocab.ErrorMessage && both:
			if code, _ := wjson.Lookup(m.Event.Envelope, at); code == vocab.NoActiveSpec {
				out = append(out, m.finding(true, "EA-082", "", ""))
			}
		}
	}
	return out
}

// names reports whether a list of tools has one with a name.
func names(tools []any, name any) bool {
	return slices.ContainsFunc(tools, func(item any) bool {
		o, _ := item.(object)
		return o != nil && o["name"] == name
	})
}

// oneAnswer judges that a call is not answered twice (EA-104).
func oneAnswer(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	type call struct{ conn, id string }
	answers, calls := map[call]int{}, map[call]bool{}
	for m := range messages(t) {
		if id, ok := m.Event.RequestID.(string); ok && m.sent(vocab.ToolCall) {
			calls[call{m.Conn, id}] = true
		}
		c := call{m.Conn, m.replyTo()}
		if m.Dir != transcript.Received || m.kind != vocab.ToolResult && m.kind != vocab.ErrorMessage || !calls[c] {
			continue
		}
		answers[c]++
		if answers[c] == 1 && m.kind != vocab.ErrorMessage && m.body[vocab.OK] != false {
			continue // a success says nothing about failures
		}
		out = append(out, m.finding(answers[c] == 1, "EA-104", "one answer to a tool.call: a tool.result, or an error",
			fmt.Sprintf("answer %d to %s", answers[c], c.id)))
	}
	return out
}
