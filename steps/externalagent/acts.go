package externalagent

import (
	"fmt"

	"parley/transport/transcript"
)

// acts follows during a wait what an agent does. A message that has been refused stubborn times is no act any more, as
// an agent that sends it for ever would never be given up. After an answer that is no refusal everything counts again.
// The zero value is ready.
type acts struct {
	asked   map[string]string // messages without an answer so far, by id
	refused map[string]int    // how often a message was refused
	latest  string            // the type of the latest message that is no act
	times   int               // how often that was refused
}

// stubborn is more than the times in a row that a scenario has the same request refused.
const stubborn = 3

// act takes the next record, and reports whether it is an act of the agent.
func (a *acts) act(r *transcript.Record) bool {
	if a.asked == nil || len(a.asked) > tooMany || len(a.refused) > tooMany {
		a.asked, a.refused = map[string]string{}, map[string]int{}
	}
	switch {
	case r.Kind != transcript.Frame:
	case fromAgent(r):
		a.latest, a.times = "", 0
		if r.Event == nil {
			return true
		}
		text := kindOf(r) + fmt.Sprint(r.Event.Data)
		a.asked[field(r, "id")] = text
		if a.refused[text] < stubborn {
			return true
		}
		a.latest, a.times = kindOf(r), a.refused[text]
	case r.Dir == transcript.Sent:
		text, ok := a.asked[field(r, "replyTo")]
		delete(a.asked, field(r, "replyTo"))
		switch {
		case !ok:
		case refused(r):
			a.refused[text]++
		default:
			clear(a.refused)
		}
	}
	return false
}

// again is the reason of a miss if the agent repeats what is refused; "" otherwise.
func (a *acts) again() string {
	if a.latest == "" {
		return ""
	}
	return fmt.Sprintf("it repeats a %s that was refused %d times before", a.latest, a.times)
}
