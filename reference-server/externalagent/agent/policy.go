package agent

import proto "parley/protocol/externalagent"

// Policy makes a faulty agent. Most functions get the correct decision as their last argument; all return the one to
// use. A nil function keeps the correct one. They are called by one goroutine.
type Policy struct {
	// MayTalk reports whether anything besides relay.join may be sent now (EA-026, EA-028).
	MayTalk func(v View) bool

	// Reconnect reports whether to reconnect after this connection.
	Reconnect func(v View) bool

	// ID returns the id of the nth message (from 1) with an id.
	ID func(v View, kind string, n int, id string) any

	// Accept returns why an object is not an envelope; "" accepts it (EA-019 to EA-024).
	Accept func(v View, msg Message, problem string) string

	// Strange decides how to react to a message that the agent can't use.
	Strange func(v View, o Oddity, r Reaction) Reaction

	// Resync reports whether to send snapshot.get for this reason before anything else (EA-076, EA-077).
	Resync func(v View, why Occasion, resync bool) bool

	// State returns the state from which the next call is chosen (EA-072).
	State func(v View, s State) State

	// Settled reports whether v.Call has led to a known state. It is called once the call is confirmed (EA-051, EA-054).
	Settled func(v View, settled bool) bool

	// Choose returns the next call (EA-033 to EA-035).
	Choose func(v View, s State, c Call) Call

	// Failed decides how to handle a request answered by an error, or by a tool.result with ok:false (EA-078 to EA-083).
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

// View is what a Machine knows. The values that it refers to must not be modified.
type View struct {
	Connection int    // number of the current or last connection, from 1; 0 before the first
	Joined     bool   // relay.joined was received on it
	Active     bool   // a study session is active, as far as known
	Session    string // its id; "" while unknown
	Calls      int    // tool.calls sent in the study session
	Made       int    // tool.calls sent in the run

	Last    State          // the last authoritative state
	Call    *Called        // the call whose reply or state is awaited; nil if none
	Result  map[string]any // payload of the last tool.result; nil if none
	Awaited *Request       // the request whose reply is awaited; nil if none
}

// State is the state in a state.updated or a snapshot.state. The zero State is the one before the first message.
type State struct {
	Serial  int            // number of the authoritative state, from 1
	UISpec  map[string]any // nil while nothing is shown
	Tools   []proto.Tool   // as announced
	History []any

	key stateKey // zero if the state is not from the host
}

// Request is a message that expects a reply.
type Request struct {
	ID   string
	Type string
}

// Call is a tool.call.
type Call struct {
	Tool   string
	Params any // an object in a correct agent
	Reason string
}

// Called is a sent call.
type Called struct {
	Call
	ID       string
	Before   State // the last authoritative state when the call was sent
	Answered bool  // confirmed by a tool.result
	Overdue  bool  // not answered in time
}

// Occasion is a reason to ask for a snapshot.
type Occasion string

// The occasions.
const (
	SessionBegins Occasion = "the session has begun"
	Reconnected   Occasion = "the connection is new"
	NoUpdate      Occasion = "no changed state has followed a call"
	NoAnswer      Occasion = "an answer is missing"
	NothingShown  Occasion = "nothing is shown"
	NothingLeft   Occasion = "no call is left to try"
	CallConfirmed Occasion = "a call is confirmed" // a correct agent awaits state.updated instead
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

// Reaction is how the agent handles an oddity.
type Reaction int

// The reactions.
const (
	Ignore Reaction = iota
	Redial          // reconnect
	Die             // close the connection and end the run with an error
)

// Failure is a failed request.
type Failure struct {
	Request Request
	Code    string // "" if there is none
	Text    string
}

// Remedy is how the agent handles a failure.
type Remedy int

// The remedies.
const (
	TryAnother  Remedy = iota // after a tool.call: another call; after another request: the same again, after a pause
	TryAgain                  // the same request
	Restart                   // session.start
	Synchronise               // snapshot.get
	ShowNothing               // continue as if a state showed nothing
	TakeAsDone                // continue as if the request had succeeded
	Reopen                    // reconnect
	Despair                   // end the run with an error
)
