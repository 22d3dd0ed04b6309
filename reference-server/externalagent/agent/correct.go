package agent

import (
	"fmt"

	proto "parley/protocol/externalagent"
)

// idOfMessage is the id of the nth message: no id is used twice in a run, on whatever connection.
func idOfMessage(kind string, n int) string {
	if kind == proto.RelayJoin {
		return fmt.Sprintf("join-%03d", n)
	}
	return fmt.Sprintf("req-%03d", n)
}

// settled reports whether a state has come since the call was sent that differs from the one before it. A state that
// came before the tool.result counts too, as no sentence orders the two; the old state does not, as it may have been on
// its way when the call was sent.
func settled(c Called, last State) bool {
	return last.Serial > c.Before.Serial && changed(c.Before, last, c.Tool == proto.PostMessage)
}

// changed reports whether the second state shows or announces anything that the first one does not. The history counts
// only for a tool whose whole effect it is: it grows with every message of the user and of the agent.
func changed(a, b State, withHistory bool) bool {
	return keyOf(a) != keyOf(b) || withHistory && canonical(a.History) != canonical(b.History)
}

// remedy follows section 5.
func remedy(f Failure) Remedy {
	switch f.Request.Type {
	case proto.RelayJoin:
		return Reopen
	case proto.SessionStart:
		if f.Code == proto.SessionNotActive { // no host yet
			return TryAgain
		}
		return Synchronise // a session may be active already
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

// finished reports whether, after a call, nothing is shown any more, or no tool is left.
func (m *Machine) finished(s State) bool {
	return m.calls > 0 && s.Serial > 0 && (s.UISpec == nil || len(s.Tools) == 0)
}
