package sessionchat

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonform"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transport/transcript"
)

var (
	tellable  = regexp.MustCompile(`^\w+$`)
	fences    = regexp.MustCompile(`^fence\d*-`)
	piecewise = regexp.MustCompile(`\[\[stream \S+ (\d+)\]\]`)
)

// tale is the state that the steps of a recording have reached so far.
type tale struct {
	clients  map[string]*toldClient
	sessions map[string]*toldSession // by agent_id
	names    map[string]bool
	actor    *toldClient // the client that acted last, except for fences
	about    string      // the session of the last act
}

type toldClient struct {
	name string
	open bool
	// replaced connections that will end
	former int
	left   string // how its connection ended, if no step covers it yet
}

type toldSession struct {
	name, client string
	chats        int
	answers      int  // turns that were converted as answered
	held         bool // its turn waits for the harness's model
	extra        bool // it received a chat meanwhile
	resumed      bool // one of its turns may still be ending
}

// CombinedSteps implements steps.RecordingConverter.
func (Protocol) CombinedSteps() []steps.Fold {
	const who = `client (?P<c>\w+)`
	return []steps.Fold{
		{Steps: []string{who + ` chats with (?P<s>"\w+")`, who + ` is answered by (?P<s>"\w+")`},
			By: `client $c has chatted with $s`},
		{Steps: []string{who + ` connects`, who + ` has chatted with (?P<s>"\w+")`}, By: `client $c has chatted with $s`},
		{Steps: []string{who + ` connects`, who + ` chats with (?P<rest>.+)`}, By: `client $c chats with $rest`},
		{Steps: []string{who + ` connects`, who + ` pings`}, By: `client $c pings`},
	}
}

// TargetDials implements steps.RecordingConverter.
func (Protocol) TargetDials(string) bool { return false }

// ConvertRecording implements steps.RecordingConverter. Conversations have names instead of agent_ids: the part before
// the first hyphen, if it is a distinct word. Fences that the harness sent to prove an absence become the steps about
// that absence.
func (Protocol) ConvertRecording(steps.ConvertedRecording) func(transcript.Record) ([]string, bool) {
	t := &tale{clients: map[string]*toldClient{}, sessions: map[string]*toldSession{}, names: map[string]bool{}}
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
		lines := t.departures()
		if r.Kind == transcript.Open {
			if c.open { // its former connection ends later
				c.former++
				t.loses(c)
			}
			c.open = true
			return append(lines, fmt.Sprintf("client %s connects", c.name)), true
		}
		more, known := t.sent(c, r)
		return append(lines, more...), known
	}
}

// departures returns the steps for connections that were closed since the last act. Those without a later act belong to
// the end of the recording.
func (t *tale) departures() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(t.clients)) {
		c := t.clients[name]
		if c.left == "" {
			continue
		}
		lines = append(lines, fmt.Sprintf("client %s %s", name, c.left))
		c.left = ""
		t.loses(c)
	}
	return lines
}

// loses notes that a client's turns have lost their connection.
func (t *tale) loses(c *toldClient) {
	for _, ss := range t.sessions {
		if ss.client == c.name && ss.held {
			ss.held, ss.extra, ss.resumed = false, false, true
		}
	}
}

func (t *tale) received(c *toldClient, r transcript.Record) (lines []string) {
	if r.Kind == transcript.Closed && c.former > 0 {
		c.former--
		return nil
	}
	if r.Kind == transcript.Closed {
		if c.open && strings.HasPrefix(r.Label, "closed by the harness") {
			c.left = "disconnects"
			if strings.Contains(r.Label, "reset") {
				c.left = "loses its connection"
			}
		}
		c.open = false
		return nil
	}
	var m struct {
		Kind  string `json:"message_type"`
		Agent string `json:"agent_id"`
	}
	_ = json.Unmarshal(r.Bytes, &m, jsonform.Lenient) // invalid JSON has no members
	if ss := t.sessions[m.Agent]; ss != nil && ss.held && m.Kind == vocab.ResultMessage {
		ss.held = false
		if ss.extra {
			ss.extra, ss.resumed = false, true
			return []string{fmt.Sprintf("the earlier turn of %q is released", ss.name),
				fmt.Sprintf("no turn of %q runs any more", ss.name)}
		}
		ss.answers++
		return []string{fmt.Sprintf("the turn of %q is released", ss.name),
			fmt.Sprintf("client %s is answered by %q", ss.client, ss.name)}
	}
	return nil
}

