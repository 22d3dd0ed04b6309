package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"parley/internal/words"
	"parley/protocol/messages"
	"parley/transport/transcript"
)

// ofModel is the party whose messages are not those of the protocol.
const ofModel = "model"

// lookedAt is the number of the newest records among which a type is sought that the protocol does not have.
const lookedAt = 10_000

// haveTypes refuses types of messages that can occur neither in a play's protocol nor, by its records, in its program:
// a mind for a mistyped type would never decide on anything.
func (s *session) haveTypes(types []string) error {
	known := messages.For(s.protocol).Types()
	if len(known) == 0 || s.player.As() == ofModel {
		return nil
	}
	minds := s.player.State().Types
	for _, t := range types {
		if _, has := minds[t]; has || t == "" || slices.Contains(known, t) || s.seen(t) {
			continue
		}
		return &Error{Status: http.StatusBadRequest, Similar: words.Near(t, known, 3),
			Text: "types: no message of " + s.protocol + " has the type " + strconv.Quote(t) + " (" +
				words.Suggest(t, known, "types are "+strings.Join(known, ", ")) + ")"}
	}
	return nil
}

// seen reports whether a record has a type.
func (s *session) seen(typ string) bool {
	return slices.ContainsFunc(s.records.After(max(0, s.records.Len()-lookedAt)), func(r transcript.Record) bool {
		return s.typeOf(r) == typ
	})
}
