package agent

import (
	"fmt"

	proto "parley/protocol/externalagent"
)

// Correct is the policy of the source.
type Correct struct{}

var _ Policy = Correct{}

// MayTalk once relay.joined has come on this connection (EA-026).
func (Correct) MayTalk(v View) bool { return v.Joined }

// Reconnect always.
func (Correct) Reconnect(View, error) bool { return true }

// ID is never used twice in a run, whatever connections it has.
func (Correct) ID(_ View, kind string, n int) any {
	if kind == proto.RelayJoin {
		return fmt.Sprintf("join-%03d", n)
	}
	return fmt.Sprintf("req-%03d", n)
}

// Accept judges the envelope alone.
func (Correct) Accept(_ View, msg Message) string { return problemOf(msg) }

// Answers is what replyTo says.
func (Correct) Answers(_ View, msg Message) string { return msg.ReplyTo() }

// Strange things are ignored: a relay session may hold more than this agent knows of.
func (Correct) Strange(View, Oddity) Reaction { return Ignore }

// Resync for every reason but a call's confirmation, which state.updated follows.
func (Correct) Resync(_ View, why Occasion) bool { return why != CallConfirmed }

// State is the last authoritative one, whatever a tool.result showed (EA-072).
func (Correct) State(v View) State { return v.Last }

// Settled when a state has come since the call was sent that differs from the one before it. One that came before the
// tool.result counts as well, as no sentence gives the two an order; one that shows the old state does not, as it may have
// been on its way already.
func (Correct) Settled(v View) bool {
	return v.Last.Serial > v.Call.Before.Serial && changed(v.Call.Before, v.Last, v.Call.Tool == proto.PostMessage)
}

// changed tells whether the second state shows or announces anything that the first one does not. The history counts only
// for a tool whose whole effect it is: it grows with every message of the user and of the agent.
func changed(a, b State, withHistory bool) bool {
	return keyOf(a) != keyOf(b) || withHistory && canonical(a.History) != canonical(b.History)
}

// Choose picks the best.
func (Correct) Choose(_ View, _ State, candidates []Call) (Call, bool) {
	if len(candidates) == 0 {
		return Call{}, false
	}
	return candidates[0], true
}

// Failed reads section 5.
func (Correct) Failed(_ View, f Failure) Remedy {
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

// Comment is one sentence.
func (Correct) Comment(_ View, s State) string { return stageComment(readScreen(s.UISpec)) }

// Reply is one message to each of the user's.
func (Correct) Reply(_ View, text, _ string) []string {
	return []string{fmt.Sprintf("Noted, I will prefer what fits: %s", quote(text))}
}

// Finished when, after a call, nothing is shown any more, or no tool is left.
func (Correct) Finished(v View, s State) (string, bool) {
	return "study-complete", v.Calls > 0 && s.Serial > 0 && (s.UISpec == nil || len(s.Tools) == 0)
}

// Leave by session.end.
func (Correct) Leave(View) Goodbye { return EndAndWait }
