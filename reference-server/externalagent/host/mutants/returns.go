package mutants

import (
	"sync"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/wire"
)

// returnFaults lose something when an agent joins again.
var returnFaults = map[string]fault{
	"returning-agent-reads-old-state": joinedBy(readsOldState),
	"history-ends-with-connection":    joinedBy(historyOfConnection),
}

// joinedBy is a fault of each host that can count the agents' joins of its relay session.
func joinedBy(put func(h *hostOptions, joins func() int)) fault {
	return func(o *options) {
		var mu sync.Mutex
		joins := map[string]int{}
		o.Relay.Inbound = func(_ relayView, from party, in frame) []frame {
			if msg := message(wire.Read(in.Data)); msg.Type() == proto.RelayJoin && !from.Attached {
				mu.Lock()
				defer mu.Unlock()
				joins[msg.PayloadText("sessionId")]++
			}
			return []frame{in}
		}
		inSession(func(h *hostOptions, session string) {
			put(h, func() int {
				mu.Lock()
				defer mu.Unlock()
				return joins[session]
			})
		})(o)
	}
}

// readsOldState has the state before the last state.updated in the first snapshot after another join.
func readsOldState(h *hostOptions, joins func() int) {
	var before, last state
	seen := 0
	h.Policy.Reset = func(_ view, right keep) keep {
		before, last = state{}, state{}
		return right
	}
	h.Policy.State = func(_ view, in part, s state) state {
		if in == host.InUpdate {
			before, last = last, s
			return s
		}
		back := seen > 0 && joins() > seen
		if seen = joins(); back && before.ToolSchema != nil {
			return before
		}
		return s
	}
}

// historyOfConnection has no entries from before the latest join.
func historyOfConnection(h *hostOptions, joins func() int) {
	seen, gone := 0, 0
	h.Policy.Reset = func(_ view, right keep) keep {
		gone = 0
		return right
	}
	h.Policy.State = func(_ view, _ part, s state) state {
		if n := joins(); n > seen {
			if seen > 0 {
				gone = len(s.MessageHistory)
			}
			seen = n
		}
		s.MessageHistory = s.MessageHistory[min(gone, len(s.MessageHistory)):]
		return s
	}
}
