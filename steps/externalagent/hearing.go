package externalagent

import (
	"strings"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	"parley/transcript"
)

var _ steps.Recognisable = Protocol{}

// Ours implements steps.Recognisable: an envelope with a version of the protocol, or a message that only a relay or a host sends.
func (Protocol) Ours(message any, _ string) bool {
	switch steps.Text(message, "type") {
	case vocab.RelayJoined, vocab.SessionStarted, vocab.SnapshotState, vocab.StateUpdated, vocab.ToolResult, vocab.SessionEnded:
		return true
	}
	version, _, _ := strings.Cut(vocab.Version, "-")
	return strings.HasPrefix(steps.Text(message, "v"), version+"-")
}

// Heard implements steps.Recognisable.
func (p Protocol) Heard(ev *transcript.Event) bool { return p.Ours(ev.Envelope, "") }

// Places implements steps.Recognisable. The join is into a relay session of the harness's own.
func (Protocol) Places() []steps.Place {
	say := []string{`{"v":"` + vocab.Version + `","type":"` + vocab.RelayJoin +
		`","id":"parley-hello","payload":{"role":"agent","sessionId":"parley-hello"}}`}
	var out []steps.Place
	for _, path := range []string{vocab.Path, "/ws", "/agent", "/api/agent/ws", "/relay"} {
		out = append(out, steps.Place{Driver: target.WS, Path: path, Say: say})
	}
	return out
}

// PlaceKey implements steps.Recognisable.
func (Protocol) PlaceKey(string) string { return "external-agent.ws.path" }
