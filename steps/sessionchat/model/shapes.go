package model

import (
	"fmt"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// ofSession reports whether a message belongs to a session of the observed clients: one of a turn, or one without a
// type that carries an agent_id which they have used. Errors, pongs and plain greetings belong to no session, and
// messages with another agent_id to someone else's.
func (m *Model) ofSession(msg message) bool {
	agent, named := msg.data[vocab.AgentID].(string)
	if !named {
		return ofTurn[msg.kind] &&
			(msg.kind != vocab.SystemMessage || msg.data[vocab.SessionID] != nil && msg.data[vocab.SessionID] != "")
	}
	return m.used[agent] && (ofTurn[msg.kind] || msg.kind == "")
}

// members are those that every message of a session has, with their forms. session_id may be null (SC-056) but must be
// present.
var members = []struct {
	clause, name, form string
	ok                 func(any) bool
}{
	{"SC-038", vocab.AgentID, "a string", isText},
	{"SC-039", vocab.SessionID, "a string, or null until it is known", func(v any) bool { return v == nil || isText(v) }},
	{"SC-040", vocab.MessageType, "a string that is not empty", func(v any) bool { return isText(v) && v != "" }},
	{"SC-043", vocab.Body, "an object", func(v any) bool { _, ok := v.(map[string]any); return ok }},
	{"SC-044", vocab.Timestamp, "a string", isText},
}

func isText(v any) bool { _, ok := v.(string); return ok }

// formed judges the members of a message (SC-038 to SC-040, SC-043, SC-044).
func (m *Model) formed(msg message) {
	if !m.ofSession(msg) {
		return
	}
	for _, rule := range members {
		v, there := msg.data[rule.name]
		f := verdict.Finding{Clauses: []string{rule.clause}, OK: there && rule.ok(v)}
		if !f.OK {
			f.Expected = rule.name + " is " + rule.form
			f.Observed = rule.name + " is missing in " + msg.told()
			if there {
				f.Observed = fmt.Sprintf("%s is %s in %s", rule.name, wjson.Compact(v), msg.told())
			}
		}
		m.add(msg, f)
	}
}

// failing judges an error in a turn whose model fails: it has an agent_id and a session_id (SC-038, SC-039), which is
// that of its session (SC-042). An error without an agent_id is about the turn if nothing else was asked of its
// connection: then there is nothing else that it could be about.
func (m *Model) failing(l *line, msg message) {
	if !m.ours() || !msg.is(vocab.ErrorMessage) {
		return
	}
	var open []*talk
	for _, t := range m.talks {
		if len(t.chats) > 0 && t.conn == msg.r.Conn {
			open = append(open, t)
		}
	}
	if len(open) != 1 || len(open[0].chats) > 1 || !open[0].chats[0].fails || open[0].chats[0].r.N != l.latest {
		return
	}
	t := open[0]
	_, named := msg.data[vocab.SessionID]
	for _, member := range []struct {
		clause, name string
		ok           bool
	}{{"SC-038", vocab.AgentID, msg.agent != ""}, {"SC-039", vocab.SessionID, named}} {
		f := kept(member.clause)
		if !member.ok {
			f = failed(msg, "an error about a turn with its "+member.name, member.clause)
		}
		m.about(msg, t.agent, Errors, f)
	}
	was := m.ids.known[life{key{of: t.agent}, m.ids.memory.life(t.agent, msg.r.N)}]
	if was != nil && was.id != "" && msg.id != "" {
		f := kept("SC-042")
		if was.id != msg.id {
			f = failed(msg, fmt.Sprintf("session_id %q, which %s has, in an error about its turn", was.id, t.agent),
				"SC-042")
		}
		m.about(msg, t.agent, Errors, f)
	}
}

// shapes judges the members of each message alone.
func shapes(t []transcript.Record) []verdict.Finding {
	m := New(0)
	for _, r := range t {
		msg := read(r)
		switch {
		case msg.received():
			m.formed(msg)
		case msg.sent() && msg.kind == vocab.ChatType:
			m.use(msg)
		}
	}
	return m.Findings()
}
