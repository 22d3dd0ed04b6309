package externalagent

import (
	"context"
	"io/fs"
	"net/http"
	"strings"

	"github.com/cucumber/godog"

	"parley/features"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/doctor"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/checkup"
	"parley/steps/externalagent/model"
	"parley/steps/externalagent/probe"
	"parley/steps/monitor"
	"parley/steps/obligation"
	engine "parley/steps/probe"
	"parley/steps/toolschema"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// suite is the external-agent side of one scenario's world.
type suite struct {
	*steps.World
	model.Comparison
	title    string // of the scenario
	wire     binding.Binding
	parties  map[string]*party
	plays    map[string]*play     // the played hosts, by relay session
	pages    map[string]*hostPage // the pages of the target, by relay session
	hosts    map[string]*party    // their connections if the target is a relay
	hostless bool                 // no host joins by itself
	judge    judge
	mark     int      // the mark of the latest act
	agent    *callee  // the target if it is an agent
	cut      int      // the remark that a connection was cut on purpose, or 0
	earlier  int      // number of connections of agents stopped before this one
	word     string   // the word in the latest text, to recognise it
	traces   []string // words of a session that must not outlive it
	spoken   string   // what the participant last said
	spokenAt int      // after which record
	drift    drift    // what changes by itself, as seen in this scenario
	adopted  int      // number of places taken over from other scenarios
	observed bool     // it has looked for that in another session
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
func (Protocol) Monitors() []monitor.Monitor { return model.All() }

// Model implements steps.Modelled.
func (Protocol) Model(role string, o obligation.Observer) obligation.Model { return model.New(role, o) }

// Chart implements steps.Charted.
func (Protocol) Chart(role string) (obligation.Chart, error) { return model.Chart(role) }

// Passive implements steps.Passive.
func (Protocol) Passive() []monitor.Monitor { return model.Foreign() }

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
	s.Settled = s.settled
	sc.Before(func(ctx context.Context, sc *godog.Scenario) (context.Context, error) {
		if w := world(); w != nil {
			s.title = sc.Name
			s.World, s.wire = w, *binding.Of(w.Env.Profile)
			w.T.Remark("", "%s%s", model.CodeAt, s.wire.Fields.ErrorCode)
			w.T.Remark("", "%s%s", model.CodesAt, pointers(s.wire.Fields.ResultCode))
			w.AtEnd(func() { s.close(ctx) })
			s.findsStrays()
			w.Severed = s.severed
			w.Model = func() obligation.Model { return s.model() }
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
	_ steps.Modelled     = Protocol{}
	_ steps.Charted      = Protocol{}
)

// IsServerMessage implements steps.Recognisable. It recognises an envelope with a version of the protocol, or a message
// that only a relay or host sends.
func (Protocol) IsServerMessage(message any, _ string) bool {
	switch steps.Text(message, "type") {
	case vocab.RelayJoined, vocab.SessionStarted, vocab.SnapshotState, vocab.StateUpdated, vocab.ToolResult,
		vocab.SessionEnded:
		return true
	}
	version, _, _ := strings.Cut(vocab.Version, "-")
	return strings.HasPrefix(steps.Text(message, "v"), version+"-")
}

// IsServerEvent implements steps.Recognisable.
func (p Protocol) IsServerEvent(ev *transcript.Event) bool { return p.IsServerMessage(ev.Envelope, "") }

// hellos joins a relay session for the probe.
const hellos = `{"v":"` + vocab.Version + `","type":"` + vocab.RelayJoin +
	`","id":"parley-hello","payload":{"role":"agent","sessionId":"parley-hello"}}`

// UsualPlaces implements steps.Recognisable.
func (Protocol) UsualPlaces() []steps.Place {
	return steps.SocketPlaces([]string{hellos}, probe.UsualPaths...)
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

// Renamed implements steps.Renamer.
func (Protocol) Renamed() [][2]string {
	return [][2]string{
		{`^the course of a session is known$`, `the states of a session are known`},
		{`^the agent continues with what follows$`, `the agent continues with the messages that follow`},
		{`^the agent uses nothing that is no longer shown$`, `the agent uses only what is still shown`},
		{`^call ([^ ]+) is refused, and what it asks for is no longer announced$`,
			`call $1 is refused, and is no longer announced`},
		{`^(agent \w+) leaves traces of every kind$`, `$1 fills its session with messages and tool calls`},
		{`^(agent \w+ has a new session) without traces of the old one$`, `$1 that contains nothing of the old one`},
		{`^(agent \w+ calls "\w+"), and chooses again if it has to$`,
			`$1, choosing again if the host has forgotten the choices`},
		{`^(agent \w+ sends the participant \d+ messages? of \d+ KB, if the target) takes such$`,
			`$1 accepts that size`},
		{`^the session is gone (at call \d+)$`, `the host has lost the session $1`},
	}
}
