package agentselect

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonform"
	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
)

func (t *tale) creates(c *toldClient, m message) ([]string, bool) {
	who := "client " + c.name
	if c.session != "" {
		c.deleted = ""
	}
	c.session, c.agent, c.turn, c.refused, c.asked = "", "the default agent", "", false, vocab.SessionCreateType
	c.contested = false
	does := who + " creates a session"
	if m.InitialAgentID != nil {
		var id string
		if json.Unmarshal(m.InitialAgentID, &id, jsonform.Lenient) != nil || !t.latest[id] || !quotable.MatchString(id) {
			return nil, false
		}
		c.agent = fmt.Sprintf("%q", id)
		does += fmt.Sprintf(" with the initial agent %q", id)
	}
	return []string{does, who + " has its session"}, true
}

// loads returns the steps of a client that loads a session. While another client uses it, it may be refused.
func (t *tale) loads(c *toldClient, m message) ([]string, bool) {
	who, of := "client "+c.name, t.owners[m.SessionID]
	c.turn, c.refused = "", true
	switch {
	case of != nil && of != c && of.session == m.SessionID && of.open:
		c.contested, of.contested = true, true
		return []string{fmt.Sprintf("%s tries to load the session of client %s", who, of.name),
			fmt.Sprintf("the session of client %s answers on one connection only", of.name)}, true
	case of != nil && of != c && of.session == m.SessionID:
		c.session, c.agent, t.owners[m.SessionID], c.refused = m.SessionID, "", c, false
		return []string{fmt.Sprintf("%s loads the session of client %s", who, of.name), who + " has its session"}, true
	case of == nil && quotable.MatchString(m.SessionID):
		return []string{fmt.Sprintf("%s loads the session %q", who, m.SessionID), who + " is refused the session"}, true
	}
	return nil, false
}

// switches returns the steps of a switch, and of the answer that the source requires.
func (t *tale) switches(c *toldClient, m message, id string, body []byte) ([]string, bool) {
	who := "client " + c.name
	does, codes := t.switching(c, m, id, body)
	if does == "" {
		return nil, false
	}
	if other := t.owners[m.SessionID]; other != nil && m.SessionID != c.session && m.SessionID == other.session {
		other.agent, c.refused = "", true
		return []string{does, fmt.Sprintf("the switch is announced to client %s, or %s is refused and nothing changes",
			other.name, who)}, true
	}
	to := fmt.Sprintf("%q", id)
	switch {
	case c.contested:
		return []string{does, "the answer to " + who + " is recorded"}, true
	case len(codes) > 0 && !t.proved, len(codes) == 0 && (c.agent == to || c.turn == "runs"):
		c.refused = len(codes) > 0
		if !c.refused && c.agent != to {
			c.agent = ""
		}
		return []string{does, "the answer to " + who + " is recorded"}, true
	case len(codes) > 0:
		c.refused = true
		one := ""
		if len(codes) > 1 {
			one = "one of "
		}
		return []string{does, fmt.Sprintf("%s is refused with %s%q", who, one, strings.Join(codes, ", "))}, true
	}
	was := c.agent
	c.agent, t.proved, c.refused = to, true, false
	if was == "" {
		return []string{does, fmt.Sprintf("%s is switched to %s", who, to)}, true
	}
	return []string{does, fmt.Sprintf("%s is switched from %s to %s", who, was, to)}, true
}

// switching returns the step that sends a switch, and the codes with which it may be refused; none: it must succeed.
func (t *tale) switching(c *toldClient, m message, id string, body []byte) (does string, codes []string) {
	who, plain := "client "+c.name, m.AgentID != nil && m.AgentID[0] == '"' && vocab.IDPattern.MatchString(id)
	switch {
	case m.AgentID == nil || m.AgentID[0] != '"', !plain && strings.TrimSpace(id) == "" && id != "":
		codes = []string{vocab.InvalidAgentID, vocab.InvalidAgentIDFormat}
	case id == "":
		codes = []string{vocab.InvalidAgentID}
	case !plain:
		codes = []string{vocab.InvalidAgentIDFormat}
	case !t.latest[id]:
		codes = []string{vocab.AgentNotFound}
		if len(id) > 1000 {
			codes = append(codes, vocab.InvalidAgentIDFormat)
		}
	}
	if c.turn == "held" || c.turn == "asked" {
		codes = append(codes, vocab.AgentBusy)
	}
	named := m.SessionID != ""
	if named && m.SessionID != c.session && t.owners[m.SessionID] == nil || m.SessionID == "" && c.session == "" ||
		named && m.SessionID == c.deleted {
		codes = append(codes, vocab.SessionNotFound)
	}
	verb, to := "switches", fmt.Sprintf("to %q", id)
	if c.turn == "aborted" && plain {
		verb, c.turn = ", once idle, switches", ""
		return fmt.Sprintf("%s%s %s", who, verb, to), codes
	}
	return t.named(c, m, id, plain, body), codes
}

