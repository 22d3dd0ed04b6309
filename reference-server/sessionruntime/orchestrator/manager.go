// Package orchestrator is the bundled SessionRuntime of the session-runtime protocol: the in-session orchestrator of
// session-runtime.zh.md as the project's rulings interpret it. It is a state machine for one session: messages go in,
// messages come out. It does no I/O and starts no goroutine (RT-021 to RT-025).
//
// New makes a Machine. OnMessage handles a message and returns the messages to publish. The caller drives the
// timeouts: Due returns the time of the next one, Tick executes it.
//
// # What is published
//
// Each event triggers a program: a list of Steps that the machine executes in order. These are the programs of the
// policy Correct, by scenario of section 4.
//
//	A  USER_INPUT               Route, Accept
//	   INPUT_ACK                Start, TellStarted
//	   no INPUT_ACK in time     Fail, TellRouteTimeout
//	B  USER_INPUT with mention  Activate, TellSwitch, Route, Accept
//	   SWITCH_AGENT             Activate, TellSwitch
//	C  CANCEL, INTERRUPT        Interrupt
//	   CANCEL_ACK or            Cancel, TellCanceled, Resume
//	   STREAM_STOPPED
//	   no CANCEL_ACK in time    TellCancelTimeout, Abandon
//	D  REMOVE_AGENT             Interrupt, Await, TellBegun, Request, Unbind, FallBack
//	   REMOVE_AGENT_DONE        TellDone
//	   REMOVE_AGENT_FAILED      TellFailed
//	E  INVITE_AGENT             Request, TellBegun
//	   ADD_AGENT_DONE           Register, TellDone
//	   ADD_AGENT_FAILED         TellFailed
//	F  HANDOVER_REQUEST         Prompt
//	   HANDOVER_CONFIRM         Activate, TellSwitch, GiveContext
//	   HANDOVER_REJECT          nothing
//	G  AGENT_OUTPUT, chunk      Speak, Forward                     before them Start, TellStarted if no ack came
//	   AGENT_OUTPUT, final      Forward, Complete                  the same
//	   AGENT_OUTPUT, other      Report
//	   ERROR                    Fail, Forward
//	H  SESSION_OPEN             Request
//	   SESSION_CLOSE            Interrupt, Await, Request
//	   SESSION_OPENED, CLOSED   TellDone
//	   SESSION_FAILED           TellFailed
//
// A refused message gets one ERROR to the frontend and changes nothing.
//
// The machine handles messages from the frontend and from SessionManager whose target is SYSTEM or SESSION; for
// agents also BROADCAST (RT-028, RT-042). Any sender but "frontend", "session_manager", "session" and "logger" is an
// agent, in the session or not. A message with the same id as an earlier one of the same sender is not handled again.
//
// # Where the document is silent
//
// Several turns may be in flight, even of one agent, and several may speak (RT-G05). A CANCEL with a turn_id is for
// that turn, one without is for the turn that spoke last. A turn that does not speak gets no CANCEL (RT-097, RT-G02);
// a repeated CANCEL has no effect while one is in flight.
//
// A final before the CANCEL_ACK is forwarded and completes the turn. The machine still awaits the ack: it triggers
// the one CANCELED, with status COMPLETED in its payload, and lets a removal or a close continue. An ack after
// CANCEL_TIMEOUT still cancels a turn that is in flight, but the transactions that waited for it have ended.
//
// A turn belongs to its agent until it ends, even if the agent leaves the session: its output is still forwarded,
// because 4G considers only turn and target. An ERROR without a turn_id is forwarded and fails no turn (RT-G06).
//
// Without an active agent, input goes to Options.Default, else to the agent longest in the session; this does not
// change the active agent (RT-070, RT-071). A removed active agent also falls back to the agent longest in the
// session (RT-G08). With no agent left, none is active: SWITCH_AGENT has "to": null. A mention of an absent agent is
// an ERROR (RT-087). A failed removal is not rolled back (RT-118). A new agent is not made active (RT-123).
//
// An ack or an answer without ids counts if it has only one possible meaning. Neither SessionManager's receipts nor
// prompts time out; Limits bounds the number of open ones.
//
// # Faulty orchestrators
//
// Each decision is a function of a Policy; Correct has the correct ones. Messages pass through Options.Inbound and
// Options.Outbound. Faulty orchestrators replace these, so this code contains no faults.
package orchestrator

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/defaults"
)

// handleReceipt handles SessionManager's answers. An unexpected one publishes nothing (RT-160).
func (m *Machine) handleReceipt(msg proto.Message) {
	tx := m.answeredTransaction(msg)
	if tx == nil {
		return
	}
	if Subtype(msg) == proto.AddAgentDone {
		if r := m.admitAgent(tx, msg); r != nil {
			m.closeTransaction(tx)
			m.publishError(r.Subtype, r.Text, object{"agent_id": orNull(tx.Agent)}, tx.requestIDs())
			return
		}
	}
	m.concludeTransaction(tx, msg)
}

