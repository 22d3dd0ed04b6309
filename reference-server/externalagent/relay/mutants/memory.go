package mutants

import (
	"slices"

	proto "parley/protocol/externalagent"
)

// memoryFaults remember, or forget, what they should not.
var memoryFaults = map[string]fault{
	"snapshots-from-memory": snapshotsFromMemory,
	"agents-leave-together": agentsLeaveTogether,
	"user-in-first-session": userInFirstSession,
}

// snapshotsFromMemory answers snapshot.get with the last snapshot.state, unless something else has been sent since.
func snapshotsFromMemory(o *options) {
	kept := map[string][]byte{}
	o.Policy.Recipients = func(v view, from party, e *envelope, to []party) []party {
		id, identified := e.ID()
		data := kept[from.Session]
		switch {
		case isAgent(from) && e.Type() == proto.SnapshotGet && identified && data != nil:
			v.Send(from.Conn, replyingTo(id, data))
			return nil
		case e.Type() != proto.SnapshotGet && e.Type() != proto.SnapshotState:
			delete(kept, from.Session)
		}
		return to
	}
	o.Policy.Pass = func(from, _ party, e *envelope, data []byte) []byte {
		if isHost(from) && e.Type() == proto.SnapshotState {
			kept[from.Session] = slices.Clone(data)
		}
		return data
	}
}

// agentsLeaveTogether empties the list of those who hear of new states when one of them leaves.
func agentsLeaveTogether(o *options) {
	known := map[string][]party{}
	deaf := map[int]bool{}
	o.Policy.Recipients = func(v view, from party, e *envelope, to []party) []party {
		now := v.Agents(from.Session)
		for _, p := range known[from.Session] {
			if !slices.Contains(now, p) {
				for _, left := range now {
					deaf[left.Conn] = true
				}
			}
		}
		known[from.Session] = now
		if !isHost(from) || isAnswer(from, e) {
			return to
		}
		return slices.DeleteFunc(slices.Clone(to), func(p party) bool { return deaf[p.Conn] })
	}
}

// userInFirstSession no longer passes on the participant's messages once a study session has ended.
func userInFirstSession(o *options) {
	over := map[string]bool{}
	o.Policy.Recipients = func(_ view, from party, e *envelope, to []party) []party {
		if isHost(from) && e.Type() == proto.SessionEnded {
			over[from.Session] = true
		}
		if isHost(from) && e.Type() == proto.UserMessage && over[from.Session] {
			return nil
		}
		return to
	}
}
