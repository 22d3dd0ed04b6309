package agent

import "time"

// Event is something that happened to a Machine: a value of one of the types below.
type Event any

// The events. Connection events always come from the last dialled connection, never from an abandoned one.
type (
	Started      struct{}                  // always the first
	Connected    struct{}                  // a Dial succeeded
	Received     struct{ Message Message } // a JSON object
	Junk         struct{ Oddity Oddity }   // any other frame
	Disconnected struct{ Err error }       // the connection ended, or a Dial failed
	Fired        struct{ Timer Timer }     // an armed timer expired
)

// Action is something for the caller of a Machine to do: a value of one of the types below. Actions are executed in
// order.
type Action any

// The actions.
type (
	Dial struct{}                  // open a connection; Connected or Disconnected follows
	Send struct{ Message Message } // on the open connection
	Drop struct{ Why string }      // leave the connection; no Disconnected follows
	Arm  struct {                  // Fired follows; replaces an earlier timer of the same name
		Timer Timer
		After time.Duration
	}
	Disarm struct{ Timer Timer }
	Note   struct { // a line for the log
		Text string
		Args []any // slog arguments
	}
	Finish struct { // leave the connection with 1000; Run returns
		Outcome Outcome
		Err     error
	}
)

// Timer names a timer.
type Timer string

// The timers.
const (
	RedialTimer   Timer = "redial"   // until the next connection
	GiveUpTimer   Timer = "give up"  // without a connection
	JoinTimer     Timer = "join"     // waiting for relay.joined
	AnswerTimer   Timer = "answer"   // waiting for a reply
	PatienceTimer Timer = "patience" // waiting for the state after a confirmed call
	PauseTimer    Timer = "pause"    // before a refused request is repeated
	PollTimer     Timer = "poll"     // while nothing is shown yet
)
