package agent

import "time"

// Event is something that has happened to a Machine.
type Event interface{ event() }

// The events. Those of a connection come from the one that was dialled last, and never from one that was left.
type (
	Started      struct{}                  // always the first
	Connected    struct{}                  // what Dial asked for
	Received     struct{ Message Message } // a JSON object
	Junk         struct{ Oddity Oddity }   // a message that is none
	Disconnected struct{ Err error }       // the connection has ended, or Dial was refused
	Fired        struct{ Timer Timer }     // a timer that was armed, and neither armed anew nor disarmed since
)

func (Started) event()      {}
func (Connected) event()    {}
func (Received) event()     {}
func (Junk) event()         {}
func (Disconnected) event() {}
func (Fired) event()        {}

// Action is something that a Machine wants done. Actions are done in order.
type Action interface{ action() }

// The actions.
type (
	Dial struct{}                  // open a connection; Connected or Disconnected follows
	Send struct{ Message Message } // on the open connection
	Drop struct{ Why string }      // leave the connection; no Disconnected follows
	Arm  struct {                  // let Fired follow, in place of an earlier one of the same name
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

func (Dial) action()   {}
func (Send) action()   {}
func (Drop) action()   {}
func (Arm) action()    {}
func (Disarm) action() {}
func (Note) action()   {}
func (Finish) action() {}

// Timer names a timer.
type Timer string

// The timers.
const (
	RedialTimer   Timer = "redial"   // until the next connection
	GiveUpTimer   Timer = "give up"  // without a connection
	JoinTimer     Timer = "join"     // until relay.joined
	AnswerTimer   Timer = "answer"   // until the answer of the request that is awaited
	PatienceTimer Timer = "patience" // until the state after a confirmed call
	PauseTimer    Timer = "pause"    // before a refused request is made again
	PollTimer     Timer = "poll"     // while nothing is shown yet
)
