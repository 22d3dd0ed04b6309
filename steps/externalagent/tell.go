package externalagent

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonform"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/transport/transcript"
)

var tellable = regexp.MustCompile(`^\w+$`)

// tale is the state that the steps of a recording have reached so far, if the harness is an agent.
type tale struct {
	relay   bool // the harness is also the host
	agents  map[string]*toldAgent
	session string // the first relay session
	names   map[string]string
}

type toldAgent struct {
	name           string
	open, host     bool
	joined, active bool
	left           string // how its connection ended, if no step covers it yet
	last           string // step
	calls          int
	had, returned  bool // it had a session, and lost its connection since
	opened, again  bool // it had a connection; it had another one

	asked string // the id of a snapshot.get before any session, whose answer is still to come
}

// spoken has the members that are read from messages.
type spoken struct {
	V       string         `json:"v"`
	ID      jsontext.Value `json:"id"`
	ReplyTo string         `json:"replyTo"`
	Type    string         `json:"type"`
	Payload struct {
		Role      string         `json:"role"`
		SessionID string         `json:"sessionId"`
		ToolName  string         `json:"toolName"`
		Params    jsontext.Value `json:"params"`
		Code      string         `json:"code"`
		OK        *bool          `json:"ok"`
	} `json:"payload"`
}

// CombinedSteps implements steps.RecordingConverter.
func (Protocol) CombinedSteps() []steps.Fold {
	const who = `agent (?P<a>\w+)`
	return []steps.Fold{
		{Steps: []string{who + ` connects`, who + ` is connected`, who + ` joins`, who + ` is told that it has joined`},
			By: `agent $a has joined`},
		{Steps: []string{who + ` has joined`, who + ` starts a session`, who + ` is told that the session has started`},
			By: `agent $a has a session`},
	}
}

// TargetDials implements steps.RecordingConverter: an agent connects to the harness.
func (Protocol) TargetDials(role string) bool { return role == vocab.Agent }

// ConvertRecording implements steps.RecordingConverter. If the target is an agent, the steps configure the deviations
// of the host, and require of the agent what the source demands.
func (Protocol) ConvertRecording(what steps.ConvertedRecording) func(transcript.Record) ([]string, bool) {
	if what.Role == vocab.Agent {
		t := &toldHost{}
		return t.take
	}
	t := &tale{relay: what.Role == vocab.Relay, agents: map[string]*toldAgent{}, names: map[string]string{}}
	return t.take
}

func (t *tale) take(r transcript.Record) ([]string, bool) {
	if r.Kind == "" || !tellable.MatchString(r.Conn) {
		return nil, r.Dir != transcript.Sent
	}
	a := t.agents[r.Conn]
	if a == nil {
		a = &toldAgent{name: r.Conn, host: t.relay && strings.HasPrefix(r.Conn, "host")}
		t.agents[r.Conn] = a
	}
	if a.host { // the harness plays it on its own
		return nil, true
	}
	if r.Dir != transcript.Sent {
		return a.received(r), true
	}
	lines := t.departures()
	if r.Kind == transcript.Open {
		*a = toldAgent{name: a.name, open: true, had: a.had, returned: a.had, again: a.again || a.opened, opened: true}
		return append(lines, "agent "+a.name+" connects", "agent "+a.name+" is connected"), true
	}
	var m spoken
	if json.Unmarshal(r.Bytes, &m, jsonform.Lenient) != nil || m.V != vocab.Version || len(m.ID) == 0 || m.ID[0] != '"' {
		return lines, false
	}
	more, known := t.sent(a, m)
	if len(more) > 0 && a.last == more[len(more)-1] && m.Type == vocab.SnapshotGet {
		a.asked = ""
		return lines, true // one look suffices
	}
	if len(more) > 0 {
		a.last = more[len(more)-1]
	}
	return append(lines, more...), known
}

// departures returns the steps for connections that were closed since the last act. Those without a later act belong to
// the end of the recording.
func (t *tale) departures() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(t.agents)) {
		if a := t.agents[name]; a.left != "" {
			lines = append(lines, fmt.Sprintf("agent %s %s", name, a.left))
			a.left = ""
		}
	}
	return lines
}

