package agentclient

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
	texts "parley/protocol/agentclient"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transport/transcript"
)

// tale is the state of a page and its server that the steps of a recording have reached so far.
type tale struct {
	open, streams    bool
	lost             bool // the server has ended the stream
	agents           []agent
	current          string // id
	session, waiting bool   // a switch of the user waits for its answer
	chosen           string // name of the agent that was chosen without a session
	typed            string
	sessions         int
	others           bool // another page is open: nothing after that is converted
}

// event is an event of the scripted server.
type event struct {
	Type string `json:"type"`
	Data struct {
		Agents          []toldAgent `json:"agents"`
		CurrentAgentID  *string     `json:"currentAgentId"`
		PreviousAgentID string      `json:"previousAgentId"`
		AgentName       string      `json:"agentName"`
		ErrorCode       string      `json:"errorCode"`
		Message         string      `json:"message"`
		Content         string      `json:"content"`
		Role            string      `json:"role"`
		Available       []toldAgent `json:"availableAgents"`
		Cancelled       bool        `json:"cancelled"`
	} `json:"data"`
}

type toldAgent struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// CombinedSteps implements steps.RecordingConverter.
func (Protocol) CombinedSteps() []steps.Fold {
	return []steps.Fold{
		{Steps: []string{`an open page`, `the page has an agent selector`, `the selector is a select element`},
			By: `an open page`},
		{Steps: []string{`an open page`, `the user connects`, `the page requests the event stream`,
			`the server sends connected`}, By: `a connected page without an agent list`},
		{Steps: []string{`a connected page without an agent list`,
			`the server lists the agents, with "General" current`,
			`the options are the agents`, `the selector is enabled`, `"General" is selected`}, By: `a connected page`},
		{Steps: []string{`a connected page`, `the page gets a session`}, By: `a page with a session`},
	}
}

// TargetDials implements steps.RecordingConverter: a page connects to the harness.
func (Protocol) TargetDials(string) bool { return true }

// ConvertRecording implements steps.RecordingConverter. It converts recordings of one page with the acts of its user.
// After the acts of the user and the events of the server come the reactions that the source requires of the page.
func (Protocol) ConvertRecording(steps.ConvertedRecording) func(transcript.Record) ([]string, bool) {
	t := &tale{}
	return func(r transcript.Record) ([]string, bool) {
		switch {
		case t.others:
			return nil, r.Dir != transcript.Sent
		case r.Kind == transcript.Open && r.Dir == transcript.Sent && !strings.Contains(r.Conn, " "):
			if t.others = t.open; t.others {
				return nil, false
			}
			t.open = true
			return []string{"an open page", "the page has an agent selector", "the selector is a select element"}, true
		case r.Kind == transcript.Act:
			return t.act(r)
		case r.Kind == transcript.Closed && strings.Contains(r.Conn, " api "):
			return t.closed(r), true
		case r.Dir == transcript.Sent && r.Kind == transcript.Stream:
			return t.said(r)
		}
		return nil, true
	}
}

// closed returns the steps for a stream that the server ended.
func (t *tale) closed(r transcript.Record) []string {
	if !t.streams || r.Dir != transcript.Sent {
		return nil
	}
	t.streams, t.lost, t.session, t.waiting = false, true, false, false
	how := "ends the stream"
	if strings.Contains(r.Label, "reset") {
		how = "resets the stream"
	}
	return append([]string{"the server " + how}, unconnected()...)
}

func unconnected() []string {
	return []string{"the selector is disabled",
		fmt.Sprintf("the only option is %q, and it is disabled", texts.Disconnected)}
}

// act returns the steps of a user's act.
func (t *tale) act(r transcript.Record) ([]string, bool) {
	name, chooses := strings.CutPrefix(r.Label, `the user chooses "`)
	switch {
	case chooses:
		return t.chooses(strings.TrimSuffix(name, `"`)), true
	case r.Label == "the user types the server's address":
		return nil, true
	case r.Label == "the user connects" && t.lost:
		return nil, true // the page reconnects
	case r.Label == "the user connects":
		return []string{r.Label, "the page requests the event stream"}, true
	case r.Label == "the user disconnects":
		t.streams, t.session, t.waiting, t.lost = false, false, false, true
		return append([]string{r.Label, "the page closes the stream"}, unconnected()...), true
	case r.Label == "the user asks for a new session":
		return t.newSession(r.Label), true
	case r.Label == "the user loads the first session":
		t.chosen = ""
		return []string{r.Label, "the page requests that session"}, true
	case r.Label == "the user types a message":
		var m struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(r.Bytes, &m, jsonform.Lenient)
		t.typed = m.Text
		return nil, true
	case r.Label == "the user sends it" && t.typed != "":
		return []string{fmt.Sprintf("the user has sent \"%s\"", t.typed)}, true
	case r.Label == "the user aborts":
		return []string{r.Label, "the page requests an abort"}, true
	}
	return nil, false
}

