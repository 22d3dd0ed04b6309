package orchestrator

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/defaults"
)

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
