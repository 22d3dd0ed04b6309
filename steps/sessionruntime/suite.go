package sessionruntime

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"parley/features"
	"parley/features/verdict"
	"parley/internal/deadline"
	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/doctor"
	"parley/steps/monitor"
	"parley/steps/obligation"
	engine "parley/steps/probe"
	"parley/steps/sessionruntime/binding"
	"parley/steps/sessionruntime/checkup"
	judge "parley/steps/sessionruntime/model"
	"parley/steps/sessionruntime/probe"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// suite is the session-runtime side of one scenario's world.
type suite struct {
	*steps.World
	bind     *codec
	conn     driver.Conn
	opened   int // number of the last record before the connection was opened
	sessions map[string]*session
	now      *session // the session that the steps refer to
	limits   judge.Limits
	echo     bool              // the bus hands messages on SYSTEM and BROADCAST back to the orchestrator
	echoed   int               // number of the last record examined for that
	mark     int               // the latest act
	unfenced bool              // the latest fence was not answered
	pending  fenced            // the latest fence that was sent
	passed   int               // number of the last record by which all messages due by a fence had come or been awaited
	lost     int               // number of messages that were due by a fence and did not come in time
	cried    string            // stderr as of the latest act
	stray    *piece            // output of another session's turn
	ids      map[string]string // of agents that a scenario has given one, by letter
	before   inputs            // the inputs from before the cut of the bus
	late     []*piece          // output of their turns after it
	// proved absences; they count only if the scenario ran to its end
	absences []verdict.Finding

	bus  *judge.Bus // the model, which judges what the records show
	seen int        // the last record that it has taken
	// the model has found something broken
	deviated bool
}

// inputs are inputs by the names that a scenario gives them.
type inputs map[string]*input

// session is a session that the harness has set up.
type session struct {
	name, id  string
	inputs    map[string]*input
	handovers map[string]*handover
	agents    []string
	first     string // the agent active at set-up; "" is none
	active    string // the agent active now

	asked   int // number of the frontend's last request about agents or the session
	receipt int
	errorAt int
}

// Protocol is the session-runtime entry of the suite.
type Protocol struct{}

// Kind implements steps.Protocol.
func (Protocol) Kind() target.Kind { return binding.Kind() }

// Features implements steps.Protocol.
func (Protocol) Features() fs.FS { return features.FS }

// Bind implements steps.Protocol: it returns the decoder of a scenario's records.
func (Protocol) Bind(env *steps.Env, _ target.Running) func(*transcript.Record) {
	decode, others := newCodec(env.Profile).decode, otherSessions{env: env, own: map[string]bool{}}
	return func(r *transcript.Record) {
		decode(r)
		others.note(r)
	}
}

// NotRunnable implements steps.Protocol.
func (Protocol) NotRunnable(*steps.Env, []string) string { return "" }

// Monitors implements steps.Protocol.
func (Protocol) Monitors() []monitor.Monitor { return judge.All() }

// Model implements steps.Modelled.
func (Protocol) Model(_ string, o obligation.Observer) obligation.Model { return judge.New(o) }

// Chart implements steps.Charted.
func (Protocol) Chart(string) (obligation.Chart, error) { return judge.Chart() }

// Passive implements steps.Passive.
func (Protocol) Passive() []monitor.Monitor { return judge.TrafficMonitors() }

// Client implements steps.Clients.
func (Protocol) Client() (string, []monitor.Monitor) { return "bus", judge.PartyMonitors() }

// Subprotocols implements steps.Protocol.
func (Protocol) Subprotocols(p *target.Profile) []string { return binding.Of(p).WS.Subprotocols }

// Certifying implements steps.Protocol: an orchestrator is judged over either driver.
func (Protocol) Certifying() []string { return []string{target.WS, target.Stdio} }

// Stages implements steps.Protocol.
func (Protocol) Stages() [3]string {
	return [3]string{"connecting to the bus", "setting a session up", "routing an input"}
}

