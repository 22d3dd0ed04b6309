package externalagent

import (
	"testing"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

// TestMisfitOnce checks that a misfit of the booking path is awaited once per run: the next scenario that gets there
// is not tested at once.
func TestMisfitOnce(t *testing.T) {
	p := &peer{bad: all(edit(vocab.SnapshotState, set("toolSchema", []any{object{"name": "other"}})),
		edit(vocab.StateUpdated, set("toolSchema", []any{object{"name": "other"}})))}
	env := environment(t, vocab.Host, p)
	const want, why = "EA-007=not-tested",
		"the booking path does not match the host (external-agent.booking in the profile): select: it is not announced at " +
			"this stage"
	expect(t, perform(t, env, p, "@EA-007", session+firstCall), want, why)
	env.Profile.Limits.Event.Duration = patience
	began := time.Now()
	expect(t, perform(t, env, p, "@EA-007", session+firstCall), want, why)
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it was waited for again, for %v", took)
	}
}

// TestFitsLater checks that every scenario waits for a host that takes time to announce its next stage.
func TestFitsLater(t *testing.T) {
	n := 0
	p := &peer{bad: func(c *peerConn, asked *transcript.Record, out []any) []any {
		// The first snapshot of each session announces nothing; the next one does.
		if asked == nil || kindOf(asked) != vocab.SnapshotGet {
			return out
		}
		if n++; n%2 == 0 {
			return out
		}
		empty := copied(out[0]).(object)
		empty[vocab.Payload].(object)[vocab.ToolSchema] = []any{}
		return []any{empty, announced(c)}
	}}
	env := environment(t, vocab.Host, p)
	for range 3 {
		expect(t, perform(t, env, p, "@EA-007", session+firstCall), "EA-007=passed", "")
	}
}

// TestRefusedSession: where the host has refused the session, the booking path is not at fault.
func TestRefusedSession(t *testing.T) {
	p := &peer{bad: all(refuses(vocab.SessionStart, vocab.InvalidMessage),
		edit(vocab.SnapshotState, set("toolSchema", []any{})))}
	expect(t, perform(t, environment(t, vocab.Host, p), p, "@EA-007",
		"Given agent A has joined\nWhen agent A starts a session\n"+firstCall), "EA-007=not-tested",
		"the host has refused the session: error {")
}