// session returns a conversation; nil if there is no id.
func (t *tale) session(id string) *toldSession {
	if ss := t.sessions[id]; ss != nil || id == "" {
		return ss
	}
	name, _, _ := strings.Cut(id, "-")
	for n := 1; !tellable.MatchString(name) || t.names[name]; n++ {
		name = fmt.Sprintf("talk%d", n)
	}
	ss := &toldSession{name: name}
	t.names[name], t.sessions[id] = true, ss
	return ss
}

func (t *tale) sent(c *toldClient, r transcript.Record) (lines []string, known bool) {
	var m struct {
		Type    string         `json:"type"`
		Agent   string         `json:"agent_id"`
		Content string         `json:"content"`
		Options jsontext.Value `json:"options"`
		Model   jsontext.Value `json:"model"`
	}
	who := "client " + c.name
	if json.Unmarshal(r.Bytes, &m, jsonform.Lenient) != nil {
		return nil, false
	}
	if m.Type == vocab.ChatType && fences.MatchString(m.Agent) {
		return t.absent(c), true
	}
	t.actor, t.about = c, m.Agent
	switch {
	case m.Type == vocab.PingType && m.Agent == "":
		return []string{who + " pings", who + " gets a pong"}, true
	case m.Type == vocab.InterruptType && m.Agent != "":
		return t.interrupts(c, t.session(m.Agent)), true
	case m.Type == vocab.ChatType && m.Agent != "" && m.Content != "" && m.Model == nil && m.Options == nil:
		return t.chats(c, t.session(m.Agent), m.Content)
	}
	return nil, false
}

// absent returns the steps about messages that a client must not have received since another client's act.
func (t *tale) absent(c *toldClient) []string {
	ss := t.sessions[t.about]
	if t.actor == nil || t.actor == c || ss == nil || ss.client == c.name || !c.open {
		return nil
	}
	return []string{fmt.Sprintf("client %s receives no message of the session %q", c.name, ss.name)}
}

func (t *tale) interrupts(c *toldClient, ss *toldSession) []string {
	lines := []string{fmt.Sprintf("client %s interrupts %q", c.name, ss.name)}
	if ss.held {
		ss.held = false
		return append(lines, fmt.Sprintf("the turn of %q is interrupted", ss.name))
	}
	return append(lines, fmt.Sprintf("the target has handled every message of client %s", c.name))
}

// chats returns the steps of a chat, by its directives for the harness's model.
func (t *tale) chats(c *toldClient, ss *toldSession, content string) ([]string, bool) {
	does := fmt.Sprintf("client %s chats with %q", c.name, ss.name)
	answered := fmt.Sprintf("client %s is answered by %q", c.name, ss.name)
	if ss.held {
		ss.extra = true
		return []string{does}, true // the source leaves open the effect of a second chat to a busy conversation
	}
	ss.client = c.name
	ss.chats++
	switch {
	case strings.Contains(content, "[[hold "):
		ss.held = true
		return []string{does + " in a turn that is held"}, true
	case strings.Contains(content, "[[fail "):
		return []string{does + " and the model fails", fmt.Sprintf("the turn of %q ends in any way", ss.name)}, true
	case piecewise.MatchString(content):
		return []string{does + " in a turn of " + piecewise.FindStringSubmatch(content)[1] + " pieces", answered,
			fmt.Sprintf("the pieces of %q come in order", ss.name)}, true
	case strings.Contains(strings.ReplaceAll(content, "[[echo ", ""), "[["):
		return nil, false
	case ss.resumed:
		ss.resumed = false
		return []string{fmt.Sprintf("client %s can chat with %q again", c.name, ss.name)}, true
	}
	lines := []string{does, answered}
	ss.answers++
	if ss.chats == 1 {
		return append(lines, fmt.Sprintf("%q is a new session", ss.name)), true
	}
	lines = append(lines, fmt.Sprintf("%q is the same session as before", ss.name))
	if ss.answers > 1 && strings.Contains(content, "[[echo ") { // the harness is the model
		lines = append(lines, fmt.Sprintf("the model was sent the earlier turns of %q", ss.name))
	}
	return lines, true
}
