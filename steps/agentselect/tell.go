package agentselect

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
)

var (
	tellable = regexp.MustCompile(`^\w+$`)
	quotable = regexp.MustCompile(`^[^"\n\r\\<>]+$`)
)

// tale is what the steps of a recording so far say.
type tale struct {
	clients map[string]*toldClient
	owners  map[string]*toldClient // session → the client that had it last
	latest  map[string]bool        // agents of the last list
	actor   *toldClient            // who acted last
	proved  bool                   // a switch that must be carried out was told: only then does a refusal say something
	greeted bool
}

// toldClient is what the steps of a recording so far say of a client.
type toldClient struct {
	name    string
	open    bool
	left    bool // its connection is closed, and no step has said so
	session string
	deleted string
	agent   string // as a step names it; "": not known
	turn    string // "", "held", "asked", "runs" or "aborted"
	// two connections have asked for its session, and the source is silent on who has it
	contested bool

	waits   bool   // the model waits once its user was asked
	refused bool   // its last act must be refused, or the source is silent
	asked   string // what its next session_created answers
}

// message is what a recording shows of messages of either direction.
type message struct {
	Type           string          `json:"type"`
	AgentID        json.RawMessage `json:"agentId"`
	SessionID      string          `json:"sessionId"`
	InitialAgentID json.RawMessage `json:"initialAgentId"`
	Content        string          `json:"content"`
	Session        struct {
		ID string `json:"id"`
	} `json:"session"`
	Data struct {
		SessionID string `json:"sessionId"`
		Agents    []struct {
			ID string `json:"id"`
		} `json:"agents"`
	} `json:"data"`
}

// Folds implements steps.Teller.
func (Protocol) Folds() []steps.Fold {
	const who, session = `client (?P<c>\w+)`, ` has a session`
	return []steps.Fold{
		{Steps: []string{who + ` creates a session`, who + ` has its session`}, By: `client $c` + session},
		{Steps: []string{who + ` connects`, who + ` receives the id of its connection`, who + ` receives the list of agents`,
			who + session}, By: `client $c` + session},
		{Steps: []string{who + ` connects`, who + session}, By: `client $c` + session},
		{Steps: []string{who + session, who + ` switches to (?P<a>"[\w-]+")`, who + ` is switched from .+ to (?P<a>"[\w-]+")`},
			By: `client $c has switched to $a`},
		{Steps: []string{who + ` connects`, who + ` has switched to (?P<a>"[\w-]+")`}, By: `client $c has switched to $a`},
		{Steps: []string{who + ` chats`, who + ` is answered and its turn ends`}, By: `client $c has chatted`},
	}
}

// Dials implements steps.Teller.
func (Protocol) Dials(string) bool { return false }

// Tell implements steps.Teller. Messages are told by their names in the document: those of a profile that maps them to
// others are not known. Where a recording has the fence by which a step proves an absence, that absence is told.
func (Protocol) Tell(steps.Told) func(transcript.Record) ([]string, bool) {
	t := &tale{clients: map[string]*toldClient{}, owners: map[string]*toldClient{}, latest: map[string]bool{}}
	return func(r transcript.Record) ([]string, bool) {
		if !tellable.MatchString(r.Conn) {
			return nil, r.Dir != transcript.Sent
		}
		c := t.clients[r.Conn]
		if c == nil {
			c = &toldClient{name: r.Conn}
			t.clients[r.Conn] = c
		}
		if r.Dir != transcript.Sent {
			return t.received(c, r), true
		}
		lines := t.departures(c)
		more, known := t.sent(c, r)
		return append(lines, more...), known
	}
}

// departures tells which connections were closed since the last act. Those that nobody acts after are the end of the
// recording.
func (t *tale) departures(actor *toldClient) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(t.clients)) {
		if c := t.clients[name]; c.left {
			c.left = false
			if c != actor {
				lines = append(lines, fmt.Sprintf("client %s has disconnected", name))
			}
		}
	}
	return lines
}

