package agentselect

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonform"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transport/transcript"
)

var (
	tellable = regexp.MustCompile(`^\w+$`)
	quotable = regexp.MustCompile(`^[^"\n\r\\<>]+$`)
)

// tale is the state that the steps of a recording have reached so far.
type tale struct {
	clients map[string]*toldClient
	owners  map[string]*toldClient // session → the client that had it last
	latest  map[string]bool        // agents of the last list
	actor   *toldClient            // the client that acted last
	proved  bool                   // a switch that must succeed was converted: only then does a refusal prove anything
	greeted bool
}

// toldClient is the state of a client that the steps of a recording have reached so far.
type toldClient struct {
	name    string
	open    bool
	left    bool // its connection is closed, but no step covers it yet
	session string
	deleted string
	agent   string // as a step names it; "": unknown
	turn    string // "", "held", "asked", "runs" or "aborted"
	// two connections have requested its session, and the source does not say which one has it
	contested bool

	waits   bool   // the model waits after its question to the user
	refused bool   // its last act must be refused, or the source leaves that open
	asked   string // the request that its next session_created answers
}

// message has the members that are read from messages in either direction.
type message struct {
	Type           string         `json:"type"`
	AgentID        jsontext.Value `json:"agentId"`
	SessionID      string         `json:"sessionId"`
	InitialAgentID jsontext.Value `json:"initialAgentId"`
	Content        string         `json:"content"`
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

// CombinedSteps implements steps.RecordingConverter.
func (Protocol) CombinedSteps() []steps.Fold {
	const who, session = `client (?P<c>\w+)`, ` has a session`
	return []steps.Fold{
		{Steps: []string{who + ` creates a session`, who + ` has its session`}, By: `client $c` + session},
		{Steps: []string{who + ` connects`, who + ` receives the id of its connection`, who + ` receives the list of agents`,
			who + session}, By: `client $c` + session},
		{Steps: []string{who + ` connects`, who + session}, By: `client $c` + session},
		{Steps: []string{who + session, who + ` switches to (?P<a>"[\w-]+")`,
			who + ` is switched from .+ to (?P<a>"[\w-]+")`}, By: `client $c has switched to $a`},
		{Steps: []string{who + ` connects`, who + ` has switched to (?P<a>"[\w-]+")`}, By: `client $c has switched to $a`},
		{Steps: []string{who + ` chats`, who + ` is answered and its turn ends`}, By: `client $c has chatted`},
	}
}

// TargetDials implements steps.RecordingConverter.
func (Protocol) TargetDials(string) bool { return false }

// ConvertRecording implements steps.RecordingConverter. It recognises messages by their names in the document, not by
// names that a profile maps them to. If a recording contains the fence of a step that proves an absence, that step is
// returned.
func (Protocol) ConvertRecording(steps.ConvertedRecording) func(transcript.Record) ([]string, bool) {
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

// departures returns the steps for connections that were closed since the last act. Those without a later act belong to
// the end of the recording.
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
	_ = json.Unmarshal(r.Bytes, &m, jsonform.Lenient) // invalid JSON has no members
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

// ends returns the steps for a turn that ended without being awaited.
func (c *toldClient) ends() []string {
	ends := fmt.Sprintf("the turn of client %s ends", c.name)
	switch c.turn {
	case "held":
		return []string{c.continues(), ends}
	case "runs", "aborted":
		return []string{ends}
	}
	return nil
}

func (c *toldClient) continues() string {
	return fmt.Sprintf("the model lets the turn of client %s continue", c.name)
}

// sent returns the steps of a client's act.
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
	if json.Unmarshal(r.Bytes, &m, jsonform.Lenient) != nil {
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

// kindOf returns the kind of a message that is determined by its endpoint.
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
	_ = json.Unmarshal(m.AgentID, &id, jsonform.Lenient)
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

// opens returns the steps of a connection. For the first one, they include everything that the source requires of each.
func (t *tale) opens(c *toldClient, r transcript.Record) ([]string, bool) {
	who := "client " + c.name
	*c = toldClient{name: c.name, open: true}
	t.actor = c
	if _, query, has := strings.Cut(r.Label, "?"); has {
		if !quotable.MatchString(query) {
			return nil, false
		}
		return []string{fmt.Sprintf("%s has connected with the query %q", who, query),
			fmt.Sprintf("the list of %s names the default agent as current, or none", who)}, true
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

// absent returns the steps about messages that a client must not have received since the last act.
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
