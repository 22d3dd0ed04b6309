// Package desk holds targets to docs/ticket-desk.md: what a profile may say (binding.go), how messages look on the
// wire (codec.go), what the steps of the features do (connecting.go, tickets.go, answers.go, and suite.go for what
// they share), and what must hold in every transcript (monitors.go).
package desk

import (
	"context"
	"io/fs"
	"slices"

	"github.com/cucumber/godog"

	"example.org/tickets/features"
	"parley/steps"
	"parley/steps/monitor"
	"parley/target"
	"parley/transport/transcript"
)

// Protocol is ticket-desk for Parley's engine.
type Protocol struct{}

var _ steps.Recognisable = Protocol{}

// Kind implements steps.Protocol.
func (Protocol) Kind() target.Kind { return kind() }

// Features implements steps.Protocol.
func (Protocol) Features() fs.FS { return features.FS }

// Bind implements steps.Protocol.
func (Protocol) Bind(env *steps.Env, run target.Running) func(*transcript.Record) {
	return newCodec(env.Profile, run.BaseURL(), env.Driver.Name()).decode
}

// NotRunnable implements steps.Protocol.
func (Protocol) NotRunnable(*steps.Env, []string) string { return "" }

// Monitors implements steps.Protocol.
func (Protocol) Monitors() []monitor.Monitor { return monitors() }

// Subprotocols implements steps.Protocol.
func (Protocol) Subprotocols(p *target.Profile) []string { return Of(p).WS.Subprotocols }

// Certifying implements steps.Protocol: a target conforms by either.
func (Protocol) Certifying() []string { return []string{target.SSE, target.WS} }

// Stages implements steps.Protocol.
func (Protocol) Stages() [3]string {
	return [3]string{"connecting", "opening a ticket", "being answered"}
}

// Register implements steps.Protocol.
func (Protocol) Register(sc *godog.ScenarioContext, world func() *steps.World) {
	s := &suite{clients: map[string]*client{}}
	sc.Before(func(ctx context.Context, _ *godog.Scenario) (context.Context, error) {
		if w := world(); w != nil {
			s.World, s.codec = w, newCodec(w.Env.Profile, w.Target.BaseURL(), w.Env.Driver.Name())
		}
		return ctx, nil
	})
	s.registerConnecting(sc)
	s.registerTickets(sc)
	s.registerAnswers(sc)
}

// IsServerMessage implements steps.Recognisable.
func (Protocol) IsServerMessage(message any, _ string) bool {
	return slices.Contains(events, steps.Text(message, "type")) && steps.Has(message, "seq") == 1
}

// IsServerEvent implements steps.Recognisable.
func (Protocol) IsServerEvent(ev *transcript.Event) bool { return slices.Contains(events, ev.Type) }

// UsualPlaces implements steps.Recognisable.
func (Protocol) UsualPlaces() []steps.Place {
	return []steps.Place{
		{Driver: target.SSE, Path: Default().SSE.Events},
		{Driver: target.WS, Path: Default().WS.Path},
	}
}

// PlaceKey implements steps.Recognisable.
func (Protocol) PlaceKey(driver string) string {
	if driver == target.WS {
		return ID + ".ws.path"
	}
	return ID + ".sse.events"
}
