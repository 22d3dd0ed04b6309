package console

import (
	"context"
	"time"

	"parley/features/verdict"
	"parley/simulator/fault"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Player plays a party of a protocol for a user's program. It is safe for concurrent use.
type Player interface {
	Protocol() string
	As() string
	Driver() string // "" if it depends on the program
	URL() string    // where the program reaches it, or the program's for a party that is a client
	// Transcript has the messages that the program sent (received) and got (sent).
	Transcript() *transcript.Transcript
	Redact(text string) string // removes secrets
	Parties() []string         // names of the open connections
	State() PlayState
	// SetMind sets the mind for messages of some types; without types, for all that have no mind of their own.
	SetMind(ctx context.Context, mind string, types ...string) error
	// SetScript arms a script: the name of a ready one, or the text of one.
	SetScript(ctx context.Context, script string) error
	// SetMutant replaces the bundled target by one with a fault; "" is the correct one. Open connections end.
	SetMutant(ctx context.Context, name string) error
	Held() []Held // oldest first
	// Decide decides on a held message; an *Error with status 404 if it is not held.
	Decide(n int, d Decision) error
	// Send sends a message to the program on an open connection, and returns the number of its record; 0 if it was not
	// sent.
	Send(ctx context.Context, party string, body []byte) (mark int, err error)
	Hang(ctx context.Context, party string, how driver.CloseMode) error
	// Changed returns a channel that closes when a message is held or no longer held, or the mind changes.
	Changed() <-chan struct{}
	Reset(ctx context.Context) error
	// Judge returns the judge of the program's messages; nil if they are not judged, and Unjudged then says why. With
	// PlayOptions.To it judges both sides, and reports findings on the server only through PlayOptions.Found.
	Judge() Judge
	Unjudged() string
	Faults() []fault.Fired // what each fault has done, in the order of the file; nil without faults
	Close()                // may be called again
}

// Judge judges the messages of a program. It is safe for concurrent use.
type Judge interface {
	Role() string                         // in which the program is judged
	Clauses() []string                    // those that can be judged
	Outcomes() map[string]verdict.Outcome // the worst so far, by clause
	Untested() (ids []string, why string) // clauses without an outcome because of faults
	Findings() []steps.Failure            // the first of each monitor and clause
	Check() int                           // judges all records so far
	// Follow judges until ctx ends, and calls tell, from one goroutine, with each finding, and without a finding when an
	// outcome has changed.
	Follow(ctx context.Context, tell func([]steps.Failure))
}

// PlayState is the state of a player.
type PlayState struct {
	Mind   string            // auto, ask, script or mutant
	Types  map[string]string // minds for messages of some types
	Mutant string            // id of the fault; "" for none
	Script string            // name of the script; "" for none
}

// Held is a message to the program that waits for a decision.
type Held struct {
	N            int    // identifies it within the play
	Party        string // the connection it is for; "" for an HTTP answer
	Type         string // in the protocol; "" if it has none
	To           string // for people, what it answers, such as "POST /message"
	Body         []byte // what is sent if no decision is made
	Since, Until time.Time
}

// Decision says what happens to a held message.
type Decision struct {
	Drop    bool
	After   time.Duration // how long it is delayed
	Instead [][]byte      // sent instead of it; nil: itself
}