func (t *tale) newSession(label string) []string {
	t.session = true
	if t.chosen == "" && t.sessions == 0 {
		t.sessions++
		return []string{"the page gets a session"}
	}
	if t.sessions++; t.chosen == "" {
		return []string{label, "the page requests a session"}
	}
	asks := fmt.Sprintf("the page requests a session with the initial agent \"%s\"", t.chosen)
	t.current, t.chosen = t.idOf(t.chosen), ""
	return []string{label, asks}
}

// chooses returns the steps of a choice. Without a session it applies to the next one.
func (t *tale) chooses(name string) []string {
	does := fmt.Sprintf("the user chooses \"%s\"", name)
	id := t.idOf(name)
	switch {
	case id == "" || t.waiting || !t.streams || id == t.current:
		t.current = "" // the source does not say what is selected then
		return []string{does}
	case !t.session:
		t.chosen = name
		return []string{does, fmt.Sprintf("the page shows the prompt \"%s\"", fmt.Sprintf(texts.Preselected, name)),
			fmt.Sprintf("\"%s\" is selected", name)}
	}
	t.waiting = true
	return []string{does, fmt.Sprintf("the page requests a switch to \"%s\"", name), "the selector is disabled"}
}

func (t *tale) idOf(name string) string {
	for _, a := range t.agents {
		if a.name == name {
			return a.id
		}
	}
	return ""
}

func (t *tale) nameOf(id string) string {
	for _, list := range [][]agent{t.agents, known} {
		for _, a := range list {
			if a.id == id {
				return a.name
			}
		}
	}
	return ""
}

// said returns the steps of an event of the server.
func (t *tale) said(r transcript.Record) ([]string, bool) {
	var e event
	var body []byte
	for line := range strings.Lines(string(r.Bytes)) {
		if text, ok := strings.CutPrefix(line, "data:"); ok {
			body = append(body, text...)
		}
	}
	if json.Unmarshal(body, &e, jsonform.Lenient) != nil {
		return nil, len(body) == 0 // a comment, or the reconnection time
	}
	switch e.Type {
	case vocab.ConnectedEvent:
		t.streams = true
		if t.lost {
			t.lost, t.session = false, false
			return []string{"the page reconnects"}, true
		}
		return []string{"the server sends connected"}, true
	case vocab.AgentListEvent:
		return t.lists(e)
	case vocab.AgentSwitchedEvent:
		return t.switches(e)
	case vocab.ErrorEvent:
		return t.refuses(e)
	case vocab.CompleteEvent:
		return []string{fmt.Sprintf("the server ends the turn %s cancelled",
			map[bool]string{true: "with", false: "without"}[e.Data.Cancelled])}, true
	case vocab.MessageEvent:
		return []string{fmt.Sprintf("the server sends the chat message \"%s\"", e.Data.Content)},
			e.Data.Content != "" && !strings.ContainsAny(e.Data.Content, "\"\n")
	}
	return nil, false
}

// lists returns the steps of a list, and what the page must show of it.
func (t *tale) lists(e event) ([]string, bool) {
	t.agents, t.current = nil, ""
	for _, a := range e.Data.Agents {
		t.agents = append(t.agents, agent{id: a.ID, name: a.Name})
	}
	if e.Data.CurrentAgentID != nil {
		t.current = *e.Data.CurrentAgentID
	}
	does := t.listing()
	if does == "" {
		t.agents = nil
		return nil, false
	}
	lines := []string{does}
	switch {
	case t.waiting:
		return lines, true
	case len(t.agents) == 0:
		return append(lines, fmt.Sprintf("the only option is %q, and it is disabled", texts.NoAgents)), true
	case t.current == "":
		return append(lines, "the options are the agents"), true
	case t.nameOf(t.current) == "" || t.idOf(t.nameOf(t.current)) == "":
		return append(lines, fmt.Sprintf("the first option is \"%s\"", fmt.Sprintf(texts.StaleFormat, t.current))), true
	}
	return append(lines, "the options are the agents", "the selector is enabled",
		fmt.Sprintf("\"%s\" is selected", t.nameOf(t.current))), true
}

