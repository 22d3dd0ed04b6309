package pack

import (
	"strings"
	"testing"

	"parley/steps"
	"parley/transport/transcript"
)

// TestConvertRecording: what clients sent becomes steps, by templates and by what is kept, and what is owed is awaited.
func TestConvertRecording(t *testing.T) {
	p := load(t, "  - {on: ping, owes: {type: pong, where: it.n == act.n}, clauses: PP-001}")
	tell := p.ConvertRecording(steps.ConvertedRecording{Driver: "ws"})
	var got []string
	for _, r := range append(said(t, p, "A!", `A< {"type":"hello","room":"r1"}`, `A> {"type":"ping","n":"x"}`,
		`A< {"type":"pong","n":"x"}`, "B!", `A> {"type":"shut","room":"r1"}`, `B> {"type":"shut","room":"r1"}`,
		`B> {"type":"shut","room":"r9","now":true}`, `B> {"type":"ping"}`, `B> {"type":"odd"}`),
		transcript.Record{}) {
		lines, known := tell(r)
		if !known {
			lines = append(lines, "?")
		}
		got = append(got, lines...)
	}
	const want = `client A is connected|client A sends "ping"|client A is answered|client B is connected|` +
		`client A sends "shut"|client B sends "shut" with {"room":"${A.room}"}|` +
		`client B sends "shut" with {"now":true,"room":"r9"}|client B sends "ping" without "n"|client B is answered|?`
	if strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
}
