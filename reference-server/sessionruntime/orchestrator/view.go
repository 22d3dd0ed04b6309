package orchestrator

import (
	"slices"
	"time"

	proto "parley/protocol/sessionruntime"
)

// Status is the status of a turn (2.2).
type Status string

// The statuses.
const (
	Routing   Status = "ROUTING"
	Running   Status = "RUNNING"
	Completed Status = "COMPLETED"
	Failed    Status = "FAILED"
	Canceled  Status = "CANCELED"
)

// InFlight reports whether a turn of that status has not ended.
func (s Status) InFlight() bool { return s == Routing || s == Running }

// Turn is the record of one turn (2.2).
type Turn struct {
	ID, TraceID string
	RequestedBy string // user_id of the input, else its sender
	Agent       string // target_agent_id
	Status      Status
	Waiting     string // the awaited ack, proto.InputAck or proto.CancelAck; "" if none
	CancelSent  bool   // and not acknowledged, even if the wait has timed out
	Speaking    bool
	CreatedAt   time.Time
	LastOutput  time.Time // zero before the first output
	Output      []any     // forwarded payloads, oldest first, within Limits.Output
}

// Transaction is a chain of actions that awaits an answer (2.3).
type Transaction struct {
	ID, TraceID string // TraceID: "" if the request has none
	// the subtype that began it: proto.RemoveAgent, InviteAgent, HandoverRequest, SessionOpen, SessionClose
	Kind    string
	Agent   string        // removed, invited ("" if the request names none), or handover target
	From    string        // the agent that hands over
	TurnID  string        // of the request, or of the turn whose output a handover passes on; "" if none
	Asked   bool          // the request or the prompt was sent, so an answer can arrive
	Request proto.Message // the message that began it
}

// View is a machine's state (2). It is valid only during the call that receives it and must not be changed.
type View interface {
	SessionID() string
	Now() time.Time

	Active() string        // active_agent_id; "": none
	Default() string       // the agent that takes the input while none is active; "": none
	Agents() []string      // agents_in_session, longest first
	Has(id string) bool    // whether the agent is one of them
	Speaking() []string    // ids of the speaking turns, the last one spoke last
	Interruptible() bool   // user_interruptible: a turn is speaking
	SpeakingAgent() string // speaking_agent_id: the agent of the turn that spoke last; "": none

	Turn(id string) (Turn, bool)   // the zero Turn if unknown or forgotten
	Turns() []Turn                 // in flight, or with a CANCEL in flight, oldest first
	Transactions() []Transaction   // open, oldest first
	LastOutput(agent string) []any // output of the agent's turn that spoke last

	// New makes a message of the machine with a new id, sender and timestamp, and the non-empty ids in its metadata.
	New(event, subtype, target, targetID string, payload any, ids IDs) proto.Message

	// Send publishes a message, bypassing Outbound. Correct never does.
	Send(msg proto.Message)
}

// IDs are the ids in a message's metadata; "" means none.
type IDs struct{ Trace, Turn, Tx string }

func (ids IDs) idMetadata() map[string]any {
	m := make(map[string]any, 3)
	put := func(name, id string) {
		if id != "" {
			m[name] = id
		}
	}
	put(proto.TraceID, ids.Trace)
	put(proto.TurnID, ids.Turn)
	put(proto.TxID, ids.Tx)
	return m
}

var _ View = (*Machine)(nil)

// SessionID implements View.
func (m *Machine) SessionID() string { return m.o.SessionID }

// Now implements View: the time of the current message or timeout.
func (m *Machine) Now() time.Time { return m.now }

// Active implements View.
func (m *Machine) Active() string { return m.active }

// Default implements View.
func (m *Machine) Default() string {
	switch {
	case m.Has(m.o.Default):
		return m.o.Default
	case len(m.agents) > 0:
		return m.agents[0]
	}
	return ""
}

// Agents implements View.
func (m *Machine) Agents() []string { return slices.Clone(m.agents) }

// Has implements View.
func (m *Machine) Has(id string) bool { return slices.Contains(m.agents, id) }

// Speaking implements View.
func (m *Machine) Speaking() []string {
	ids := make([]string, len(m.speaking))
	for i, t := range m.speaking {
		ids[i] = t.ID
	}
	return ids
}

// Interruptible implements View.
func (m *Machine) Interruptible() bool { return len(m.speaking) > 0 }

// SpeakingAgent implements View.
func (m *Machine) SpeakingAgent() string {
	if len(m.speaking) == 0 {
		return ""
	}
	return m.speaking[len(m.speaking)-1].Agent
}

// Turn implements View.
func (m *Machine) Turn(id string) (Turn, bool) {
	if t := m.turns[id]; t != nil {
		return t.Turn, true
	}
	return Turn{}, false
}

// Turns implements View.
func (m *Machine) Turns() []Turn {
	all := make([]Turn, len(m.open))
	for i, t := range m.open {
		all[i] = t.Turn
	}
	return all
}

// Transactions implements View.
func (m *Machine) Transactions() []Transaction {
	all := make([]Transaction, len(m.txs))
	for i, tx := range m.txs {
		all[i] = tx.Transaction
	}
	return all
}

// LastOutput implements View.
func (m *Machine) LastOutput(agent string) []any {
	if t := m.lastTurn(agent); t != nil {
		return slices.Clone(t.Output)
	}
	return nil
}
