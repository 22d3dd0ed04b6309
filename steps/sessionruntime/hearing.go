package sessionruntime

import (
	"strings"

	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/target"
	"parley/transcript"
)

var _ steps.Recognisable = Protocol{}

// Ours implements steps.Recognisable: an answer to a set-up or a fence, or a message on a bus.
func (Protocol) Ours(message any, _ string) bool {
	switch steps.Text(message, "parley") {
	case vocab.Ready, vocab.Fenced, vocab.Problem:
		return true
	}
	return steps.Text(message, "event") != "" && steps.Has(message, "session_id", "target", "sender", "subtype") > 0
}

// Heard implements steps.Recognisable: a frame of its own, or an event that the profile names.
func (p Protocol) Heard(ev *transcript.Event) bool {
	return p.Ours(ev.Envelope, "") || ev.Type != "" && !strings.HasPrefix(ev.Type, "(") && !strings.HasPrefix(ev.Type, "parley ")
}

// Places implements steps.Recognisable. A fence is answered by who has no session, too.
func (Protocol) Places() []steps.Place {
	say := []string{`{"parley":"` + vocab.Fence + `","id":"parley-hello"}`}
	var out []steps.Place
	for _, path := range []string{vocab.Path, "/bus", "/ws", "/v1/bus"} {
		out = append(out, steps.Place{Driver: target.WS, Path: path, Say: say})
	}
	return out
}

// PlaceKey implements steps.Recognisable.
func (Protocol) PlaceKey(string) string { return "session-runtime.ws.path" }