// sendRequest sends a request to SessionManager (RT-020).
func (m *Machine) sendRequest(tx *transaction) {
	tx.Asked = true
	payload := object{"session_id": m.o.SessionID}
	subtype := ""
	switch tx.Kind {
	case proto.RemoveAgent:
		subtype = proto.RequestRemoveAgent
		payload["agent_id"], payload["reason"] = tx.Agent, cmp.Or(reasonOf(tx.Request), "the user removed the agent")
	case proto.InviteAgent:
		subtype = proto.RequestAddAgent
		payload["agent_spec"] = specOf(tx.Request)
		if tx.Agent != "" {
			payload["agent_id"] = tx.Agent
		}
	case proto.SessionOpen, proto.SessionClose:
		subtype = proto.RequestSessionOpen
		if tx.Kind == proto.SessionClose {
			subtype = proto.RequestSessionClose
		}
		payload = withMembers(payloadOf(tx.Request), payload)
	default:
		return
	}
	m.emitMessage(m.New(proto.Control, subtype, proto.ToSystem, "", payload, tx.requestIDs()))
}

// tellDone tells the frontend that a request was granted, with SessionManager's other data.
func (m *Machine) tellDone(tx *transaction, answer proto.Message) {
	says := object{"agent_id": tx.Agent, "agents": textList(m.agents)}
	event := ""
	switch tx.Kind {
	case proto.InviteAgent:
		event = proto.AgentAdded
	case proto.RemoveAgent:
		event = proto.AgentRemoved
	case proto.SessionOpen:
		event, says = proto.SessionOpened, object{"session_id": m.o.SessionID}
	case proto.SessionClose:
		event, says = proto.SessionClosed, object{"session_id": m.o.SessionID}
	default:
		return
	}
	m.publishEvent(event, withMembers(payloadOf(answer), says), tx.requestIDs())
}

// tellFailed tells the frontend that a request failed.
func (m *Machine) tellFailed(tx *transaction, answer proto.Message) {
	says := object{"agent_id": orNull(tx.Agent)}
	subtype := ""
	switch tx.Kind {
	case proto.InviteAgent:
		subtype = proto.AddFailed
	case proto.RemoveAgent:
		subtype = proto.RemoveAgentFailed
	case proto.SessionOpen, proto.SessionClose:
		subtype, says = proto.SessionFailed, object{"session_id": m.o.SessionID, "request": tx.Kind}
	default:
		return
	}
	why := cmp.Or(reasonOf(answer), "it gives no reason")
	m.publishError(subtype, "SessionManager could not do it: "+why, withMembers(payloadOf(answer), says),
		tx.requestIDs())
}

// Options configures a Machine. The zero value is a correct session without an id or agents.
type Options struct {
	SessionID string
	Agents    []string // in the session, longest first; the first remaining one is the fallback (4D)
	Active    string   // active_agent_id; "": none
	// takes the input while no agent is active (4A); default, also if it is absent: the first agent
	Default string

	InputAck  time.Duration // wait for an INPUT_ACK; default: DefaultAck
	CancelAck time.Duration // wait for a CANCEL_ACK; default: DefaultAck

	Now   func() time.Time // default: time.Now
	NewID func() string    // returns a new id at each call; default: random text

	Policy   Policy   // nil functions default to those of Correct
	Inbound  Inbound  // sees messages before the machine; may be nil
	Outbound Outbound // sees messages before they are published; may be nil

	// Dropped is told why a message has no effect and no answer, if its sender is probably mistaken; may be nil. Like
	// Inbound, it must not call methods of the Machine.
	Dropped func(msg proto.Message, why string)

	Limits Limits // zero fields default to DefaultLimits
}

// DefaultAck is the default wait for an ack (RT-G01).
const DefaultAck = 10 * time.Second

// Inbound sees an incoming message and returns the messages to handle instead; an empty result drops it. It may
// change the message itself, but not what is nested below payload and metadata.
//
// It is called while the machine works, so it must not call methods of the Machine.
type Inbound func(v View, msg proto.Message) []proto.Message

// Outbound sees an outgoing message and sends its replacements. send may be called any number of times, in this call
// or in a later call of Outbound, Inbound or the policy. Outbound may change the message and its metadata, but not
// what is nested below payload and metadata. Like Inbound, it must not call methods of the Machine.
type Outbound func(v View, msg proto.Message, send func(proto.Message))

// Limits bounds what a Machine keeps.
type Limits struct {
	Turns        int // in flight, or with a CANCEL in flight; another input is OVERLOADED
	Finished     int // remembered finished turns; output of older ones counts as that of an unknown turn
	Transactions int // open, not counting CANCELs; another is OVERLOADED
	Agents       int // in the session; another can't be invited, and its ADD_AGENT_DONE is an error
	Seen         int // remembered message ids, so that no message is handled twice
	Output       int // bytes (estimated) of output collected for handovers; the oldest output is dropped first
	ID           int // bytes of a turn_id, trace_id, tx_id or agent id; a longer one is INVALID_MESSAGE
}

