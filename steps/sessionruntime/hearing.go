package sessionruntime

import (
	"strings"

	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/sessionruntime/binding"
	judge "parley/steps/sessionruntime/invariants"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

var (
	_ steps.Recognisable = Protocol{}
	_ steps.Prober       = Protocol{}
)

// Ours implements steps.Recognisable: an answer to a set-up or a fence, or a bus message.
func (Protocol) Ours(message any, _ string) bool {
	switch steps.Text(message, "parley") {
	case vocab.Ready, vocab.Fenced, vocab.Problem:
		return true
	}
	return steps.Text(message, "event") != "" && steps.Has(message, "session_id", "target", "sender", "subtype") > 0
}

// Heard implements steps.Recognisable: a control frame, or an event that the profile names.
func (p Protocol) Heard(ev *transcript.Event) bool {
	return p.Ours(ev.Envelope, "") || ev.Type != "" && !strings.HasPrefix(ev.Type, "(") &&
		!strings.HasPrefix(ev.Type, "parley ")
}

// Places implements steps.Recognisable. A fence is answered even without a session.
func (Protocol) Places() []steps.Place {
	say := []string{`{"parley":"` + vocab.Fence + `","id":"parley-hello"}`}
	var out []steps.Place
	for _, path := range []string{vocab.Path, "/bus", "/ws", "/v1/bus"} {
		out = append(out, steps.Place{Driver: target.WS, Path: path, Say: say})
	}
	return out
}

// Probe implements steps.Prober: a fence, which is answered even without a session; nothing if the target does not
// support fences.
func (Protocol) Probe(env *steps.Env, run target.Running) (driver.OpenOptions, []driver.Message, error) {
	wire := binding.Of(env.Profile)
	if !wire.Fence {
		return driver.OpenOptions{}, nil, nil
	}
	o := driver.OpenOptions{Party: "probe", Header: env.Profile.Header(), MaxEvent: int(env.Profile.Limits.MaxEvent)}
	if env.Driver.Name() == target.Stdio {
		o.Process = target.Starter(run)
	} else {
		o.URL = run.BaseURL() + wire.WS.Path
	}
	fence := driver.Message{Label: judge.FenceFrame, Body: []byte(`{"parley":"` + vocab.Fence + `","id":"parley-hello"}`)}
	return o, []driver.Message{fence}, nil
}

// PlaceKey implements steps.Recognisable.
func (Protocol) PlaceKey(string) string { return "session-runtime.ws.path" }
