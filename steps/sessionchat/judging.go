package sessionchat

import (
	"context"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transport/transcript"
)

// pass records that clauses are satisfied, as a record shows.
func (s *suite) pass(clauses []string, at int) error {
	return s.Judge(verdict.Finding{Clauses: clauses, OK: true, At: at})
}

// breach records that clauses are broken.
func (s *suite) breach(clauses []string, at int, expected, observed string) error {
	return s.Judge(verdict.Finding{Clauses: clauses, Expected: expected, Observed: observed, At: at})
}

// fatal is breach for a scenario that can't continue.
func (s *suite) fatal(clauses []string, at int, expected, observed string) error {
	return s.Need(verdict.Finding{Clauses: clauses, Expected: expected, Observed: observed, At: at})
}

// lacking is fatal for a missing message; observed is what came instead.
func (s *suite) lacking(clauses []string, expected, observed string, miss *verdict.Miss) error {
	return s.Need(verdict.Finding{Clauses: clauses, Expected: expected, Observed: observed, At: miss.At, Miss: miss})
}

// lastTurn returns the last turn of a session.
func (s *suite) lastTurn(name string) (*turn, error) {
	if t := s.session(name).turn(); t != nil {
		return t, nil
	}
	return nil, steps.NotTestedf("no client has chatted with %s", name)
}

// heldTurn returns the last turn of a session, whose model waits.
func (s *suite) heldTurn(name string) (*turn, error) {
	if t := s.session(name).turn(); t != nil && t.held {
		return t, nil
	}
	return nil, steps.NotTestedf("no turn of %s is held", name)
}

// askedTurn returns the last turn of a session, for which the model was asked.
func (s *suite) askedTurn(name string) (*turn, error) {
	if t := s.session(name).turn(); t != nil && len(s.calls(t)) > 0 {
		return t, nil
	}
	return nil, steps.NotTestedf("the model was not asked for a chat of %s", name)
}

// since returns the messages about its session that the client of a turn has received since its chat.
func (s *suite) since(t *turn, kinds ...string) (list []transcript.Record) {
	ours := ofSession(t.of, kinds...)
	for _, r := range s.Between(t.client, t.mark, 0) {
		if ours(&r) {
			list = append(list, r)
		}
	}
	return list
}

// awaitResult waits for a result in the session of a turn, after a record.
func (s *suite) awaitResult(ctx context.Context, t *turn, after int, within time.Duration) (transcript.Record,
	*verdict.Miss) {
	match := ofSession(t.of, vocab.ResultMessage)
	return s.Await(ctx, steps.Wait{Conn: t.client, After: after, Within: within, Match: match})
}
