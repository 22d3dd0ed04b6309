package externalagent

import (
	"context"
	"net/http"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/toolschema"
	"parley/transport/driver"
)

// suite is the external-agent side of one scenario's world.
type suite struct {
	*steps.World
	title    string // of the scenario
	wire     binding.Binding
	parties  map[string]*party
	plays    map[string]*play     // the played hosts, by relay session
	pages    map[string]*hostPage // the pages of the target, by relay session
	hosts    map[string]*party    // their connections if the target is a relay
	hostless bool                 // no host joins by itself
	mark     int                  // the mark of the latest act
	agent    *callee              // the target if it is an agent
	cut      int                  // the remark that a connection was cut on purpose, or 0
	earlier  int                  // number of connections of agents stopped before this one
	word     string               // the word in the latest text, to recognise it
	traces   []string             // words of a session that must not outlive it
	spoken   string               // what the participant last said
	spokenAt int                  // after which record
	drift    drift                // what changes by itself, as seen in this scenario
	adopted  int                  // number of places taken over from other scenarios
	observed bool                 // it has looked for that in another session
	// what differs between two sessions, such as ids; for this scenario only, as it hides much
	perSession drift
	// how a session proceeds: its first state and those after the calls of the booking except the last
	walked   []state
	reads    map[string]logPart // contents of logs that were read, by the target's names
	oddities map[string]bool    // notes on announced schemas
	// misses of state.updated, by party and kind, which are not awaited again in this scenario
	missedUpdates map[string]bool
	carriedOut    string   // the model ended by executing refused calls; "": none
	provoking     string   // the key of the calls that are being made to provoke an error; ""
	read          struct { // the toolSchema that was read last
		list  []any
		tools toolschema.Tools
	}
}

// close cleans up after a scenario: its study session if the relay session is shared, the agent and the plays.
func (s *suite) close(ctx context.Context) {
	defer s.endPages(ctx)
	s.tellChanges()
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

// learnt returns the value of type T shared by the scenarios of a run; it begins as the zero value.
func learnt[T any](s *suite) *T {
	v, _ := s.Env.Learnt.LoadOrStore((*T)(nil), new(T))
	return v.(*T)
}

// shared reports whether all scenarios join the target's only relay session.
func (s *suite) shared() bool {
	return s.Env.Role == vocab.Host && s.fixed()
}

// relaySession returns the relay session of the scenario or, for a name, another one of its own.
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

// endedAt returns the record by which the target ended a party's present connection, or 0 while it is open.
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
