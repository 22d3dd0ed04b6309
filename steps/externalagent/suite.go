package externalagent

import (
	"net/http"

	"parley/driver"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/toolschema"
)

// suite is the external-agent side of one scenario's world.
type suite struct {
	*steps.World
	wire     binding.Binding
	parties  map[string]*party
	plays    map[string]*play  // the hosts that the harness plays, by relay session
	hosts    map[string]*party // by which connections, where the target is a relay
	hostless bool              // no host is to join by itself
	mark     int               // the latest act of anybody
	agent    *callee           // the target, where it is an agent
	earlier  int               // connections of agents that were stopped before this one
	word     string            // the latest that was said, to be known by
	traces   []string          // what was said in a session that must not outlive it
	spoken   string            // what the participant said last
	spokenAt int               // behind which record
	drift    drift             // what changes by itself, as this scenario has seen it
	observed bool              // it has looked for that in a session of its own
	// what two sessions tell differently, such as their ids; for this scenario alone, as it hides much
	perSession drift
	// how a session goes: its first state, and those behind the calls of the booking but the last
	walked   []state
	reads    map[string]string // logs as they were read, by the names that the target gives them
	oddities map[string]bool   // what was noted of announced schemas
	// what a state.updated has not told, by party and kind: it is not awaited again in this scenario
	behind     map[string]bool
	carriedOut string   // the model that refused calls have ended, as they were carried out; "": none were
	read       struct { // the toolSchema that was read last
		list  []any
		tools toolschema.Tools
	}
}

// close ends what a scenario leaves behind: the study session, where others share it, and who was started or plays.
func (s *suite) close() {
	if s.agent != nil {
		s.learnPromptness()
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

// learnt is what the scenarios of a run keep of one kind; it begins with the zero value.
func learnt[T any](s *suite) *T {
	v, _ := s.Env.Learnt.LoadOrStore((*T)(nil), new(T))
	return v.(*T)
}

// shared reports whether all scenarios join the one relay session that the target has.
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

// fixed reports whether the profile names one relay session for all scenarios.
func (s *suite) fixed() bool { return s.wire.SessionFor("a") == s.wire.SessionFor("b") }

// header is sent with every connection to the target.
func (s *suite) header() http.Header { return s.Env.Profile.Header() }

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