// DefaultLimits are the default limits.
var DefaultLimits = Limits{
	Turns:        1000,
	Finished:     1000,
	Transactions: 250,
	Agents:       1000,
	Seen:         4000,
	Output:       1 << 20,
	ID:           1 << 10,
}

func (o Options) withDefaults() Options {
	defaults.Fill(&o.Limits, DefaultLimits)
	defaults.Fill(&o.Policy, Correct)
	o.InputAck, o.CancelAck = cmp.Or(o.InputAck, DefaultAck), cmp.Or(o.CancelAck, DefaultAck)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.Inbound == nil {
		o.Inbound = func(_ View, msg proto.Message) []proto.Message { return []proto.Message{msg} }
	}
	if o.Dropped == nil {
		o.Dropped = func(proto.Message, string) {}
	}
	if o.Outbound == nil {
		o.Outbound = func(_ View, msg proto.Message, send func(proto.Message)) { send(msg) }
	}
	return o
}

// Validate rejects a session or agent id that is empty or too long, an agent id that is reserved or repeated, an
// active or default agent that is not in the session, too many agents, and negative times. New accepts such options
// anyway, and treats an absent agent as none.
func (o Options) Validate() error {
	l := o.Limits
	defaults.Fill(&l, DefaultLimits)
	switch {
	case o.SessionID == "" || len(o.SessionID) > l.ID:
		return fmt.Errorf("session_id must have 1 to %d bytes", l.ID)
	case len(o.Agents) > l.Agents:
		return fmt.Errorf("a session has at most %d agents", l.Agents)
	case o.InputAck < 0 || o.CancelAck < 0:
		return fmt.Errorf("a limit in time can't be negative")
	}
	there := map[string]bool{}
	for _, id := range o.Agents {
		if err := l.agentID(id); err != nil {
			return err
		}
		if there[id] {
			return fmt.Errorf("agent %.80q is there twice", id)
		}
		there[id] = true
	}
	for _, id := range []string{o.Active, o.Default} {
		if id != "" && !there[id] {
			return fmt.Errorf("agent %.80q is not among the agents", id)
		}
	}
	return nil
}

// agentID checks the id of an agent. It becomes the sender of the agent's messages, so it can't be the name of
// another party.
func (l Limits) agentID(id string) error {
	if id == "" || len(id) > l.ID {
		return fmt.Errorf("the id of an agent must have 1 to %d bytes", l.ID)
	}
	if slices.Contains([]string{proto.FromFrontend, proto.FromManager, proto.FromSession, proto.FromLogger}, id) {
		return fmt.Errorf("%q is no agent", id)
	}
	return nil
}

// seen remembers the ids of the most recent messages. Different senders may use the same id; messages without an id
// are all distinct.
type seen struct {
	limit int
	set   map[digest]struct{}
	order []digest // a ring buffer once it is full
	next  int      // next position in the ring
}

// digest keeps ids of any length small.
type digest [sha256.Size]byte

func newSeen(limit int) seen { return seen{limit: limit, set: map[digest]struct{}{}} }

func digestOf(msg proto.Message) digest {
	return sha256.Sum256([]byte(msg.Sender + "\x00" + msg.ID))
}

func (s *seen) hasID(d digest) bool {
	_, has := s.set[d]
	return has
}

func (s *seen) addID(d digest) {
	if s.hasID(d) {
		return
	}
	s.set[d] = struct{}{}
	if len(s.order) < s.limit {
		s.order = append(s.order, d)
		return
	}
	delete(s.set, s.order[s.next])
	s.order[s.next] = d
	s.next = (s.next + 1) % s.limit
}

// collected bounds the total output that turns keep.
type collected struct {
	limit, bytes int
	pieces       []piece // oldest first
}

type piece struct {
	t     *turn
	bytes int
}

// addPiece records a piece of a turn's output, dropping the oldest pieces if necessary. A piece that does not fit is
// not kept.
func (c *collected) addPiece(t *turn, payload any) {
	p := piece{t, memorySize(payload)}
	if p.bytes > c.limit {
		return
	}
	t.Output = append(t.Output, payload)
	c.pieces = append(c.pieces, p)
	c.bytes += p.bytes
	for c.bytes > c.limit {
		oldest := c.pieces[0]
		oldest.t.Output = oldest.t.Output[1:]
		c.bytes -= oldest.bytes
		c.pieces[0] = piece{}
		c.pieces = c.pieces[1:]
	}
}

// memorySize estimates the memory of a value in bytes.
func memorySize(v any) int {
	const each = 64
	switch v := v.(type) {
	case string:
		return each + len(v)
	case []any:
		w := each
		for _, v := range v {
			w += memorySize(v)
		}
		return w
	case object:
		w := each
		for name, v := range v {
			w += len(name) + memorySize(v)
		}
		return w
	}
	return each
}
