// Package invariants has the monitors of session-chat: what must hold for every message of a session, in every
// transcript. They read records as decoded by the binding: Data has the names of the default binding, and missing
// members are absent.
package invariants

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Resumes begins a scenario's remark that sessions may have left the target's memory through a restart or idling.
// SC-042 does not cover their session_id after that (see SC-016a).
const Resumes = "sessions may be resumed"

// Idle begins a scenario's remark on how long the target keeps idle sessions.
const Idle = "the target keeps idle sessions for "

// All lists the monitors of session-chat.
func All() []monitor.Monitor {
	return []monitor.Monitor{
		{Name: "session-message-shape", Clauses: []string{"SC-038", "SC-039", "SC-040", "SC-043", "SC-044"},
			Text:  "every message of a session has well-formed agent_id, session_id, message_type, message and timestamp",
			Check: shapes, PerRecord: true, Passive: true},
		{Name: "session-id-stays", Clauses: []string{"SC-042", "SC-056"},
			Text: "the session_id of an agent_id, once known, is the same in every message until the session may be " +
				"resumed, and is neither an agent_id of the client nor the session_id of another agent_id", Check: idStays},
		{Name: "session-ids-differ", Clauses: []string{"SC-027"},
			Text: "two agent_ids never have the same session_id", Check: idsDiffer},
		{Name: "own-agent-id", Clauses: []string{"SC-021", "SC-041"},
			Text: "the model's answer to a chat has the agent_id of that chat", Check: ownAgent},
		{Name: "nothing-behind-the-end", Clauses: []string{"SC-020"},
			Text: "a turn has one result, and no message follows it", Check: nothingAfter},
		{Name: "said-once", Clauses: []string{"SC-020"},
			Text: "each message with the model's words is forwarded once", Check: saidOnce},
	}
}

// turnTypes are the message types that occur only in turns.
var turnTypes = map[string]bool{vocab.SystemMessage: true, vocab.StreamMessage: true, vocab.AssistantMessage: true,
	vocab.ResultMessage: true}

