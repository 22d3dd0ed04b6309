package externalagent

import (
	"context"
	"net/http"
	"strings"

	"github.com/cucumber/godog"

	"parley/driver"
	"parley/monitor"
	judge "parley/monitor/externalagent"
	"parley/monitor/externalagent/toolschema"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	"parley/transcript"
)

// suite is the external-agent side of one scenario's world.
type suite struct {
	*steps.World
	wire       target.ExternalAgent
	parties    map[string]*party
	plays      map[string]*play  // the hosts that the harness plays, by relay session
	hosts      map[string]*party // by which connections, where the target is a relay
	hostless   bool              // no host is to join by itself
	mark       int               // the latest act of anybody
	agent      *callee           // the target, where it is an agent
	word       string            // the latest that was said, to be known by
	traces     []string          // what was said in a session that must not outlive it
	spoken     string            // what the participant said last
	spokenAt   int               // behind which record
	drift      drift             // what changes by itself, as this scenario has seen it
	observed   bool              // it has looked for that in a session of its own
	perSession drift             // what two sessions tell differently, such as their ids; for this scenario alone, as it hides much
	walked     []state           // how a session goes: its first state, and those behind the calls of the booking but the last
	reads      map[string]string // logs as they were read, by the names that the target gives them
	oddities   map[string]bool   // what was noted of announced schemas
	behind     map[string]bool   // what a state.updated has not told, by party and kind: it is not awaited again in this scenario
	read       struct {          // the toolSchema that was read last
		list  []any
		tools toolschema.Tools
	}
}

// Protocol is the external-agent entry of the suite.
type Protocol struct{}

// Name implements steps.Protocol.
func (Protocol) Name() string { return vocab.Protocol }

// Roles implements steps.Roled.
func (Protocol) Roles() []string { return []string{vocab.Host, vocab.Relay, vocab.Agent} }

// Vet implements steps.Vetter: it reads the flow that a profile names.
func (Protocol) Vet(p *target.Profile) error {
	_, err := loadFlow(p.FlowFile())
	return err
}

// Bind implements steps.Protocol: the decoder of a scenario's records.
func (Protocol) Bind(*steps.Env, target.Running) func(*transcript.Record) { return (&repeats{}).decode }

// NotRunnable implements steps.Protocol.
func (Protocol) NotRunnable(env *steps.Env, tags []string) string {
	p := env.Profile.ExternalAgent
	for _, t := range tags {
		switch {
		case t == "@booking" && env.Role == vocab.Host && len(p.Booking) == 0:
			return "the profile has no booking path (external-agent.booking)"
		case t == "@log" && env.Role == vocab.Host && p.Logs == "":
			return "the profile does not say where the logs are (external-agent.logs)"
		}
	}
	return ""
}

// Monitors implements steps.Protocol.
func (Protocol) Monitors() []monitor.Monitor { return judge.All() }

// Subprotocols implements steps.Protocol.
func (Protocol) Subprotocols(p *target.Profile) []string { return p.ExternalAgent.WS.Subprotocols }

// Certifying implements steps.Protocol.
func (Protocol) Certifying() []string { return []string{target.WS} }

// Stages implements steps.Protocol.
func (Protocol) Stages() [3]string { return [3]string{"connecting", "joining", "the first exchange"} }

// Register implements steps.Protocol.
func (Protocol) Register(sc *godog.ScenarioContext, world func() *steps.World) {
	s := &suite{parties: map[string]*party{}, plays: map[string]*play{}, hosts: map[string]*party{}, reads: map[string]string{}, oddities: map[string]bool{}, behind: map[string]bool{}}
	sc.Before(func(ctx context.Context, _ *godog.Scenario) (context.Context, error) {
		if w := world(); w != nil {
			s.World, s.wire = w, w.Env.Profile.ExternalAgent
			w.T.Remark("", "%s%s", judge.CodeAt, s.wire.Fields.ErrorCode)
			w.T.Remark("", "%s%s", judge.CodesAt, pointers(s.wire.Fields.ResultCode))
			w.AtEnd(s.close)
		}
		return ctx, nil
	})
	s.registerJoining(sc)
	s.registerRequests(sc)
	s.registerSessions(sc)
	s.registerCalls(sc)
	s.registerStates(sc)
	s.registerRefusing(sc)
	s.registerNulls(sc)
	s.registerSpeaking(sc)
	s.registerLogs(sc)
	s.registerRelaying(sc)
	s.registerAgent(sc)
}

func pointers(list target.Pointers) string {
	var out []string
	for _, p := range list {
		out = append(out, string(p))
	}
	return strings.Join(out, " ")
}

// close ends what a scenario leaves behind: the study session, where others share it, and who was started or plays.
func (s *suite) close() {
	if s.agent != nil {
		s.agent.stop()
	}
	if s.shared() {
		s.endSessions()
		for _, p := range s.parties { // the next scenario joins the same relay session
			if p.conn != nil && s.endedAt(p) == 0 {
				_ = p.conn.Close(driver.Graceful)
			}
		}
	}
	for _, pl := range s.plays {
		pl.stop()
	}
}

// shared tells whether all scenarios join the one relay session that the target has.
func (s *suite) shared() bool {
	return s.Env.Role == vocab.Host && s.fixed()
}

// relaySession is the relay session of the scenario, or, for a name, another one of its own.
func (s *suite) relaySession(name string) string {
	base := s.wire.SessionFor(s.Nonce)
	if name == "" {
		return base
	}
	return base + "-" + name
}

// fixed tells whether the profile names one relay session for all scenarios.
func (s *suite) fixed() bool { return s.wire.SessionFor("a") == s.wire.SessionFor("b") }

// header is sent with every connection to the target.
func (s *suite) header() http.Header {
	h := http.Header{}
	for k, v := range s.Env.Profile.Headers {
		h.Set(k, v)
	}
	return h
}

// endedAt is the number of the record by which the target has ended a party's present connection; 0: it stands.
func (s *suite) endedAt(p *party) int {
	for _, r := range s.T.After(p.looked) {
		p.looked = r.N
		if r.Conn == p.name && closed(&r) {
			p.ended = r.N
			break
		}
	}
	return p.ended
}

func (s *suite) url() string { return s.Target.BaseURL() + s.wire.WS.Path }
