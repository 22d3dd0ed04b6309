package console

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator"
	"parley/steps"
	"parley/steps/protocols"
	"parley/transport/transcript"
)

// TestOwed: what the target of a test owes is listed until it comes, with the record that is the cause.
func TestOwed(t *testing.T) {
	c, _ := serve(t, func(o *Options) {
		o.Open = func(ctx context.Context, o TestOptions) (*simulator.Session, error) {
			b := bundled.All.For(protocols.Kinds(), o.Protocol, "")
			all := bundled.All.Mutants(protocols.Kinds(), o.Protocol, "")
			i := slices.IndexFunc(all, func(m runner.Mutant) bool { return m.ID == o.Target })
			return simulator.Open(ctx, runner.Options{Protocols: protocols.All, Profile: b.Profile,
				Launcher: all[i].Launch(b.Brain), Brain: b.Brain})
		}
	})
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "test", "protocol": "session-runtime",
		"target": "accepted-with-ack"})
	at := "/sessions/" + s.ID
	step := func(text string) { do[Judged](c, 200, "POST", at+"/steps", m{"text": text}) }
	step(`session "main" of agents "a" and "b" where agent "a" is active`)
	if got := do[OwedList](c, 200, "GET", at+"/owed", nil); !got.Modelled || got.Count > 0 || got.Owed == nil {
		t.Errorf("before any input, owed is %+v", got)
	}
	step(`the user says "one"`)
	do[Record](c, 200, "POST", at+"/wait", m{"text": `"target":"AGENT"`})
	got := do[OwedList](c, 200, "GET", at+"/owed", nil)
	if got.Count != 1 || got.Owed[0].What != "TURN_ACCEPTED to the frontend before any acknowledgement" ||
		got.Owed[0].By != "server" || !slices.Contains(got.Owed[0].Clauses, "RT-074") ||
		!strings.HasPrefix(got.Owed[0].Session, "main-") {
		t.Fatalf("owed is %+v", got)
	}
	cause := do[[]Record](c, 200, "GET", at+"/records", nil)[got.Owed[0].Record-1]
	if since := s.Began.Add(time.Duration(cause.At * float64(time.Millisecond))); cause.Type != "USER_INPUT" ||
		since.Sub(got.Owed[0].Since).Abs() > time.Millisecond {
		t.Errorf("owed since %v because of %+v", got.Owed[0].Since, cause)
	}
	next, _ := c.listen(at+"/events", "")
	c.awaitEvent(next, "owed", func(data []byte) bool { return strings.Contains(string(data), "TURN_ACCEPTED") })
	step(`agent "a" acknowledges "one"`)
	do[Record](c, 200, "POST", at+"/wait", m{"text": "TURN_ACCEPTED"})
	if got := do[OwedList](c, 200, "GET", at+"/owed", nil); got.Count > 0 {
		t.Errorf("after it has come, owed is %+v", got)
	}
}

// owing is the judge of a play in which something is owed.
type owing struct {
	Judge
	list []steps.Owed
}

func (o owing) Owed() ([]steps.Owed, int, bool) { return o.list, 1000, true }

// TestOwedOfPlays: the debts of a program are told without secrets, with the records of the play; a program that is
// not judged owes nothing that is known.
func TestOwedOfPlays(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.offer)
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "play", "protocol": "p", "as": "server",
		"listen": "127.0.0.1:0"})
	if got := do[OwedList](c, 200, "GET", "/sessions/"+s.ID+"/owed", nil); got.Modelled || got.Count > 0 {
		t.Errorf("without a judge, owed is %+v", got)
	}
	f.t.Append(transcript.Record{Conn: "C1", Kind: transcript.Frame, Bytes: []byte("first")})
	n := f.t.Append(transcript.Record{Conn: "C1", Kind: transcript.Frame, Bytes: []byte("second")})
	one := &session{kind: kindPlay, player: f, redact: f.Redact, records: f.t, ctx: t.Context(),
		judge: owing{list: []steps.Owed{
			{By: "server", Conn: "C1", What: "the secret", Or: []string{"no secret"}, Clauses: []string{"X-001"}, Record: 77,
				At: transcript.Record{N: 50, Conn: "C1", Kind: transcript.Frame, Bytes: []byte("second")}},
			{By: "client", What: "a word", Record: 1}}}}
	got := one.owedNow()
	if first := got.Owed[0]; got.Count != 1000 || first.What != "the «redacted»" || first.Or[0] != "no «redacted»" ||
		first.Record != n || first.Party != "C1" || got.Owed[1].Record != 1 {
		t.Errorf("owed is %+v", got)
	}
}
