// Package sessionchat holds the monitors of session-chat: what must hold of every message of a session, in every
// transcript. They read records as the binding decodes them: Data under the names of the default binding, a member that
// the message lacks absent.
package sessionchat

import (
	"fmt"
	"slices"
	"strings"

	"parley/model"
	"parley/monitor"
	vocab "parley/protocol/sessionchat"
	"parley/transcript"
	wjson "parley/wire/json"
)

// Resumes begins the remark by which a scenario tells that sessions may have left the target's memory, because it was
// restarted or they rested: what a session_id is then is no matter of SC-042 (see SC-016a).
const Resumes = "sessions may be resumed"

// All lists the monitors of session-chat.
func All() []monitor.Monitor {
	return []monitor.Monitor{
		{Name: "session-message-shape", Clauses: []string{"SC-038", "SC-039", "SC-040", "SC-043", "SC-044"},
			Text: "every message of a session has agent_id, session_id, message_type, message and timestamp in their form", Check: shapes},
		{Name: "session-id-stays", Clauses: []string{"SC-042", "SC-056"},
			Text: "the session_id of an agent_id, once it is known, is the same in every message until the session may be resumed", Check: idStays},
		{Name: "session-ids-differ", Clauses: []string{"SC-027"},
			Text: "two agent_ids never bear the same session_id", Check: idsDiffer},
		{Name: "own-agent-id", Clauses: []string{"SC-021", "SC-041"},
			Text: "what the model says to a chat bears the agent_id of that chat", Check: ownAgent},
		{Name: "nothing-behind-the-end", Clauses: []string{"SC-020"},
			Text: "nothing of a turn comes behind its result", Check: nothingBehind},
	}
}

// turnTypes are the message types that only turns have.
var turnTypes = map[string]bool{vocab.SystemMessage: true, vocab.StreamMessage: true, vocab.AssistantMessage: true, vocab.ResultMessage: true}

