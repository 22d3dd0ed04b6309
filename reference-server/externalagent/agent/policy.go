package agent

import proto "parley/protocol/externalagent"

// Policy makes a faulty agent. Most functions get the right decision as their last argument; all return the one that
// holds. Without a function the right one does. They are called by one goroutine.
type Policy struct {
	// MayTalk reports whether anything but relay.join may be sent now (EA-026, EA-028).
	MayTalk func(v View) bool

	// Reconnect reports whether there will be another connection after this one.
	Reconnect func(v View) bool

	// ID is the id of a message of that type, the nth one that has an id, from 1.
	ID func(v View, kind string, n int, id string) any

	// Accept judges whether an object is an envelope; "" accepts it (EA-019 to EA-024).
	Accept func(v View, msg Message, problem string) string

	// Strange decides what is done about a message that the agent can't use.
	Strange func(v View, o Oddity, r Reaction) Reaction

	// Resync reports whether snapshot.get is sent for that reason before anything else is done (EA-076, EA-077).
	Resync func(v View, why Occasion, resync bool) bool

	// State is what the next call is chosen from (EA-072).
	State func(v View, s State) State

	// Settled reports whether the state that v.Call led to is known. It is called once the call is confirmed (EA-051,
	// EA-054).
	Settled func(v View, settled bool) bool

	// Choose is the next call (EA-033 to EA-035).
	Choose func(v View, s State, c Call) Call

	// Failed decides what is done about a request that an error answered, or a tool.result with ok:false (EA-078 to
	// EA-083).
	Failed func(v View, f Failure, r Remedy) Remedy
}

// right changes no decision.
var right = Policy{
	MayTalk:   func(v View) bool { return v.Joined },
	Reconnect: func(View) bool { return true },
	ID:        func(_ View, _ string, _ int, id string) any { return id },
	Accept:    func(_ View, _ Message, problem string) string { return problem },
	Strange:   func(_ View, _ Oddity, r Reaction) Reaction { return r },
	Resync:    func(_ View, _ Occasion, resync bool) bool { return resync },
	State:     func(_ View, s State) State { return s },
	Settled:   func(_ View, settled bool) bool { return settled },
	Choose:    func(_ View, _ State, c Call) Call { return c },
	Failed:    func(_ View, _ Failure, r Remedy) Remedy { return r },
}

// View is what a Machine knows. The values that it refers to must not be changed.
type View struct {
	Connection int    // number of this connection, or of the last one, from 1; 0 before the first
	Joined     bool   // relay.joined has come on it
	Active     bool   // a study session is active, as far as is known
	Session    string // its id; "" while it is not known
	Calls      int    // tool.calls sent in the study session
	Made       int    // tool.calls sent in the run

	Last    State          // the last authoritative state
	Call    *Called        // the call whose answer or state is awaited; nil if none
	Result  map[string]any // payload of the last tool.result; nil if none
	Awaited *Request       // the request whose answer is awaited; nil if none
}

// State is the state in a state.updated or a snapshot.state. The zero State is the one before the first message.
type State struct {
	Serial  int            // of the authoritative states, from 1
	UISpec  map[string]any // nil while nothing is shown
	Tools   []proto.Tool   // as announced
	History []any

	key stateKey // of a state from the host; zero in others
}

// Request is a message that is answered.
type Request struct {
	ID   string
	Type string
}

// Call is a tool.call.
type Call struct {
	Tool   string
	Params any // an object, in a correct agent
	Reason string
}

// Called is a call that has been sent.
type Called struct {
	Call
	ID       string
	Before   State // the last authoritative state when it was sent
	Answered bool  // confirmed by a tool.result
	Overdue  bool  // not answered in time
}

// Occasion is why a snapshot might be asked for.
type Occasion string

// The occasions.
const (
	SessionBegins Occasion = "the session has begun"
	Reconnected   Occasion = "the connection is new"
	NoUpdate      Occasion = "no changed state has followed a call"
	NoAnswer      Occasion = "an answer is missing"
	NothingShown  Occasion = "nothing is shown"
	NothingLeft   Occasion = "no call is left to try"
	CallConfirmed Occasion = "a call is confirmed" // Correct awaits state.updated
)

// Oddity is a message that the agent can't use.
type Oddity struct {
	Kind    OddityKind
	Why     string
	Data    []byte  // unless it is a JSON object
	Message Message // if it is one
}

// OddityKind is what is wrong with a message.
type OddityKind string

// The kinds of oddities.
const (
	NoText      OddityKind = "a binary frame"
	NoObject    OddityKind = "not a JSON object"
	NoEnvelope  OddityKind = "not an envelope"
	UnknownType OddityKind = "of an unknown type"
	Unasked     OddityKind = "an answer to nothing"
	Useless     OddityKind = "without the members that its type needs"
)

// Reaction is what is done about an oddity.
type Reaction int

// The reactions.
const (
	Ignore Reaction = iota
	Redial          // leave the connection, and make another
	Die             // leave it, and end the run with an error
)

// Failure is a request that failed.
type Failure struct {
	Request Request
	Code    string // "" if there is none
	Text    string
}

// Remedy is what is done about a failure.
type Remedy int

// The remedies.
const (
	TryAnother  Remedy = iota // of a tool.call: another one. Of another request: the same, after a pause
	TryAgain                  // the same request
	Restart                   // session.start
	Synchronise               // snapshot.get
	ShowNothing               // go on as if a state said that nothing is shown
	TakeAsDone                // go on as if the request had succeeded
	Reopen                    // another connection
	Despair                   // end the run with an error
)
