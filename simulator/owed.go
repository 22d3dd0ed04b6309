package simulator

import (
	"time"

	"parley/steps"
)

// Owed returns what the target owes now, the oldest first: at most steps.MostOwed, and how many there are. modelled is
// false if the protocol has no model, so that it is not known. Each record is read once, by whoever asks next.
func (s *Session) Owed() (list []steps.Owed, count int, modelled bool) {
	if s.owing == nil || s.isOver() {
		return nil, 0, s.owing != nil
	}
	list, count = s.owing.Read(s.Transcript())
	return list, count, true
}

// Unowed says why it is not known any more what is owed, if nothing is listed by Owed; "" if nothing is owed.
func (s *Session) Unowed() string { return s.owing.Unknown() }

// Wait says in a line what the running step waits for that is owed: what, by whom, since when, by which clauses, and
// how to end the wait. "" if no step waits, or nothing is owed.
func (s *Session) Wait() string {
	now, _ := s.Progress()
	if now.Awaits == nil {
		return ""
	}
	owed, _, _ := s.Owed()
	return steps.TellWait(*now.Awaits, owed, time.Now())
}

// isOver reports whether the session has been closed: nothing that is owed can be settled any more.
func (s *Session) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}
