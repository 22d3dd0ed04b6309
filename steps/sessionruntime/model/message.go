// Package model judges what an orchestrator publishes on its message bus. Model implements the life cycles of
// turns and transactions as the source describes them; every transcript is compared with it. Records are read as the
// binding decodes them: Data uses the names of the constants below, whatever the wire calls them.
//
// Source: session-runtime.zh.md, sections 2 and 4. Where it leaves something open, any choice is accepted here.
package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/internal/cut"
	vocab "parley/protocol/sessionruntime"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Members of a decoded message's Data. A member that the message lacks is absent.
const (
	ID          = "id"
	Session     = "session_id"
	Sender      = "sender" // as on the wire; From is the party
	From        = "from_party"
	Target      = "target"
	TargetID    = "target_id"
	Subtype     = "subtype"
	EventName   = "event"
	Payload     = "payload"
	Metadata    = "metadata"
	Trace       = "trace_id"
	Turn        = "turn_id"
	Tx          = "tx_id"
	Chunk       = "is_chunk"
	Final       = "final"
	TargetAgent = "target_agent"
	AgentID     = "agent_id"
	SwitchFrom  = "from"
	SwitchTo    = "to"
	Reason      = "reason"
	Trigger     = "trigger"
	Marks       = "marks" // names within metadata that are the binding's own: ids and routing marks
)

// Control frames of the harness, by the Type of their events.
const (
	SetupFrame  = "parley setup"
	ReadyFrame  = "parley ready"
	FenceFrame  = "parley fence"
	FencedFrame = "parley fenced"
)

// Back begins the label of a record in which the bus hands back a message that the orchestrator published.
const Back = "back: "

// Quiet begins the remark that a scenario has waited instead of using a fence; the rest is the number of the record
// after which nothing was sent during the wait.
const Quiet = "the quiet window after record "

// Past returns the remark that a limit of everything up to a record has expired, and everything has been handled since:
// the limit for "acknowledging an input" or "confirming a cancel".
func Past(limit string, record int) string {
	return fmt.Sprintf("the limit for %s has expired for everything up to record %d", limit, record)
}

var past = regexp.MustCompile(`^the limit for (.+) has expired for everything up to record (\d+)$`)

// InVain returns the remark that a scenario has waited in vain for what a duty requires; how says for how long, or why
// it cannot come any more.
func InVain(d Duty, how string) string {
	return fmt.Sprintf("in vain since record %d: %s: %s", d.After(), d.Kinds[0], how)
}

var inVain = regexp.MustCompile(`^in vain since record (\d+): ([^:]*): (.*)`)

// Anew is the remark that the bus was cut on purpose and reconnects: nothing from before is due any more, and no
// session is known until it is set up again.
const Anew = "the bus comes back after it was cut"

// Values of From: the parties. Any other value is an agent's id.
const (
	Frontend = vocab.FromFrontend
	Manager  = vocab.FromManager
	Self     = vocab.FromSession
	Logger   = vocab.FromLogger
)

// Message is one frame on the bus in the protocol's terms.
type Message struct {
	N         int // number of the record
	At        time.Duration
	Delivered bool // to the orchestrator; otherwise the orchestrator published it

	ID, Session, Event, Subtype, From, Target, TargetID string
	Trace, Turn, Tx                                     string
	Chunk, Final                                        bool
	Payload, Metadata                                   any
	TargetAgent, AgentID                                string
	Data                                                map[string]any
}

// Read returns the message of a record; false if it is not a message.
func Read(r transcript.Record) (Message, bool) {
	if r.Event == nil || r.Kind != transcript.Frame || strings.HasPrefix(r.Event.Type, "parley") {
		return Message{}, false
	}
	data, ok := r.Event.Data.(map[string]any)
	if !ok {
		return Message{}, false
	}
	text := func(name string) string { s, _ := data[name].(string); return s }
	if strings.HasPrefix(r.Label, Back) {
		data = maps.Clone(data)
		data[From] = Self
	}
	is := func(name string) bool { b, _ := data[name].(bool); return b }
	return Message{
		N: r.N, At: r.At, Delivered: r.Dir == transcript.Sent,
		ID: text(ID), Session: text(Session), Event: text(EventName), Subtype: text(Subtype), From: text(From),
		Target: text(Target), TargetID: text(TargetID), Trace: text(Trace), Turn: text(Turn), Tx: text(Tx),
		Chunk: is(Chunk), Final: is(Final), Payload: data[Payload], Metadata: data[Metadata],
		TargetAgent: text(TargetAgent), AgentID: text(AgentID), Data: data,
	}, true
}

// Record implements obligation.Message.
func (m Message) Record() int { return m.N }

// Time implements obligation.Message.
func (m Message) Time() time.Duration { return m.At }

// Title implements obligation.Message.
func (m Message) Title() string { return m.Name() }

// Name returns the message's event, subtype and target.
func (m Message) Name() string {
	name := strings.TrimSpace(m.Event + " " + m.Subtype)
	if m.Target != "" {
		name += " to " + strings.TrimSpace(m.Target+" "+m.TargetID)
	}
	return name
}

// is reports whether a message has the given event, subtype and target; "" matches any.
func (m Message) is(event, subtype, target string) bool {
	return (event == "" || m.Event == event) && (subtype == "" || m.Subtype == subtype) &&
		(target == "" || m.Target == target)
}