// listing returns the step that sends the list; "" if there is none.
func (t *tale) listing() string {
	same := func(a, b agent) bool { return a.id == b.id && a.name == b.name }
	current := ", with none current"
	if t.current != "" {
		current = fmt.Sprintf(", with \"%s\" current", t.current)
		if name := t.nameOf(t.current); name != "" {
			current = fmt.Sprintf(", with \"%s\" current", name)
		}
	}
	switch {
	case len(t.agents) == 0:
		return "the server lists no agents"
	case slices.EqualFunc(t.agents, usual, same):
		return "the server lists the agents" + current
	}
	var quoted []string
	table := "the server lists these agents, with the first one current:"
	for _, a := range t.agents {
		if strings.ContainsAny(a.id+a.name, "\"|\\\n") {
			return ""
		}
		if (&page{}).called(a.name).id == a.id {
			quoted = append(quoted, fmt.Sprintf("\"%s\"", a.name))
		}
		table += fmt.Sprintf("\n| %s | %s |", a.id, a.name)
	}
	switch {
	case len(quoted) < len(t.agents) && t.current == t.agents[0].id:
		return table
	case len(quoted) < len(t.agents):
		return ""
	case len(quoted) == 1:
		return "the server lists " + quoted[0] + current
	}
	last := len(quoted) - 1
	return "the server lists " + strings.Join(quoted[:last], ", ") + " and " + quoted[last] + current
}

// switches returns the steps of a switch by the server.
func (t *tale) switches(e event) ([]string, bool) {
	to := ""
	if e.Data.CurrentAgentID != nil {
		to = *e.Data.CurrentAgentID
	}
	name, from := t.nameOf(to), t.nameOf(e.Data.PreviousAgentID)
	if name == "" || t.idOf(name) == "" || strings.ContainsAny(e.Data.AgentName+e.Data.PreviousAgentID, "\"\n") {
		return nil, false
	}
	does := fmt.Sprintf("the server switches to \"%s\"", name)
	switch {
	case e.Data.AgentName != name:
		does += fmt.Sprintf(" under the name \"%s\"", e.Data.AgentName)
	case from == "" || t.idOf(from) == "":
		from = e.Data.PreviousAgentID
		does = fmt.Sprintf("the server switches from the id \"%s\" to \"%s\"", from, name)
	case e.Data.PreviousAgentID != t.current:
		does = fmt.Sprintf("the server switches from \"%s\" to \"%s\"", from, name)
	}
	if from == "" {
		from = e.Data.PreviousAgentID
	}
	t.current, t.waiting = to, false
	return []string{does, fmt.Sprintf("\"%s\" is selected", name), "the selector is enabled",
		fmt.Sprintf("the chat announces the switch from \"%s\" to \"%s\"", from, e.Data.AgentName),
		`the log shows an entry "agent_switched"`}, true
}

// refuses returns the steps of an error.
func (t *tale) refuses(e event) ([]string, bool) {
	code, said := e.Data.ErrorCode, e.Data.Message
	if strings.ContainsAny(said, "\"\n") {
		return nil, false
	}
	was := t.waiting
	t.waiting = false
	does := fmt.Sprintf("the server refuses with %q and the message \"%s\"", code, said)
	shows := "the page shows the server's message"
	if code == vocab.AgentNotFound {
		does = t.available(e, does)
	} else if prompt := map[string]string{vocab.InvalidAgentID: texts.EmptyIDPrompt,
		vocab.InvalidAgentIDFormat: texts.FormatIDPrompt, vocab.AgentBusy: texts.BusyPrompt,
		vocab.SessionNotFound: texts.NoSessionPrompt}[code]; prompt != "" {
		shows = fmt.Sprintf("the page shows the prompt \"%s\"", prompt)
	} else {
		return nil, false
	}
	lines := []string{does}
	if was && len(t.agents) > 0 {
		lines = append(lines, shows, "the selector is enabled")
		if name := t.nameOf(t.current); t.current != "" && t.idOf(name) != "" {
			lines = append(lines, fmt.Sprintf("\"%s\" is selected", name))
		}
	}
	return lines, true
}

// available returns the step of a refusal that lists agents, which replace those of the last list.
func (t *tale) available(e event, usual string) string {
	same := func(a agent, b toldAgent) bool { return a.id == b.ID && a.name == b.Name }
	if slices.EqualFunc(t.agents, e.Data.Available, same) {
		return usual
	}
	if e.Data.Available == nil {
		return `the server refuses with "agent_not_found" and no availableAgents`
	}
	t.agents = nil
	var quoted []string
	for _, a := range e.Data.Available {
		t.agents = append(t.agents, agent{id: a.ID, name: a.Name})
		quoted = append(quoted, fmt.Sprintf("\"%s\"", a.Name))
	}
	switch last := len(quoted) - 1; last {
	case -1:
		return `the server refuses with "agent_not_found" and empty availableAgents`
	case 0:
		return `the server refuses with "agent_not_found" and availableAgents ` + quoted[0]
	default:
		return `the server refuses with "agent_not_found" and availableAgents ` + strings.Join(quoted[:last], ", ") +
			" and " + quoted[last]
	}
}
