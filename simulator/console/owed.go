package console

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"parley/steps"
	"parley/transport/transcript"
)

// OwedList is what each side owes at a moment.
type OwedList struct {
	Modelled bool   `json:"modelled"` // false: the protocol has no model of such a program, so nothing is known
	Count    int    `json:"count"`    // how much is owed
	Owed     []Owed `json:"owed"`     // the oldest first, at most 100
}

// Owed is a message that a side owes.
type Owed struct {
	By      string    `json:"by"`      // the role of who owes it
	Party   string    `json:"party"`   // the connection, where each is judged on its own; else ""
	Session string    `json:"session"` // "" if there is but one
	What    string    `json:"what"`
	Or      []string  `json:"or"`      // other messages that would settle it too
	Clauses []string  `json:"clauses"` // that demand it
	Record  int       `json:"record"`  // number of the record that is the cause; 0 if it is not shown
	Cause   string    `json:"cause"`   // what that message is
	Since   time.Time `json:"since"`
}

// owedNow returns what is owed after all records so far; nothing after the end of the session.
func (s *session) owedNow() OwedList {
	var list []steps.Owed
	out := OwedList{Owed: []Owed{}}
	switch {
	case s.kind == kindTest:
		list, out.Count, out.Modelled = s.test.Owed()
	case s.judge != nil:
		list, out.Count, out.Modelled = s.judge.Owed()
	}
	if s.ctx.Err() != nil {
		list, out.Count = nil, 0
	}
	for _, o := range list {
		o = o.Redacted(s.redact)
		out.Owed = append(out.Owed, Owed{By: o.By, Party: o.Conn, Session: o.Session, What: o.What,
			Or: append([]string{}, o.Or...), Clauses: append([]string{}, o.Clauses...), Record: s.causeOf(o), Cause: o.Cause,
			Since: o.Since.UTC()})
	}
	return out
}

// causeOf returns the number of the record because of which something is owed. Proxies beside a play have records of
// their own: there it is searched by its content.
func (s *session) causeOf(o steps.Owed) int {
	if s.kind == kindPlay && o.At.N > 0 {
		return s.player.Transcript().Like(o.At)
	}
	return o.Record
}

// Pace of following what is owed: soon after an exchange, and again while something is, since a judge may lag behind.
const (
	owedPause = 100 * time.Millisecond
	owedAgain = time.Second
)

// watchOwed tells the streams when something else is owed, until the session ends.
func (s *session) watchOwed() {
	for {
		mark := s.records.Len()
		now := s.owedNow()
		s.mu.Lock()
		changed := !reflect.DeepEqual(now, s.owed) && (now.Count > 0 || s.owedVersion > 0)
		if s.owed = now; changed {
			s.owedVersion++
		}
		s.mu.Unlock()
		if changed {
			s.log.wakeForRecords()
		}
		if s.ctx.Err() != nil || !now.Modelled {
			return
		}
		wait, cancel := s.ctx, context.CancelFunc(func() {})
		if now.Count > 0 {
			wait, cancel = context.WithTimeout(s.ctx, owedAgain)
		}
		_, err := s.records.Await(wait, mark, func(r *transcript.Record) bool { return r.N > mark })
		cancel()
		if err == nil {
			select {
			case <-time.After(owedPause):
			case <-s.ctx.Done():
			}
		}
	}
}

// showOwed answers with what is owed now.
func (s *session) showOwed(http.ResponseWriter, *http.Request) (any, error) { return s.owedNow(), nil }

// writeOwed writes what is owed, if that has changed.
func (st *stream) writeOwed() {
	st.s.mu.Lock()
	list, version := st.s.owed, st.s.owedVersion
	st.s.mu.Unlock()
	if version != st.owed && list.Modelled {
		st.owed = version
		st.tell("owed", list)
	}
}