func (t *tale) received(c *toldClient, r transcript.Record) (lines []string) {
	if r.Kind == transcript.Closed {
		c.left, c.open = c.open && strings.HasPrefix(r.Label, "closed by the harness"), false
		return nil
	}
	var m message
	_ = json.Unmarshal(r.Bytes, &m) // what is none has no members
	switch m.Type {
	case vocab.AgentListEvent:
		t.latest = map[string]bool{}
		for _, a := range m.Data.Agents {
			t.latest[a.ID] = true
		}
	case vocab.CompleteEvent:
		lines, c.turn = c.ends(), ""
	case vocab.ConfirmationRequestEvent, vocab.QuestionRequestEvent:
		if c.turn == "held" {
			lines, c.turn = []string{c.continues()}, "asked"
		}
	}
	if id := m.Session.ID + m.Data.SessionID; c.asked != "" && id != "" && m.Type != vocab.CompleteEvent {
		c.session, c.asked, t.owners[id] = id, "", c
	}
	return lines
}

// ends tells that a turn has ended that no step has awaited.
func (c *toldClient) ends() []string {
	ends := fmt.Sprintf("the turn of client %s ends", c.name)
	switch c.turn {
	case "held":
		return []string{c.continues(), ends}
	case "runs":
		return []string{ends}
	}
	return nil
}

func (c *toldClient) continues() string {
	return fmt.Sprintf("the model lets the turn of client %s continue", c.name)
}

// sent tells what a client did.
func (t *tale) sent(c *toldClient, r transcript.Record) ([]string, bool) {
	who := "client " + c.name
	if r.Kind == transcript.Open {
		return t.opens(c, r)
	}
	if !c.open {
		return nil, false
	}
	if strings.HasPrefix(r.Label, "DELETE ") && c.session != "" && strings.HasSuffix(r.Label, c.session) {
		c.deleted, c.session, c.agent, c.refused = c.session, "", "", true
		t.actor = c
		return []string{who + " deletes its session"}, true
	}
	var m message
	if json.Unmarshal(r.Bytes, &m) != nil {
		return t.body(c, r)
	}
	if m.Type == "" {
		m.Type = kindOf(r)
	}
	lines, known := t.does(c, m, r)
	if !known {
		return t.body(c, r)
	}
	return lines, known
}

// kindOf returns the kind of a message that its endpoint alone shows.
func kindOf(r transcript.Record) string {
	switch {
	case strings.HasSuffix(r.Label, "/session/create"):
		return vocab.SessionCreateType
	case strings.HasSuffix(r.Label, "/session/load"):
		return vocab.SessionLoadType
	}
	return ""
}

func (t *tale) does(c *toldClient, m message, r transcript.Record) (lines []string, known bool) {
	who := "client " + c.name
	var id string
	_ = json.Unmarshal(m.AgentID, &id)
	if m.Type == vocab.SwitchAgentType && strings.HasPrefix(id, "fence-") {
		return t.absent(c), true
	}
	defer func() {
		if known {
			t.actor = c
		}
	}()
	switch m.Type {
	case vocab.SessionCreateType:
		return t.creates(c, m)
	case vocab.SessionLoadType:
		return t.loads(c, m)
	case vocab.SwitchAgentType:
		return t.switches(c, m, id, r.Bytes)
	case vocab.ChatType:
		return c.chats(m)
	case vocab.AbortType:
		if c.turn != "" {
			c.turn = "aborted"
		}
		c.refused = true
		return []string{who + " aborts"}, c.session != "" && m.SessionID == c.session
	case vocab.ConfirmationResponse, vocab.QuestionResponse:
		if c.turn != "asked" {
			return nil, false
		}
		lines = []string{who + map[bool]string{true: " confirms", false: " answers"}[m.Type == vocab.ConfirmationResponse]}
		if c.turn = "runs"; c.waits {
			c.turn, lines = "held", append(lines, fmt.Sprintf("the model is called again for %s", who))
		}
		return lines, true
	}
	return nil, false
}

