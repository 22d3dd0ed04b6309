package externalagent

import (
	"context"
	"io/fs"
	"strings"

	"github.com/cucumber/godog"

	"parley/features"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/doctor"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/checkup"
	judge "parley/steps/externalagent/invariants"
	"parley/steps/externalagent/passive"
	"parley/steps/externalagent/probe"
	"parley/steps/monitor"
	engine "parley/steps/probe"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Protocol is the external-agent entry of the suite.
type Protocol struct{}

// Kind implements steps.Protocol.
func (Protocol) Kind() target.Kind { return binding.Kind() }

// Features implements steps.Protocol.
func (Protocol) Features() fs.FS { return features.FS }

// Vet implements steps.Vetter. It checks the flow file that a profile names.
func (Protocol) Vet(p *target.Profile) error {
	_, err := loadFlow(binding.FlowFile(p))
	return err
}

// Bind implements steps.Protocol. It returns the decoder of a scenario's records.
func (Protocol) Bind(*steps.Env, target.Running) func(*transcript.Record) { return (&repeats{}).decode }

// NotRunnable implements steps.Protocol.
func (Protocol) NotRunnable(env *steps.Env, tags []string) string {
	p := binding.Of(env.Profile)
	for _, t := range tags {
		switch {
		case t == "@booking" && env.Role == vocab.Host && len(p.Booking) == 0:
			return "the profile has no booking path (external-agent.booking)"
		case t == "@log" && env.Role == vocab.Host && p.Logs == "":
			return "the profile does not name the log folder (external-agent.logs)"
		}
	}
	return ""
}

// Monitors implements steps.Protocol.
func (Protocol) Monitors() []monitor.Monitor { return append(judge.All(), passive.Active()...) }

// Passive implements steps.Passive.
func (Protocol) Passive() []monitor.Monitor { return passive.Monitors() }

// Subprotocols implements steps.Protocol.
func (Protocol) Subprotocols(p *target.Profile) []string { return binding.Of(p).WS.Subprotocols }

// Certifying implements steps.Protocol.
func (Protocol) Certifying() []string { return []string{target.WS} }

// Stages implements steps.Protocol.
func (Protocol) Stages() [3]string { return [3]string{"connecting", "joining", "the first exchange"} }

// Register implements steps.Protocol.
func (Protocol) Register(sc *godog.ScenarioContext, world func() *steps.World) {
	s := &suite{parties: map[string]*party{}, plays: map[string]*play{}, hosts: map[string]*party{},
		pages: map[string]*hostPage{}, reads: map[string]logPart{}, oddities: map[string]bool{},
		missedUpdates: map[string]bool{}}
	sc.Before(func(ctx context.Context, sc *godog.Scenario) (context.Context, error) {
		if w := world(); w != nil {
			s.title = sc.Name
			s.World, s.wire = w, *binding.Of(w.Env.Profile)
			w.T.Remark("", "%s%s", judge.CodeAt, s.wire.Fields.ErrorCode)
			w.T.Remark("", "%s%s", judge.CodesAt, pointers(s.wire.Fields.ResultCode))
			w.AtEnd(func() { s.close(ctx) })
			s.findsStrays()
			w.Severed = s.severed
		}
		return ctx, nil
	})
	s.register(sc)
}

func pointers(list target.Pointers) string {
	var out []string
	for _, p := range list {
		out = append(out, string(p))
	}
	return strings.Join(out, " ")
}

var (
	_ steps.Recognisable = Protocol{}
	_ steps.Prober       = Protocol{}
)

// Ours implements steps.Recognisable. It recognises an envelope with a version of the protocol, or a message that
// only a relay or host sends.
func (Protocol) Ours(message any, _ string) bool {
	switch steps.Text(message, "type") {
	case vocab.RelayJoined, vocab.SessionStarted, vocab.SnapshotState, vocab.StateUpdated, vocab.ToolResult,
		vocab.SessionEnded:
		return true
	}
	version, _, _ := strings.Cut(vocab.Version, "-")
	return strings.HasPrefix(steps.Text(message, "v"), version+"-")
}

// Heard implements steps.Recognisable.
func (p Protocol) Heard(ev *transcript.Event) bool { return p.Ours(ev.Envelope, "") }

// hellos joins a relay session for the probe.
const hellos = `{"v":"` + vocab.Version + `","type":"` + vocab.RelayJoin +
	`","id":"parley-hello","payload":{"role":"agent","sessionId":"parley-hello"}}`

// Places implements steps.Recognisable.
func (Protocol) Places() []steps.Place {
	say := []string{hellos}
	var out []steps.Place
	for _, path := range []string{vocab.Path, "/ws", "/agent", "/api/agent/ws", "/relay"} {
		out = append(out, steps.Place{Driver: target.WS, Path: path, Say: say})
	}
	return out
}

// Probe implements steps.Prober. It sends a message of an unknown type, which is refused quickly, and a join to a
// relay session for the probe.
func (Protocol) Probe(env *steps.Env, run target.Running) (driver.OpenOptions, []driver.Message, error) {
	o := driver.OpenOptions{Party: "probe", URL: run.BaseURL() + binding.Of(env.Profile).WS.Path,
		Header:   env.Profile.Header(),
		MaxEvent: int(env.Profile.Limits.MaxEvent)}
	hello := `{"v":"` + vocab.Version + `","type":"parley.hello","id":"parley-hello-2","payload":{}}`
	return o, []driver.Message{{Label: "parley.hello", Body: []byte(hello)},
		{Label: vocab.RelayJoin, Body: []byte(hellos)}}, nil
}

// PlaceKey implements steps.Recognisable.
func (Protocol) PlaceKey(string) string { return "external-agent.ws.path" }

// Init implements probe.Probing.
func (Protocol) Init() engine.Guide { return probe.Guide() }

// Doctor implements doctor.Examinable.
func (Protocol) Doctor() doctor.Guide { return checkup.Guide() }