// eachOfSession visits the messages that belong to a session of the harness: those of a turn, and those without a type
// that bear an agent_id which it has used. Errors and pongs belong to none, and what bears another agent_id is somebody
// else's.
func eachOfSession(t []transcript.Record, visit func(r transcript.Record, data map[string]any)) {
	used := map[any]bool{}
	for _, r := range t {
		if r.Event == nil {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		if r.Dir == transcript.Sent {
			if id, ok := data["agent_id"].(string); ok && r.Event.Type == vocab.ChatType {
				used[id] = true
			}
			continue
		}
		id, named := data["agent_id"].(string)
		if turnTypes[r.Event.Type] && (used[id] || !named) || r.Event.Type == "" && used[id] {
			visit(r, data)
		}
	}
}

// shapes judges the members of each message (SC-038 to SC-040, SC-043, SC-044). session_id may be null (SC-056), but it
// is there.
func shapes(t []transcript.Record) []monitor.Finding {
	var out []monitor.Finding
	text := func(v any) bool { s, ok := v.(string); return ok && s != "" }
	rules := []struct {
		clause, name, form string
		ok                 func(any) bool
	}{
		{"SC-038", "agent_id", "a string", func(v any) bool { _, ok := v.(string); return ok }},
		{"SC-039", "session_id", "a string, or null until it is known", func(v any) bool { return v == nil || text(v) }},
		{"SC-040", "message_type", "a string", text},
		{"SC-043", "message", "an object", func(v any) bool { _, ok := v.(map[string]any); return ok }},
		{"SC-044", "timestamp", "a string", text},
	}
	eachOfSession(t, func(r transcript.Record, data map[string]any) {
		for _, rule := range rules {
			v, there := data[rule.name]
			f := monitor.Finding{Clauses: []string{rule.clause}, OK: there && rule.ok(v), At: r.N}
			if !f.OK {
				f.Expected = rule.name + " is " + rule.form
				f.Observed = rule.name + " is missing in " + monitor.Describe(r)
				if there {
					f.Observed = fmt.Sprintf("%s is %s in %s", rule.name, wjson.Compact(v), monitor.Describe(r))
				}
			}
			out = append(out, f)
		}
	})
	return out
}

// idStays judges that a session_id never changes while the session stays in memory (SC-042), and is never unknown again
// (SC-056).
func idStays(t []transcript.Record) []monitor.Finding {
	var out []monitor.Finding
	life := livesOf(t)
	type key struct {
		agent string
		life  int
	}
	known := map[key]string{}
	eachOfSession(t, func(r transcript.Record, data map[string]any) {
		agent, ok := data["agent_id"].(string)
		id, told := data["session_id"].(string)
		if !ok {
			return
		}
		k := key{agent, life(r.N)}
		was := known[k]
		switch {
		case told && id != "":
			known[k] = id
			if was == "" {
				return // the first of its kind proves nothing
			}
			f := monitor.Finding{Clauses: []string{"SC-042"}, OK: was == id, At: r.N}
			if !f.OK {
				f.Expected = fmt.Sprintf("session_id %q for agent_id %q, as before", was, agent)
				f.Observed = fmt.Sprintf("session_id %q in %s", id, monitor.Describe(r))
			}
			out = append(out, f, monitor.Finding{Clauses: []string{"SC-056"}, OK: true, At: r.N})
		case was != "":
			out = append(out, monitor.Finding{Clauses: []string{"SC-056"}, At: r.N, Expected: fmt.Sprintf("session_id %q, which is known", was), Observed: "none in " + monitor.Describe(r)})
		}
	})
	return out
}

// livesOf counts how often before a record sessions may have left the target's memory: by a remark of the scenario, or
// by the end of a connection (SC-054, SC-059).
func livesOf(t []transcript.Record) func(n int) int {
	var at []int
	for _, r := range t {
		if r.Kind == transcript.Remark && strings.HasPrefix(r.Label, Resumes) || r.Kind == transcript.Closed {
			at = append(at, r.N)
		}
	}
	return func(n int) int { i, _ := slices.BinarySearch(at, n); return i }
}

// idsDiffer judges that every agent_id has a session of its own (SC-027).
func idsDiffer(t []transcript.Record) []monitor.Finding {
	var out []monitor.Finding
	owner := map[string]string{}
	eachOfSession(t, func(r transcript.Record, data map[string]any) {
		agent, ok := data["agent_id"].(string)
		id, told := data["session_id"].(string)
		if !ok || !told || id == "" {
			return
		}
		was, taken := owner[id]
		if !taken {
			owner[id] = agent
		}
		if owner[id] == agent && len(owner) == 1 {
			return // one session differs from none
		}
		f := monitor.Finding{Clauses: []string{"SC-027"}, OK: !taken || was == agent, At: r.N}
		if !f.OK {
			f.Expected = fmt.Sprintf("a session_id for agent_id %q that no other agent_id has", agent)
			f.Observed = fmt.Sprintf("session_id %q, which agent_id %q has, in %s", id, was, monitor.Describe(r))
		}
		out = append(out, f)
	})
	return out
}

// asked maps the nonces in the harness's chats to the agent_ids that they were sent under.
func asked(t []transcript.Record) map[string]string {
	out := map[string]string{}
	for _, r := range t {
		if r.Dir != transcript.Sent || r.Event == nil || r.Event.Type != vocab.ChatType {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		agent, _ := data["agent_id"].(string)
		content, _ := data["content"].(string)
		for _, d := range model.Directives(content) {
			out[d.Nonce] = agent
		}
	}
	return out
}

// ownAgent judges that the model's words to a chat, which name its nonce, bear the chat's agent_id (SC-021), and bear it
// as it was sent (SC-041).
func ownAgent(t []transcript.Record) []monitor.Finding {
	var out []monitor.Finding
	agents := asked(t)
	for _, r := range t {
		if r.Dir != transcript.Received || r.Event == nil || !turnTypes[r.Event.Type] {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		said, _ := data["text"].(string)
		for _, nonce := range noncesIn(said, agents) {
			f := monitor.Finding{Clauses: []string{"SC-021", "SC-041"}, OK: data["agent_id"] == any(agents[nonce]), At: r.N}
			if !f.OK {
				f.Expected = fmt.Sprintf("agent_id %q, under which the chat was sent", agents[nonce])
				f.Observed = fmt.Sprintf("agent_id %s in %s", wjson.Compact(data["agent_id"]), monitor.Describe(r))
			}
			out = append(out, f)
		}
	}
	return out
}

// noncesIn are the nonces that a text mentions as words of their own.
func noncesIn(said string, known map[string]string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(said, func(c rune) bool { return strings.ContainsRune(" \t\r\n[]()\"',", c) }) {
		if _, ok := known[word]; ok {
			out = append(out, word)
		}
	}
	return out
}

// nothingBehind judges that a turn's result is its last message (SC-020): no words of its model come behind it.
func nothingBehind(t []transcript.Record) []monitor.Finding {
	var out []monitor.Finding
	agents := asked(t)
	spoke := map[string]string{} // agent_id → the nonce that its turn has last mentioned
	ended := map[string]int{}    // nonce → record of its turn's result
	for _, r := range t {
		if r.Dir != transcript.Received || r.Event == nil || !turnTypes[r.Event.Type] {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		agent, _ := data["agent_id"].(string)
		said, _ := data["text"].(string)
		nonces := noncesIn(said, agents)
		if r.Event.Type == vocab.ResultMessage {
			if n := spoke[agent]; n != "" {
				ended[n] = r.N
				out = append(out, monitor.Finding{Clauses: []string{"SC-020"}, OK: true, At: r.N})
			}
			delete(spoke, agent)
			continue
		}
		for _, n := range nonces {
			if at := ended[n]; at > 0 {
				out = append(out, monitor.Finding{Clauses: []string{"SC-020"}, At: r.N,
					Expected: fmt.Sprintf("nothing more of the turn that ended in record %d", at), Observed: monitor.Describe(r)})
			}
			if agents[n] == agent {
				spoke[agent] = n
			}
		}
	}
	return out
}