// opens tells a connection. Of the first one, everything is told that the source demands of each.
func (t *tale) opens(c *toldClient, r transcript.Record) ([]string, bool) {
	who := "client " + c.name
	*c = toldClient{name: c.name, open: true}
	t.actor = c
	if _, query, has := strings.Cut(r.Label, "?"); has {
		if !quotable.MatchString(query) {
			return nil, false
		}
		return []string{fmt.Sprintf("%s has connected with the query %q", who, query),
			fmt.Sprintf("the list of %s names no current agent but the default one", who)}, true
	}
	if t.greeted {
		return []string{who + " connects", who + " receives the id of its connection",
			who + " receives the list of agents"}, true
	}
	t.greeted = true
	return []string{who + " connects", "the first event of " + who + ` is "connected"`,
		"the next event of " + who + ` is "agent_list"`, who + " receives the id of its connection",
		who + " is offered the built-in agents", "the list of " + who + " names its current agent, or null"}, true
}

// absent tells what a client must not have received since the last act.
func (t *tale) absent(c *toldClient) (lines []string) {
	who := "client " + c.name
	if t.actor == nil || !c.open {
		return nil
	}
	if t.actor != c && c.session != "" || t.actor == c && c.refused {
		lines = append(lines, who+` receives no "agent_switched"`)
	}
	return append(lines, who+` receives no "agent_list"`)
}

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
		if json.Unmarshal(m.InitialAgentID, &id) != nil || !t.latest[id] || !quotable.MatchString(id) {
			return nil, false
		}
		c.agent = fmt.Sprintf("%q", id)
		does += fmt.Sprintf(" with the initial agent %q", id)
	}
	return []string{does, who + " has its session"}, true
}

// loads tells that a client loads a session. While another client uses it, it may be refused.
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

// switches tells a switch, and what the source demands in answer.
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

// switching returns the step that sends a switch, and the codes with which it may be refused; none: it must not be.
func (t *tale) switching(c *toldClient, m message, id string, body []byte) (does string, codes []string) {
	who, plain := "client "+c.name, m.AgentID != nil && m.AgentID[0] == '"' && vocab.IDPattern.MatchString(id)
	switch {
	case m.AgentID == nil || m.AgentID[0] != '"', plain == false && strings.TrimSpace(id) == "" && id != "":
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
	var all map[string]json.RawMessage
	_ = json.Unmarshal(body, &all)
	for _, known := range []string{"type", "agentId", "sessionId", "connectionId"} {
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
			all["agentId"] = m.AgentID
		}
		fields, err := json.Marshal(all)
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

// chats tells a chat, by what it tells the model of the harness to do.
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

// question returns what the tool of a chat asks the user.
func (c *toldClient) question(m message) string {
	if strings.Contains(m.Content, "ask") || strings.Contains(m.Content, "question") {
		return "a question"
	}
	return "to confirm a tool"
}

// body tells a message that no other step sends, and that names no session. The step waits until it is dealt with: an
// answer that nobody awaits would be taken for that to what comes next.
func (t *tale) body(c *toldClient, r transcript.Record) ([]string, bool) {
	text := string(r.Bytes)
	if r.Cut > 0 || r.Type == "binary" || strings.ContainsAny(text, "\n\r") || strings.TrimSpace(text) != text ||
		strings.HasPrefix(r.Label, "POST") && !strings.HasSuffix(r.Label, "/message") || strings.HasPrefix(r.Label, "DELETE") {
		return nil, false
	}
	for id := range t.owners {
		if strings.Contains(text, id) {
			return nil, false
		}
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(r.Bytes, &m) == nil && m["connectionId"] != nil {
		delete(m, "connectionId") // that of the recorded connection
		kind, err := json.Marshal(m)
		if err != nil {
			return nil, false
		}
		text = string(kind)
	}
	t.actor, c.refused, c.agent = c, true, ""
	return []string{strings.TrimSpace(fmt.Sprintf("client %s sends the body %s", c.name, text))}, true
}