// eachOfSession visits the messages of the harness's sessions: those of a turn, and those without a type that carry
// an agent_id which the harness has used. Errors, pongs and plain greetings belong to no session, and messages with
// another agent_id to someone else's.
func eachOfSession(t []transcript.Record, visit func(r transcript.Record, data map[string]any)) {
	used := map[any]bool{}
	for _, r := range t {
		if r.Event == nil {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		if r.Dir == transcript.Sent {
			if id, ok := data[vocab.AgentID].(string); ok && r.Event.Type == vocab.ChatType {
				used[id] = true
			}
			continue
		}
		id, named := data[vocab.AgentID].(string)
		nameless := turnTypes[r.Event.Type] && !named &&
			(r.Event.Type != vocab.SystemMessage || data[vocab.SessionID] != nil && data[vocab.SessionID] != "")
		if named && used[id] && (turnTypes[r.Event.Type] || r.Event.Type == "") || nameless {
			visit(r, data)
		}
	}
}

// shapes judges the members of each message (SC-038 to SC-040, SC-043, SC-044). session_id may be null (SC-056) but
// must be present.
func shapes(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	text := func(v any) bool { _, ok := v.(string); return ok }
	rules := []struct {
		clause, name, form string
		ok                 func(any) bool
	}{
		{"SC-038", vocab.AgentID, "a string", text},
		{"SC-039", vocab.SessionID, "a string, or null until it is known", func(v any) bool { return v == nil || text(v) }},
		{"SC-040", vocab.MessageType, "a string that is not empty", func(v any) bool { return text(v) && v != "" }},
		{"SC-043", vocab.Body, "an object", func(v any) bool { _, ok := v.(map[string]any); return ok }},
		{"SC-044", vocab.Timestamp, "a string", text},
	}
	eachOfSession(t, func(r transcript.Record, data map[string]any) {
		for _, rule := range rules {
			v, there := data[rule.name]
			f := verdict.Finding{Clauses: []string{rule.clause}, OK: there && rule.ok(v), At: r.N}
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

// idStays judges that a session_id does not change while the session stays in memory (SC-042), and does not become
// unknown again (SC-056). The backend assigns it, so it is never one of the client's agent_ids.
func idStays(t []transcript.Record) []verdict.Finding {
	out := append(agentsForIDs(t), idsOfOthers(t)...)
	life := Lives(t)
	type key struct {
		agent string
		life  int
	}
	known := map[key]string{}
	eachOfSession(t, func(r transcript.Record, data map[string]any) {
		agent, ok := data[vocab.AgentID].(string)
		if !ok {
			return
		}
		k := key{agent, life(agent, r.N)}
		was := known[k]
		switch id, _ := data[vocab.SessionID].(string); {
		case id == "" && was == "", was == "":
			known[k] = id // the first one proves nothing
		case id == "":
			out = append(out, verdict.Finding{Clauses: []string{"SC-056"}, At: r.N,
				Expected: fmt.Sprintf("session_id %q, which is known", was),
				Observed: fmt.Sprintf("session_id is %s in %s", wjson.Compact(data[vocab.SessionID]), monitor.Describe(r))})
		default:
			f := verdict.Finding{Clauses: []string{"SC-042"}, OK: was == id, At: r.N}
			if !f.OK {
				f.Expected = fmt.Sprintf("session_id %q for agent_id %q, as before", was, agent)
				f.Observed = fmt.Sprintf("session_id %q in %s", id, monitor.Describe(r))
			}
			known[k] = id
			out = append(out, f, verdict.Finding{Clauses: []string{"SC-056"}, OK: true, At: r.N})
		}
	})
	return out
}

// agentsForIDs finds messages of any type that carry one of their client's agent_ids as the session_id.
func agentsForIDs(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	type own struct{ conn, agent string }
	sent := map[own]bool{}
	for _, r := range t {
		if r.Event == nil {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		if agent, ok := data[vocab.AgentID].(string); ok && agent != "" && r.Dir == transcript.Sent {
			sent[own{r.Conn, agent}] = true
		}
		if id, ok := data[vocab.SessionID].(string); ok && r.Dir == transcript.Received && sent[own{r.Conn, id}] {
			out = append(out, verdict.Finding{Clauses: []string{"SC-042"}, At: r.N,
				Expected: "a session_id that the backend has assigned",
				Observed: fmt.Sprintf("session_id %q, which the client has sent as an agent_id, in %s", id, monitor.Describe(r))})
		}
	}
	return out
}

// idsOfOthers finds errors and other messages outside of turns that name an agent_id of the client with the session_id
// of another one. Those of turns are judged by idsDiffer.
func idsOfOthers(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	agents := map[string]map[string]bool{} // by session_id
	eachOfSession(t, func(_ transcript.Record, data map[string]any) {
		agent, named := data[vocab.AgentID].(string)
		if id, _ := data[vocab.SessionID].(string); named && id != "" {
			if agents[id] == nil {
				agents[id] = map[string]bool{}
			}
			agents[id][agent] = true
		}
	})
	for _, r := range t {
		if r.Event == nil || r.Dir != transcript.Received || turnTypes[r.Event.Type] || r.Event.Type == "" {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		agent, named := data[vocab.AgentID].(string)
		id, _ := data[vocab.SessionID].(string)
		if having := agents[id]; named && agent != "" && len(having) > 0 && !having[agent] {
			out = append(out, verdict.Finding{Clauses: []string{"SC-042"}, At: r.N,
				Expected: fmt.Sprintf("no session_id of another agent_id beside agent_id %q", agent),
				Observed: fmt.Sprintf("session_id %q, which agent_id %q has, in %s", id,
					slices.Sorted(maps.Keys(having))[0], monitor.Describe(r))})
		}
	}
	return out
}

// Lives returns a function that counts how often, up to a record, the session of an agent_id may have left the
// target's memory: by a restart or a rest that the scenario remarks on, by the end of a connection (SC-054, SC-059),
// or by idling for as long as the target keeps idle sessions (SC-053). The target may count from the last chat or from
// the last message, and looks for the session between a chat and its first answer.
func Lives(t []transcript.Record) func(agent string, n int) int {
	var ends []int
	rests := map[string][]int{}
	known := map[string]*activity{}
	idle := time.Duration(0)
	for _, r := range t {
		switch {
		case r.Kind == transcript.Remark && strings.HasPrefix(r.Label, Idle):
			idle, _ = time.ParseDuration(strings.TrimPrefix(r.Label, Idle))
		case r.Kind == transcript.Remark && strings.HasPrefix(r.Label, Resumes), r.Kind == transcript.Closed:
			ends = append(ends, r.N)
		case r.Event != nil:
			data, _ := r.Event.Data.(map[string]any)
			agent, named := data[vocab.AgentID].(string)
			content, _ := data[vocab.Content].(string)
			if !named || r.Dir == transcript.Sent && content == "" || r.Dir == transcript.Received && !turnTypes[r.Event.Type] {
				continue // a message that starts no turn is not activity of a session
			}
			a := known[agent]
			if a == nil {
				a = &activity{last: r.At, chat: r.At, before: r.At}
				known[agent] = a
			}
			if since := a.note(r); idle > 0 && since >= idle*3/4 {
				rests[agent] = append(rests[agent], r.N)
			}
		}
	}
	return func(agent string, n int) int {
		i, _ := slices.BinarySearch(ends, n)
		j, _ := slices.BinarySearch(rests[agent], n+1)
		return i + j
	}
}

// activity has the times of the latest messages of a session.
type activity struct {
	last, chat, before time.Duration // the latest message, the latest chat and the one before
	asked              string        // the connection of the latest chat, which has no answer; "" if it has one
}

// note takes the next message of a session, and returns how long the session may have been idle just before.
func (a *activity) note(r transcript.Record) time.Duration {
	since := r.At - a.last
	switch {
	case r.Dir == transcript.Sent:
		since = r.At - a.chat
		a.before, a.chat, a.asked = a.chat, r.At, r.Conn
	case a.asked == r.Conn: // another connection may still get what ended the turn before
		since, a.asked = r.At-a.before, ""
	}
	a.last = r.At
	return since
}

// idsDiffer judges that every agent_id has its own session (SC-027).
func idsDiffer(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	owner, agents := map[string]string{}, map[string]bool{}
	eachOfSession(t, func(r transcript.Record, data map[string]any) {
		agent, ok := data[vocab.AgentID].(string)
		id, told := data[vocab.SessionID].(string)
		if !ok || !told || id == "" {
			return
		}
		was, taken := owner[id]
		if !taken {
			owner[id] = agent
		}
		if agents[agent] = true; len(agents) == 1 {
			return // a single session can't be compared
		}
		f := verdict.Finding{Clauses: []string{"SC-027"}, OK: !taken || was == agent, At: r.N}
		if !f.OK {
			f.Expected = fmt.Sprintf("a session_id for agent_id %q that no other agent_id has", agent)
			f.Observed = fmt.Sprintf("session_id %q, which agent_id %q has, in %s", id, was, monitor.Describe(r))
		}
		out = append(out, f)
	})
	return out
}

// asked maps the nonces in the harness's chats to their agent_ids. It leaves out a chat whose agent_id is not a string:
// there is no agent_id that its answer could rightly have, and SC-030 judges that it is refused.
func asked(t []transcript.Record) map[string]string {
	out := map[string]string{}
	for _, r := range t {
		if r.Dir != transcript.Sent || r.Event == nil || r.Event.Type != vocab.ChatType {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		agent, ok := data[vocab.AgentID].(string)
		if !ok {
			continue
		}
		content, _ := data[vocab.Content].(string)
		for _, d := range llm.Directives(content) {
			out[d.Nonce] = agent
		}
	}
	return out
}

// words are the message types that carry the model's words. A system message may quote anything.
var words = map[string]bool{vocab.StreamMessage: true, vocab.AssistantMessage: true, vocab.ResultMessage: true}

// ownAgent judges that the model's words about a chat, which contain its nonce, carry the chat's agent_id (SC-021),
// unchanged (SC-041).
func ownAgent(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	agents := asked(t)
	for _, r := range t {
		if r.Dir != transcript.Received || r.Event == nil || !words[r.Event.Type] {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		for _, nonce := range noncesIn(r, agents) {
			f := verdict.Finding{Clauses: []string{"SC-021", "SC-041"}, OK: data[vocab.AgentID] == any(agents[nonce]), At: r.N}
			if !f.OK {
				f.Expected = fmt.Sprintf("agent_id %q, under which the chat was sent", agents[nonce])
				f.Observed = fmt.Sprintf("agent_id %s in %s", wjson.Compact(data[vocab.AgentID]), monitor.Describe(r))
			}
			out = append(out, f)
		}
	}
	return out
}

// noncesIn returns the nonces that a message mentions, but not as a prefix of a longer one. A nonce at the end of a
// stream portion does not count yet, because the next portion may extend it.
func noncesIn(r transcript.Record, known map[string]string) []string {
	data, _ := r.Event.Data.(map[string]any)
	said, _ := data[vocab.Text].(string)
	var out []string
	for nonce := range known {
		for rest := said; nonce != ""; {
			i := strings.Index(rest, nonce)
			if i < 0 {
				break
			}
			rest = rest[i+len(nonce):]
			if rest == "" && r.Event.Type != vocab.StreamMessage || rest != "" && rest[0] != '-' &&
				(rest[0] < '0' || rest[0] > '9') {
				out = append(out, nonce)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}