// Register implements steps.Protocol.
func (Protocol) Register(sc *godog.ScenarioContext, world func() *steps.World) {
	s := &suite{sessions: map[string]*session{}}
	sc.Before(func(ctx context.Context, _ *godog.Scenario) (context.Context, error) {
		if w := world(); w != nil {
			s.World, s.bind = w, newCodec(w.Env.Profile)
			if _, early := w.Env.Learnt.Load(earlyFence); early {
				s.bind.wire.Fence = false
			}
			s.bus = judge.NewBus(obligation.Ours)
			if w.Env.Strict {
				s.bus.Strict()
			}
			s.limits = judge.Limits{InputAck: unhurried, CancelAck: unhurried}
			if own := binding.Of(w.Env.Profile).Limits; own.Fixed {
				s.limits = judge.Limits{InputAck: own.InputAck.Duration, CancelAck: own.CancelAck.Duration}
			}
			w.AtEnd(func() { s.end(ctx) })
			w.Model = func() obligation.Model { return s.model() }
			w.Severed = s.severed
		}
		return ctx, nil
	})
	s.registerSessions(sc)
	s.registerTiming(sc)
	s.registerSevering(sc)
	steps.StepsAfter(sc, s.noSession, func() {
		s.registerTurns(sc)
		s.registerOutputs(sc)
		s.registerAgents(sc)
		s.registerHandovers(sc)
		s.registerExploring(sc)
	})
}

// unhurried is the limit for scenarios that do not test limits, far longer than any stall of the harness.
const unhurried = time.Minute

// end sends a last fence and judges the whole transcript by the model, on the clauses of the scenario's tags.
func (s *suite) end(ctx context.Context) {
	if s.conn == nil {
		return
	}
	// If the connection has ended, another fence would prove nothing; a scenario that is cut off judges nothing; a
	// target that was sent nothing has nothing left to do.
	if s.endedAt() == 0 && (s.Whole() || !s.unfenced) && ctx.Err() == nil && s.asked() {
		// The wait ends by itself, and a scenario that is cut off judges nothing: this deadline is for a send that hangs.
		l := s.Env.Profile.Limits
		limited, cancel := deadline.WithLimit(context.WithoutCancel(ctx), l.Event.Duration+l.Quiet.Duration+time.Second)
		defer cancel()
		err := s.fence(limited)
		if err == nil {
			s.awaitOverdue(limited)
		}
		if err == nil && !s.Broken() {
			defer func() { _ = s.conn.Close(driver.Graceful) }() // a healthy process may be reused
		}
	}
	_ = s.report("", s.T.Len(), nil)
	if s.Whole() {
		_ = s.Judge(s.absences...)
	}
	s.observe()
}

// asked reports whether anything was sent to the target.
func (s *suite) asked() bool {
	return slices.ContainsFunc(s.T.All(), func(r transcript.Record) bool {
		return r.Dir == transcript.Sent && r.Kind != transcript.Open
	})
}

// optional maps the clauses of optional events to those events.
var optional = map[string]string{"RT-081": vocab.AgentStarted, "RT-096": vocab.NobodySpeaks, "RT-101": vocab.CancelSent,
	"RT-114": vocab.AgentRemoving, "RT-125": vocab.AddingAgent}