func (a *toldAgent) received(r transcript.Record) []string {
	if r.Kind == transcript.Closed {
		if a.open && strings.HasPrefix(r.Label, "closed by the harness") {
			a.left = "disconnects"
			if strings.Contains(r.Label, "reset") {
				a.left = "loses its connection"
			}
		}
		a.open, a.joined, a.active = false, false, false
		return nil
	}
	var m spoken
	_ = json.Unmarshal(r.Bytes, &m, jsonform.Lenient) // invalid JSON has no members
	if a.asked != "" && m.ReplyTo == a.asked {
		a.asked = ""
		switch {
		case m.Type == vocab.SnapshotState:
			return []string{"agent " + a.name + " gets a snapshot"}
		case m.Type == vocab.ErrorMessage && m.Payload.Code == vocab.SessionNotActive:
			return []string{fmt.Sprintf("agent %s is refused with %q", a.name, vocab.SessionNotActive)}
		}
		return nil
	}
	if m.Type == vocab.UserMessage && a.active {
		return []string{fmt.Sprintf("the participant speaks to agent %s, if the target supports it", a.name),
			fmt.Sprintf("agent %s receives the participant's message", a.name)}
	}
	return nil
}

// sent returns the steps of an agent.
func (t *tale) sent(a *toldAgent, m spoken) ([]string, bool) {
	who := "agent " + a.name
	switch {
	case m.Type == vocab.RelayJoin:
		return t.joins(a, m)
	case !a.joined:
		return nil, false
	case a.returned && (m.Type == vocab.SnapshotGet || m.Type == vocab.SessionStart):
		a.returned, a.active, a.calls = false, true, 2 // its session may continue where it was
		return []string{who + " resynchronises, or starts a session"}, true
	case a.returned:
		return nil, false
	case m.Type == vocab.SessionStart && !a.active:
		a.active, a.had, a.calls = true, true, 0
		return []string{who + " starts a session", who + " is told that the session has started"}, true
	case m.Type == vocab.SnapshotGet && a.active:
		return []string{who + " asks for a snapshot", who + " gets a snapshot"}, true
	case m.Type == vocab.SnapshotGet && !t.relay && !a.had:
		_ = json.Unmarshal(m.ID, &a.asked, jsonform.Lenient) // the source does not say how it is answered
		return []string{who + " asks for a snapshot"}, true
	case m.Type == vocab.ToolCall && a.active:
		return t.calls(a, m)
	case m.Type == vocab.AgentMessage && a.active:
		return t.passes(a, who+" sends the participant a message", who+"'s message is not refused"), true
	case m.Type == vocab.SessionEnd && a.active:
		a.active = false
		return t.passes(a, who+" ends the session", who+" is told that the session has ended"), true
	}
	return nil, false
}

// passes adds, for a relay, the step that it has forwarded everything.
func (t *tale) passes(a *toldAgent, lines ...string) []string {
	if t.relay && len(t.agents) <= 2 && !a.again { // one agent and its host, on one connection each
		lines = append(lines, fmt.Sprintf("the relay has passed on every message of agent %s and its host unchanged", a.name))
	}
	return lines
}

func (t *tale) joins(a *toldAgent, m spoken) ([]string, bool) {
	who, id := "agent "+a.name, m.Payload.SessionID
	if a.joined || m.Payload.Role != vocab.AgentRole || id == "" {
		return nil, false
	}
	if t.session == "" {
		t.session = id
	}
	for name, other := range t.agents { // a relay session may admit only one agent
		if name != a.name && other.joined && t.names[name] == id {
			return nil, false
		}
	}
	a.joined, t.names[a.name] = true, id
	if id == t.session {
		return []string{who + " joins", who + " is told that it has joined"}, true
	}
	name := fmt.Sprintf("other-%d", len(t.names))
	if rest, ok := strings.CutPrefix(id, t.session+"-"); ok && regexp.MustCompile(`^[\w-]+$`).MatchString(rest) {
		name = rest
	}
	return []string{fmt.Sprintf("%s joins the relay session %q", who, name), who + " is told that it has joined"}, true
}

