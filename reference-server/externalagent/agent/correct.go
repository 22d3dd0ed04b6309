package agent

import (
	"fmt"

	proto "parley/protocol/externalagent"
)

// idOfMessage returns the id of the nth message: ids are unique in a run, across connections.
func idOfMessage(kind string, n int) string {
	if kind == proto.RelayJoin {
		return fmt.Sprintf("join-%03d", n)
	}
	return fmt.Sprintf("req-%03d", n)
}

// settled reports whether a state that differs from the one before the call has arrived since the call was sent. A
// state from before the tool.result counts too, because no sentence orders the two. An unchanged state does not
// count, because it may have been on its way when the call was sent.
func settled(c Called, last State) bool {
	return last.Serial > c.Before.Serial && changed(c.Before, last, c.Tool == proto.PostMessage)
}

// changed reports whether the second state shows or announces anything that the first does not. The history counts
// only for a tool whose only effect is on the history: it grows with every message of the user and of the agent.
func changed(a, b State, withHistory bool) bool {
	return keyOf(a) != keyOf(b) || withHistory && canonical(a.History) != canonical(b.History)
}

// remedy returns the remedy for a failure, following section 5.
func remedy(f Failure) Remedy {
	switch f.Request.Type {
	case proto.RelayJoin:
		return Reopen
	case proto.SessionStart:
		if f.Code == proto.SessionNotActive { // the host has not joined yet
			return TryAgain
		}
		return Synchronise // a session may already be active
	case proto.SessionEnd:
		if f.Code == proto.SessionNotActive {
			return TakeAsDone
		}
		return TryAgain
	}
	switch f.Code {
	case proto.SessionNotActive:
		return Restart
	case proto.NoActiveSpec:
		if f.Request.Type == proto.SnapshotGet {
			return ShowNothing
		}
		return Synchronise
	}
	return TryAnother
}

// finished reports whether a call was made and the state shows no form or announces no tools.
func (m *Machine) finished(s State) bool {
	return m.calls > 0 && s.Serial > 0 && (s.UISpec == nil || len(s.Tools) == 0)
}
