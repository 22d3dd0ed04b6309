package externalagent

import (
	"cmp"
	"fmt"
	"strings"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/steps"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// passes records that clauses are kept by a record.
func (s *suite) passes(at int, clauses ...string) {
	_ = s.Judge(verdict.Finding{Clauses: clauses, OK: true, At: at})
}

// breaks judges that a record breaks clauses.
func (s *suite) breaks(r transcript.Record, expected string, clauses ...string) error {
	return s.Judge(steps.CheckOf(r, false, expected, clauses...))
}

// judgeMember judges one member of a record's payload; want describes the expected value.
func (s *suite) judgeMember(r *transcript.Record, clause, name string, ok bool, want string) error {
	return s.Judge(verdict.Finding{Clauses: []string{clause}, OK: ok, At: r.N, Group: kindOf(r) + " " + name,
		Expected: fmt.Sprintf("payload.%s is %s", name, want),
		Observed: fmt.Sprintf("payload.%s is %s", name, wjson.Compact(payload(r)[name]))})
}

// member is judgeMember for scenarios that continue in any case.
func (s *suite) member(r *transcript.Record, clause, name string, ok bool, want string) {
	_ = s.judgeMember(r, clause, name, ok, want)
}

// unanswered returns the check of a request without an answer.
func (q *request) unanswered(miss *verdict.Miss, expected string, clauses ...string) verdict.Finding {
	check := miss.Check(expected, clauses...)
	check.At = cmp.Or(miss.At, q.mark)
	return check
}

// silent returns the check of an agent that did not do what was expected after a record.
func (s *suite) silent(miss *verdict.Miss, at int, expected string, clauses ...string) verdict.Finding {
	check := miss.Check(expected, clauses...)
	check.At, check.Observed = at, miss.Reason+s.lastWords()
	return check
}

// without returns the error of a scenario that is not tested because of what the agent did not do, or that has failed
// because its process has died of a legal message.
func (s *suite) without(miss *verdict.Miss, format string, args ...any) error {
	if err := s.judgeDeath(); err != nil {
		return err
	}
	return steps.NotTestedf("the agent %s: %s%s", fmt.Sprintf(format, args...), miss.Reason, s.lastWords())
}

// unlike returns a check of two states that differ, with the differing member and the difference.
func unlike(at int, difference, expected string, clauses ...string) verdict.Finding {
	member, _, _ := strings.Cut(difference, ":")
	return verdict.Finding{Clauses: clauses, At: at, Expected: expected, Observed: "another " + member,
		Diff: cut.Head(difference, 4000)}
}

// quoted returns the texts between quotes: A and B for "A" or "B".
func quoted(list string) []string { return strings.Split(strings.Trim(list, `"`), `" or "`) }
