package agent

import proto "parley/protocol/externalagent"

// Policy is what the protocol prescribes to an agent, one decision per method. Correct decides as the source does; a faulty
// agent embeds it and decides one thing otherwise. The methods are called by one goroutine.
type Policy interface {
	// MayTalk tells whether anything but relay.join may be sent now (EA-026, EA-028).
	MayTalk(v View) bool

	// Reconnect tells whether there will be another connection after this one, which has ended with err.
	Reconnect(v View, err error) bool

	// ID is the id of a message of that type, the nth one that has an id, from 1.
	ID(v View, kind string, n int) any

	// Accept tells why an object is no envelope; "" accepts it (EA-019 to EA-024).
	Accept(v View, msg Message) (problem string)

	// Answers is the id of the request that an answer belongs to (EA-028, EA-038, EA-041, EA-047, EA-063, EA-068).
	Answers(v View, msg Message) (id string)

	// Strange tells what is made of something that the agent can do nothing with.
	Strange(v View, o Oddity) Reaction

	// Resync tells whether snapshot.get is sent for that reason before anything else is done (EA-076, EA-077).
	Resync(v View, why Occasion) bool

	// State is what the next call is chosen from (EA-072).
	State(v View) State

	// Settled tells whether the state that v.Call led to is known. It is asked once the call is confirmed (EA-051, EA-054).
	Settled(v View) bool

	// Choose picks a call out of those that make sense, best first; ok is false if none is to be made (EA-033 to EA-035).
	Choose(v View, s State, candidates []Call) (c Call, ok bool)

	// Failed tells what is done about a request that an error answered, or a tool.result with ok:false (EA-078 to EA-083).
	Failed(v View, f Failure) Remedy

	// Comment is what is said about a stage when it is shown first; "" says nothing (EA-008).
	Comment(v View, s State) string

	// Reply is what is said to the user, one message each (EA-060).
	Reply(v View, text, stage string) []string

	// Finished tells whether nothing is left to do in s, and the reason that session.end is to give.
	Finished(v View, s State) (reason string, finished bool)

	// Leave tells how the agent goes (EA-037, EA-063).
	Leave(v View) Goodbye
}

// View is what a Machine knows. What it refers to must not be changed.
type View struct {
	Connection int    // number of this connection, or of the last one, from 1; 0 before the first
	Joined     bool   // relay.joined has come on it
	Active     bool   // a study session is, as far as is known
	Session    string // its id; "" while it is not known
	Calls      int    // tool.calls sent in the study session
	Made       int    // tool.calls sent in the run

	Last    State          // the last authoritative state
	Call    *Called        // the call that is under way, or that the state is awaited of; nil if none
	Result  map[string]any // payload of the last tool.result; nil if none
	Awaited *Request       // what an answer is awaited of; nil if nothing
}

// State is what a state.updated or a snapshot.state said. The zero State is what is known before the first one.
type State struct {
	Serial  int            // of the authoritative states, from 1
	UISpec  map[string]any // nil while nothing is shown
	Tools   []proto.Tool   // as announced
	History []any

	key stateKey // of what came from the host; computed anew where it is zero
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
	Overdue  bool  // never answered
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

// Oddity is something that the agent can do nothing with.
type Oddity struct {
	Kind    OddityKind
	Why     string
	Data    []byte  // of what is no JSON object
	Message Message // of what is one
}

// OddityKind is what is wrong with a message.
type OddityKind string

// The kinds of oddities.
const (
	NoText      OddityKind = "a binary frame"
	NoObject    OddityKind = "no JSON object"
	NoEnvelope  OddityKind = "no envelope"
	UnknownType OddityKind = "of an unknown type"
	Unasked     OddityKind = "an answer to nothing"
	Useless     OddityKind = "without what its type needs"
)

// Reaction is what is made of an oddity.
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

// Goodbye is how the agent goes once nothing is left to do.
type Goodbye int

// The ways to go.
const (
	EndAndWait  Goodbye = iota // session.end, then close after session.ended
	EndAndLeave                // session.end, then close
	JustLeave                  // close
	Stay                       // do nothing
)
