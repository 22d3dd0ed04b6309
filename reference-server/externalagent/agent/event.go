package agent

import "time"

// Event is something that has happened to a Machine: a value of one of the types below.
type Event any

// The events. Those of a connection come from the one that was dialled last, and never from one that was left.
type (
	Started      struct{}                  // always the first
	Connected    struct{}                  // what Dial asked for
	Received     struct{ Message Message } // a JSON object
	Junk         struct{ Oddity Oddity }   // any other frame
	Disconnected struct{ Err error }       // the connection has ended, or Dial was refused
	Fired        struct{ Timer Timer }     // a timer that was armed, and neither armed again nor disarmed since
)

// Action is something for the caller of a Machine to do: a value of one of the types below. Actions are done in order.
type Action any

// The actions.
type (
	Dial struct{}                  // open a connection; Connected or Disconnected follows
	Send struct{ Message Message } // on the open connection
	Drop struct{ Why string }      // leave the connection; no Disconnected follows
	Arm  struct {                  // Fired follows, in place of an earlier one of the same name
		Timer Timer
		After time.Duration
	}
	Disarm struct{ Timer Timer }
	Note   struct { // a line for the log
		Text string
		Args []any // as slog takes them
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
	JoinTimer     Timer = "join"     // until relay.joined
	AnswerTimer   Timer = "answer"   // until the awaited answer
	PatienceTimer Timer = "patience" // until the state after a confirmed call
	PauseTimer    Timer = "pause"    // before a refused request is repeated
	PollTimer     Timer = "poll"     // while nothing is shown yet
)
