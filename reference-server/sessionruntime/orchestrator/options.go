package orchestrator

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	proto "parley/protocol/sessionruntime"
)

// Options configures a Machine. The zero value is a session without id and agents that behaves correctly.
type Options struct {
	SessionID string
	Agents    []string // in the session, longest first: the first that remains is the fallback (4D)
	Active    string   // active_agent_id; "": none
	// takes the input while no agent is active (4A); the first agent without it, or while it is not there
	Default string

	InputAck  time.Duration // how long an INPUT_ACK is waited for; DefaultAck without it
	CancelAck time.Duration // how long a CANCEL_ACK is waited for; DefaultAck without it

	Now   func() time.Time // time.Now without it
	NewID func() string    // a fresh id at each call; random text without it

	Policy   Policy   // where it decides nothing, Correct does
	Inbound  Inbound  // sees messages before the machine does; may be nil
	Outbound Outbound // sees messages before they are published; may be nil

	Limits Limits // DefaultLimits for fields that are zero
}

// DefaultAck is how long an ack is waited for where Options does not say (RT-G01).
const DefaultAck = 10 * time.Second

// Inbound sees a message that came in, and returns the messages to handle in its place: none drops it. The message
// belongs to it but for what stands below payload and metadata, which it may not change in place.
//
// It is called while the machine works, so it may call no method of the Machine.
type Inbound func(v View, msg proto.Message) []proto.Message

// Outbound sees a message on its way out, and sends what is to be published in its place. send may be called any number
// of times, in this call or in a later one of Outbound, Inbound or the policy. The message and its metadata belong to
// Outbound, but what stands below payload and metadata may not be changed in place. Called like Inbound.
type Outbound func(v View, msg proto.Message, send func(proto.Message))

// Limits bounds what a Machine keeps.
type Limits struct {
	Turns        int // in flight, or with a CANCEL in flight; one more input is OVERLOADED
	Finished     int // finished turns that are remembered; output of older ones is that of an unknown turn
	Transactions int // open, besides CANCELs; one more is OVERLOADED
	Agents       int // in the session; one more is not invited, or its ADD_AGENT_DONE is an error
	Seen         int // ids of messages that are remembered, so that none is handled twice
	Output       int // bytes of output that are collected for handovers (estimated); the oldest go first
	ID           int // bytes of a turn_id, trace_id, tx_id or agent id; more is INVALID_MESSAGE
}

// DefaultLimits are the limits that hold where Options names none.
var DefaultLimits = Limits{
	Turns:        1000,
	Finished:     1000,
	Transactions: 250,
	Agents:       1000,
	Seen:         4000,
	Output:       1 << 20,
	ID:           1 << 10,
}

func (l Limits) withDefaults() Limits {
	l.Turns = cmp.Or(l.Turns, DefaultLimits.Turns)
	l.Finished = cmp.Or(l.Finished, DefaultLimits.Finished)
	l.Transactions = cmp.Or(l.Transactions, DefaultLimits.Transactions)
	l.Agents = cmp.Or(l.Agents, DefaultLimits.Agents)
	l.Seen = cmp.Or(l.Seen, DefaultLimits.Seen)
	l.Output = cmp.Or(l.Output, DefaultLimits.Output)
	l.ID = cmp.Or(l.ID, DefaultLimits.ID)
	return l
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.withDefaults()
	o.InputAck, o.CancelAck = cmp.Or(o.InputAck, DefaultAck), cmp.Or(o.CancelAck, DefaultAck)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	o.Policy = o.Policy.withDefaults()
	if o.Inbound == nil {
		o.Inbound = func(_ View, msg proto.Message) []proto.Message { return []proto.Message{msg} }
	}
	if o.Outbound == nil {
		o.Outbound = func(_ View, msg proto.Message, send func(proto.Message)) { send(msg) }
	}
	return o
}

// Validate tells what is wrong with the session: an id that is empty, too long or somebody else's name, an agent that
// is there twice, an active or default agent that is not there, too many agents, a negative time. New takes such
// options all the same, and counts an absent agent as none.
func (o Options) Validate() error {
	l := o.Limits.withDefaults()
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

// agentID judges the id of an agent. It is the sender of what the agent says, so it can't be the name of another party.
func (l Limits) agentID(id string) error {
	if id == "" || len(id) > l.ID {
		return fmt.Errorf("the id of an agent must have 1 to %d bytes", l.ID)
	}
	if slices.Contains([]string{proto.FromFrontend, proto.FromManager, proto.FromSession, proto.FromLogger}, id) {
		return fmt.Errorf("%q is no agent", id)
	}
	return nil
}
