package console

import (
	"slices"
	"unicode/utf8"

	"parley/transport/transcript"
)

// edit is a message that was sent instead of a held one.
type edit struct {
	party     string // "" for an HTTP answer
	after     int    // number of the last record before
	was, sent string
}

// maxEdits bounds the edits whose record has not come, and those whose record has.
const maxEdits = 1000

// keepEdits remembers what is sent instead of a held message, until its record comes.
func (s *session) keepEdits(h Held, after int, d Decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sent := range d.Instead {
		if len(s.edits) < maxEdits && string(sent) != string(h.Body) {
			s.edits = append(s.edits, edit{h.Party, after, string(h.Body), string(sent)})
		}
	}
}

// forgetEdits forgets the edits after a record: their decision was refused.
func (s *session) forgetEdits(h Held, after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edits = slices.DeleteFunc(s.edits, func(e edit) bool { return e.after == after && e.was == string(h.Body) })
}

// heldNumbered returns the held message with a number.
func (s *session) heldNumbered(n int) (Held, bool) {
	for _, h := range s.player.Held() {
		if h.N == n {
			return h, true
		}
	}
	return Held{}, false
}

// original returns the message in whose place a record was sent; nil if it was not edited.
func (s *session) original(r transcript.Record) *string {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.edited[r.N]
	for i := 0; i < len(s.edits) && !known; i++ {
		e := s.edits[i]
		if r.N > e.after && (e.party == "" || e.party == r.Conn) && e.sent == string(r.Bytes) {
			if s.edited == nil {
				s.edited = map[int]string{}
			}
			s.edits = append(s.edits[:i], s.edits[i+1:]...)
			if was, known = e.was, true; len(s.edited) < maxEdits {
				s.edited[r.N] = was
			}
		}
	}
	if !known || !utf8.ValidString(was) {
		return nil
	}
	was = s.redact(was)
	return &was
}
