package mutants

import (
	"sync"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// cutFaults show only in a session whose earlier bus ended at a certain point, and that is set up again on another bus.
// Each call makes the state of one server.
var cutFaults = map[string]func() fault{
	"end-after-an-ack-keeps-turns": endedAfter(of(proto.InputAck), func(o *options) {
		o.Policy = rules{Output: func(v view, t turn, msg message) []step {
			if t.ID == "" {
				return []step{orchestrator.Forward}
			}
			return correct.Output(v, t, msg)
		}}
	}),
	"end-after-a-mention-keeps-agent": endedAfter(mentions, func(o *options) { o.Active = o.Agents[len(o.Agents)-1] }),
	"end-after-a-final-refuses-the-next": endedAfter(final, func(o *options) {
		o.Policy = rules{Output: func(v view, t turn, msg message) []step {
			if t.ID != "" && orchestrator.IsFinal(msg) {
				return []step{orchestrator.Report}
			}
			return correct.Output(v, t, msg)
		}}
	}),
}

// mentions matches an input that mentions an agent; final matches the end of an agent's output.
func mentions(v view, msg message) bool {
	_, is := correct.Mention(v, msg)
	return is && msg.Event == proto.UserInput
}

func final(_ view, msg message) bool {
	return kindOf(msg) == proto.AgentOutput && orchestrator.IsFinal(msg)
}

// last is the latest bus of a session, and whether the last message to the session there matched.
type last struct {
	bus  *int
	fits bool
}

// endedAfter puts a fault into a session whose previous bus ended right after a matching message to the session.
func endedAfter(fits func(v view, msg message) bool, put func(o *options)) func() fault {
	return func() fault {
		var mu sync.Mutex
		sessions := map[string]last{}
		return func() seams {
			bus := new(int)
			return seams{Runtime: func(o *options) {
				mu.Lock()
				was, known := sessions[o.SessionID]
				mu.Unlock()
				if known && was.bus != bus && was.fits {
					put(o)
				}
				session := o.SessionID
				o.Inbound = func(v view, msg message) []message {
					mu.Lock()
					defer mu.Unlock()
					sessions[session] = last{bus, fits(v, msg)}
					return []message{msg}
				}
			}}
		}
	}
}
