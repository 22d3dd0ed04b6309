package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
)

// TestOwing checks what is owed at the end of a transcript, as the records and what has to come.
func TestOwing(t *testing.T) {
	asks := ask("snapshot.get", "g", "{}")
	for _, r := range []struct {
		role, reason, in string
		want             []string
	}{
		{vocab.Relay, "a join", open + join, []string{"relay.joined with replyTo j, since relay.join: EA-028"}},
		{vocab.Relay, "a relay answers no session.start", open + join + joined + start, nil},
		{vocab.Host, "two requests", stage + picks + asks, []string{
			"tool.result with replyTo c, since tool.call of select: EA-007 EA-046 EA-047",
			"snapshot.state with replyTo g, since snapshot.get: EA-004 EA-005 EA-006 EA-041 EA-077a"}},
		{vocab.Host, "the earlier one, although the later one is answered", stage + picks + snap("g", movies),
			[]string{"tool.result with replyTo c, since tool.call of select: EA-007 EA-046 EA-047"}},
		{vocab.Host, "nothing behind the answer", stage + picks + picked, nil},
		{vocab.Host, "nothing behind a refusal", stage + picks + refuse("c", "UNKNOWN_TOOL"), nil},
		{vocab.Host, "the effect of next", stage + moves + moved,
			[]string{"state.updated with the effect of next, since tool.result: EA-054"}},
		{vocab.Host, "nothing once it was announced", stage + moves + moved + updated(date), nil},
		{vocab.Host, "nothing before a session, but its beginning", open + join + joined + picks + start,
			[]string{"session.started with replyTo r1, since session.start: EA-038"}},
		{vocab.Host, "nothing when the connection has ended", stage + picks + "A closed\n", nil},
		{vocab.Agent, "its join", flip(open), []string{"relay.join before anything else, since the connection: EA-026"}},
		{vocab.Agent, "nothing once it has joined", flip(open + join), nil},
		{vocab.Agent, "a snapshot when it comes back", flip(stage+"A closed\n") + onB(flip(open+join+joined)),
			[]string{"snapshot.get before the next tool.call, since relay.join: EA-076"}},
		{vocab.Agent, "nothing once it has it", flip(stage+"A closed\n") +
			onB(flip(open+join+joined+snap("g", movies))), nil},
	} {
		for observer, o := range map[string]obligation.Observer{"ours": obligation.Ours, "foreign": obligation.Foreign} {
			t.Run(r.role+"/"+r.reason+"/"+observer, func(t *testing.T) {
				m := New(r.role, o)
				for _, rec := range script(t, r.in) {
					m.Take(rec)
				}
				var got []string
				for _, e := range m.Owing() {
					got = append(got, e.What+", since "+e.Cause+": "+strings.Join(e.Clauses, " "))
				}
				if diff := cmp.Diff(r.want, got); diff != "" {
					t.Errorf("want(-) got(+):\n%s", diff)
				}
			})
		}
	}
}