// observe records the choices that the source leaves to the orchestrator.
func (s *suite) observe() {
	published := func(fits func(judge.Message) bool) bool { _, ok := s.find(0, fits); return ok }
	for id, name := range optional {
		what := name + " is not published"
		if published(func(m judge.Message) bool {
			return m.Target == vocab.ToFrontend && (m.Subtype == name || id == "RT-114" && m.Subtype == vocab.RemovedLocal)
		}) {
			what = name + " is published"
		}
		s.Observe(id, what)
	}
	s.Observe("RT-027", fmt.Sprintf("its bus delivers %s to it", strings.Join(s.bind.wire.Subscribes, " and ")))
	s.Observe("RT-118", "what else is sent to the frontend is not specified")
	s.Observe("RT-138", "HANDOVER_ACCEPTED is the new agent's answer; whether the orchestrator waits for it is not "+
		"observable")
	implicit := published(func(m judge.Message) bool { return m.Kind() == judge.Output })
	s.Observe("RT-143",
		map[bool]string{true: "a first chunk is an implicit start",
			false: "a first chunk is not forwarded without an acknowledgement"}[implicit])
	active := published(func(m judge.Message) bool { return m.Kind() == judge.Switch })
	s.Observe("RT-123",
		map[bool]string{true: "a new agent is made active, or switched to", false: "a new agent is not made active"}[active])
}

func member(r *transcript.Record, name string) any {
	data, _ := r.Event.Data.(map[string]any)
	return data[name]
}

// agent returns the id of an agent that a scenario calls by a letter: the first letters stand for the profile's
// agents, any other is a new agent.
func (s *suite) agent(letter string) string {
	if id := s.ids[letter]; id != "" {
		return id
	}
	if i := strings.Index("abcdefgh", letter); len(letter) == 1 && i >= 0 && i < len(binding.Of(s.Env.Profile).Agents) {
		return binding.Of(s.Env.Profile).Agents[i]
	}
	return "agent-" + letter + "-" + s.Nonce
}

// belongs reports whether a message belongs to a session. If there is only one session, a message without a
// session_id does.
func (s *suite) belongs(m judge.Message, of *session) bool {
	return of != nil && (m.Session == of.id || m.Session == "" && len(s.sessions) == 1)
}

// Doctor implements doctor.Examinable.
func (Protocol) Doctor() doctor.Guide { return checkup.Guide() }

// Init implements probe.Probing.
func (Protocol) Init() engine.Guide { return probe.Guide() }

// ConnectionsIndependent implements steps.IndependentConnections: each connection is a bus with its own sessions, whose
// ids may recur on other buses.
func (Protocol) ConnectionsIndependent(string) bool { return true }

// Renamed implements steps.Renamer.
func (Protocol) Renamed() [][2]string {
	return [][2]string{
		{`^(in session "\w+")$`, `the next steps are $1`},
		{`^the agents go on with (the turns from before the cut)$`, `the agents continue $1`},
		{`^none of that is forwarded$`, `none of that output is forwarded`},
		{`^the bus hands back what is published on SYSTEM and BROADCAST$`,
			`the orchestrator receives what it publishes on SYSTEM and BROADCAST`},
		{`^(an input "[^"]*") that nobody has said$`, `$1 that was never sent`},
		{`^(the user says "[^"]*" with @ and the name of agent "[^"]*") in the text alone$`, `$1 only in the text`},
		{`^what was sent of ("[^"]*" is delivered by a second subscription)$`, `the output of $1`},
		{`^("[^"]*" reaches) nobody$`, `$1 no agent`},
		{`^each of the ([^ ]+) turns has a turn_id of its own$`, `the $1 turns have different turn_ids`},
		{`^(agent "[^"]*" sends a final) alone (of .*)$`, `$1 without chunks $2`},
		{`^(agent "[^"]*") says the same in (another chunk of "[^"]*")$`, `$1 repeats its text in $2`},
		{`^the frontend gets what was sent of ("[^"]*")$`, `the frontend receives the output of $1`},
		{`^the frontend does not get what was sent of ("[^"]*")$`, `the frontend does not receive the output of $1`},
		{`^(agent "[^"]*" sends a chunk of) the other session's ("[^"]*") of ("[^"]*")$`, `$1 $2 of session $3`},
		{`^(the user is asked whether agent "[^"]*" may take) ("[^"]*") over$`, `$1 over $2`},
		{`^(the user confirms a handover to agent "[^"]*") that nobody has asked for$`,
			`$1 that no agent has requested`},
	}
}