// named returns the step that sends a switch, with the session that it names.
func (t *tale) named(c *toldClient, m message, id string, plain bool, body []byte) string {
	who := "client " + c.name
	var all map[string]jsontext.Value
	_ = json.Unmarshal(body, &all, jsonform.Lenient)
	for _, known := range []string{vocab.Type, vocab.AgentID, vocab.SessionID, vocab.ConnectionID} {
		delete(all, known)
	}
	other := t.owners[m.SessionID]
	quoted := quotable.MatchString(id)
	switch {
	case m.SessionID == "" && len(all) == 0 && plain:
		return fmt.Sprintf("%s switches to %q", who, id)
	case m.SessionID == "" && len(all) == 0 && m.AgentID != nil:
		return fmt.Sprintf("%s switches to the agent id %s", who, m.AgentID)
	case m.SessionID == "":
		if m.AgentID != nil {
			all[vocab.AgentID] = m.AgentID
		}
		fields, err := json.Marshal(all, jsonform.Escaped)
		if err != nil {
			return ""
		}
		return fmt.Sprintf("%s sends switch_agent with the fields %s", who, fields)
	case len(all) > 0 || !quoted:
		return ""
	case m.SessionID == c.session:
		return fmt.Sprintf("%s switches its session to %q", who, id)
	case m.SessionID == c.deleted:
		return fmt.Sprintf("%s switches its deleted session to %q", who, id)
	case other != nil && other.session == m.SessionID:
		return fmt.Sprintf("%s switches the session of client %s to %q", who, other.name, id)
	case other == nil && quotable.MatchString(m.SessionID):
		return fmt.Sprintf("%s switches the session %q to %q", who, m.SessionID, id)
	}
	return ""
}

// chats returns the steps of a chat, by its directives for the harness's model.
func (c *toldClient) chats(m message) ([]string, bool) {
	who := "client " + c.name
	does := func(what string) bool { return strings.Contains(m.Content, "[["+what+" ") }
	if c.session == "" || m.SessionID != c.session {
		return nil, false
	}
	c.refused = false
	if c.turn != "" {
		return []string{who + " sends another message during its turn"}, c.turn == "held"
	}
	held := strings.LastIndex(m.Content, "[[hold ")
	asks := strings.Index(m.Content, "[[tool ")
	c.waits = asks >= 0 && held > asks
	switch {
	case does("fail"):
		return []string{who + " chats and the model fails"}, true
	case asks >= 0 && held > asks:
		c.turn = "asked"
		return []string{fmt.Sprintf("%s is asked %s before the model waits", who, c.question(m))}, true
	case asks >= 0 && held >= 0:
		c.turn = "held"
		return []string{who + " has a turn running that will ask to confirm a tool"}, true
	case asks >= 0:
		c.turn = "asked"
		return []string{fmt.Sprintf("%s is asked %s", who, c.question(m))}, true
	case does("hold"):
		c.turn = "held"
		if does("echo") {
			return []string{who + " has a turn running that will answer"}, true
		}
		return []string{who + " has a turn running"}, true
	case strings.Contains(strings.ReplaceAll(m.Content, "[[echo ", ""), "[["):
		return nil, false
	}
	return []string{who + " chats", who + " is answered and its turn ends"}, true
}

// question returns the question of the tool in a chat.
func (c *toldClient) question(m message) string {
	if strings.Contains(m.Content, "ask") || strings.Contains(m.Content, "question") {
		return "a question"
	}
	return "to confirm a tool"
}

// body returns the step of a message that no other step sends and that names no session. The step waits until the
// message was handled: an unawaited answer would count as the answer to the next message.
func (t *tale) body(c *toldClient, r transcript.Record) ([]string, bool) {
	text := string(r.Bytes)
	if r.Cut > 0 || r.Type == "binary" || strings.ContainsAny(text, "\n\r") || strings.TrimSpace(text) != text ||
		strings.HasPrefix(r.Label, "POST") && !strings.HasSuffix(r.Label, "/message") ||
		strings.HasPrefix(r.Label, "DELETE") {
		return nil, false
	}
	for id := range t.owners {
		if strings.Contains(text, id) {
			return nil, false
		}
	}
	var m map[string]jsontext.Value
	if json.Unmarshal(r.Bytes, &m, jsonform.Lenient) == nil && m[vocab.ConnectionID] != nil {
		delete(m, vocab.ConnectionID) // that of the recorded connection
		kind, err := json.Marshal(m, jsonform.Escaped)
		if err != nil {
			return nil, false
		}
		text = string(kind)
	}
	t.actor, c.refused, c.agent = c, true, ""
	return []string{strings.TrimSpace(fmt.Sprintf("client %s sends the body %s", c.name, text))}, true
}