// echoes reports whether an answer carries the ids of the request that it answers. An answer sent before the request
// was published does not, and an orchestrator that matches by id may ignore it (RT-062).
func (m Message) echoes(asked Message) bool {
	return asked.N > 0 && (asked.Tx == "" || m.Tx == asked.Tx) && (asked.Turn == "" || m.Turn == asked.Turn)
}

// Kind is the kind of a published message, if a clause is about it.
type Kind string

// The kinds. Everything else is Other: no clause limits it.
const (
	Other         Kind = ""
	Route         Kind = "USER_INPUT to an agent"
	Accepted      Kind = "TURN_ACCEPTED"
	RouteTimeout  Kind = "ROUTE_TIMEOUT"
	Output        Kind = "AGENT_OUTPUT to the frontend"
	CancelSent    Kind = "CANCEL to an agent"
	Canceled      Kind = "CANCELED"
	Switch        Kind = "SWITCH_AGENT"
	RequestAdd    Kind = "REQUEST_ADD_AGENT"
	RequestRemove Kind = "REQUEST_REMOVE_AGENT"
	RequestOpen   Kind = "REQUEST_SESSION_OPEN"
	RequestClose  Kind = "REQUEST_SESSION_CLOSE"
	Added         Kind = "AGENT_ADDED"
	Removed       Kind = "AGENT_REMOVED"
	RemoveFailed  Kind = "REMOVE_AGENT_FAILED"
	Prompt        Kind = "HANDOVER_UI_PROMPT"
	Context       Kind = "HANDOVER_CONTEXT"
	Opened        Kind = "SESSION_OPENED"
	Closed        Kind = "SESSION_CLOSED"
	Failure       Kind = "ERROR to the frontend" // any other
	Notice        Kind = "EVENT to the frontend" // any other
)

var kinds = []struct {
	kind                   Kind
	event, subtype, target string
}{
	{Route, vocab.UserInput, "", vocab.ToAgent},
	{Accepted, vocab.Event, vocab.TurnAccepted, vocab.ToFrontend},
	{Accepted, vocab.Control, vocab.TurnAccepted, vocab.ToFrontend}, // RT-170
	{RouteTimeout, vocab.Error, vocab.RouteTimeout, vocab.ToFrontend},
	{Output, vocab.AgentOutput, "", vocab.ToFrontend},
	{CancelSent, vocab.Control, vocab.Cancel, vocab.ToAgent},
	{Canceled, vocab.Event, vocab.Canceled, vocab.ToFrontend},
	{Switch, vocab.Control, vocab.SwitchAgent, vocab.ToSystem},
	{Switch, vocab.Control, vocab.SwitchAgent, vocab.ToBroadcast},
	{Switch, vocab.Control, vocab.SwitchAgent, vocab.ToSession},
	{Switch, vocab.Control, vocab.SwitchAgent, vocab.ToFrontend},
	{RequestAdd, vocab.Control, vocab.RequestAddAgent, vocab.ToSystem},
	{RequestRemove, vocab.Control, vocab.RequestRemoveAgent, vocab.ToSystem},
	{RequestOpen, vocab.Control, vocab.RequestSessionOpen, vocab.ToSystem},
	{RequestClose, vocab.Control, vocab.RequestSessionClose, vocab.ToSystem},
	{Added, vocab.Event, vocab.AgentAdded, vocab.ToFrontend},
	{Removed, vocab.Event, vocab.AgentRemoved, vocab.ToFrontend},
	{RemoveFailed, vocab.Error, vocab.RemoveAgentFailed, vocab.ToFrontend},
	{Prompt, vocab.Control, vocab.HandoverUIPrompt, vocab.ToFrontend},
	{Context, vocab.Control, vocab.HandoverContext, vocab.ToAgent},
	{Opened, vocab.Event, vocab.SessionOpened, vocab.ToFrontend},
	{Closed, vocab.Event, vocab.SessionClosed, vocab.ToFrontend},
	{Failure, vocab.Error, "", vocab.ToFrontend},
	{Notice, vocab.Event, "", vocab.ToFrontend},
}

// Kind returns the kind of a published message.
func (m Message) Kind() Kind {
	for _, k := range kinds {
		if m.is(k.event, k.subtype, k.target) {
			return k.kind
		}
	}
	return Other
}

// mark matches the mark that the harness puts into the payload of every input and output, so that each is recognised
// wherever it is forwarded.
var mark = regexp.MustCompile(`#[0-9]+-[a-z0-9-]+`)

// Token returns the mark within a value; "" if there is none.
func Token(v any) string { return mark.FindString(wjson.Compact(v)) }

// PieceToken returns what a piece of an agent's output is recognised by: the mark in its payload, or, if there is none
// because the payload is empty, its turn.
func PieceToken(m Message) string {
	if token := Token(m.Payload); token != "" || m.Event != vocab.AgentOutput {
		return token
	}
	return "unmarked " + m.Turn
}

// Mentions reports whether a text occurs anywhere in a message's payload, metadata or ids.
func Mentions(m Message, text string) bool {
	return text != "" &&
		(mentions(m.Payload, text) || mentions(m.Metadata, text) || m.TargetID == text || m.AgentID == text)
}

// mentions reports whether a text occurs in a string within a value, member names excepted.
func mentions(v any, text string) bool {
	if text == "" {
		return false
	}
	switch v := v.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return mentions(e, text) })
	case map[string]any:
		for _, e := range v {
			if mentions(e, text) {
				return true
			}
		}
	}
	return false
}

func clip(v any) string {
	return cut.Head(wjson.Compact(v), 200)
}