// calls returns the steps of a call. Only the first call of a session certainly succeeds.
func (t *tale) calls(a *toldAgent, m spoken) ([]string, bool) {
	who := "agent " + a.name
	a.calls++
	switch tool := m.Payload.ToolName; {
	case tool == "" || !tellable.MatchString(tool):
		return nil, false
	case tool == noSuchTool:
		return t.passes(a, who+" calls a tool that does not exist",
			fmt.Sprintf("%s is refused with %q or %q", who, vocab.UnknownTool, vocab.NoActiveSpec)), true
	case a.calls == 1:
		return t.passes(a, who+" makes the first call of the booking", who+" is told that the call succeeded"), true
	default:
		return t.passes(a, fmt.Sprintf("%s calls %q", who, tool), who+" is told that the call succeeded"), true
	}
}

// toldHost is the state of the host in the recording of an agent.
type toldHost struct {
	stated        bool
	planned, last bool           // the message was planned by a scenario; it is the last such message
	calls         map[string]int // id → number, counted from 1 over those that succeed
	done          int
	open          int // the call that waits for its result
	departures    []string
}

// take collects the deviations of the host, whose steps are returned at the end: they precede the start of the agent.
func (t *toldHost) take(r transcript.Record) ([]string, bool) {
	switch {
	case r.Kind == "":
		return t.end(), true
	case r.Kind == transcript.Remark:
		t.planned, t.last = t.planned || r.Label == string(planning), t.last || r.Label == string(planned)
		return nil, true
	case r.Kind != transcript.Frame:
		return nil, true
	}
	var m spoken
	err := json.Unmarshal(r.Bytes, &m, jsonform.Lenient)
	var id string
	_ = json.Unmarshal(m.ID, &id, jsonform.Lenient)
	switch {
	case r.Dir == transcript.Received:
		if m.Type == vocab.ToolCall {
			if t.calls == nil {
				t.calls = map[string]int{}
			}
			t.open = t.done + 1
			t.calls[id] = t.open
		}
		return nil, true
	}
	on := t.planned
	if t.last { // it is the last planned message
		t.planned, t.last = false, false
	}
	if err == nil && t.replies(m, on) {
		return nil, true
	}
	return nil, t.junk(r, m, err)
}

// replies notes an act of a host, and reports whether a host may do that. An unplanned refusal is the answer to a
// mistake of the agent, as any host would give it.
func (t *toldHost) replies(m spoken, on bool) bool {
	n := t.calls[m.ReplyTo]
	switch m.Type {
	case vocab.StateUpdated:
		t.stated = true
	case vocab.ErrorMessage:
		if n > 0 && m.Payload.Code != "" && on {
			t.departures = append(t.departures, fmt.Sprintf("call %d is refused with %q", n, m.Payload.Code))
		}
	case vocab.ToolResult:
		if n == 0 {
			return false
		}
		ok := m.Payload.OK == nil || *m.Payload.OK
		if ok {
			t.done++
		} else if on {
			t.departures = append(t.departures, fmt.Sprintf("call %d is refused by a result with ok:false", n))
		}
		t.open = 0
	case vocab.RelayJoined, vocab.SessionStarted, vocab.SessionEnded, vocab.SnapshotState, vocab.UserMessage:
	default:
		return false
	}
	return true
}

// junk notes a message that no agent can understand; the label names it in the words of a step.
func (t *toldHost) junk(r transcript.Record, m spoken, err error) bool {
	if r.Label == "" || err == nil && r.Label == m.Type {
		return false
	}
	switch {
	case !t.stated:
		t.departures = append(t.departures, fmt.Sprintf("the host sends %s before the first state", r.Label))
	case t.open > 0:
		t.departures = append(t.departures, fmt.Sprintf("the host sends %s before the result of call %d", r.Label, t.open))
	default:
		t.departures = append(t.departures, fmt.Sprintf("the host sends %s after the first state", r.Label))
	}
	return true
}

func (t *toldHost) end() []string {
	lines := append([]string{"a host awaits the agent"}, slices.Compact(t.departures)...)
	lines = append(lines, "the agent is started")
	if len(t.departures) > 0 {
		return append(lines, "the agent continues")
	}
	return append(lines, "the agent completes the booking")
}
