package sessionchat

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"parley/features"
	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/steps/doctor"
	"parley/steps/monitor"
	"parley/steps/obligation"
	engine "parley/steps/probe"
	"parley/steps/sessionchat/binding"
	"parley/steps/sessionchat/checkup"
	"parley/steps/sessionchat/model"
	"parley/steps/sessionchat/probe"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// suite is the session-chat side of one scenario's world.
type suite struct {
	*steps.World
	bind     *codec
	clients  map[string]*client
	sessions map[string]*session
	mark     int    // the latest act of any client: absence is judged from here
	illegal  *query // the last message that must not start a session
	judge    judge
}

// client is a client of a scenario with one connection.
type client struct {
	name    string
	conn    driver.Conn
	openErr error
	opened  int // record of the request for the connection
	ping    int // record of its last ping
}

// Protocol is the session-chat entry of the suite.
type Protocol struct{}

// Kind implements steps.Protocol.
func (Protocol) Kind() target.Kind { return binding.Kind() }

// Features implements steps.Protocol.
func (Protocol) Features() fs.FS { return features.FS }

// Bind implements steps.Protocol: it returns the decoder of a scenario's records.
func (Protocol) Bind(env *steps.Env, run target.Running) func(*transcript.Record) {
	decode, again := newCodec(env.Profile, run.BaseURL()).decode, repeats{env: env}
	return func(r *transcript.Record) {
		decode(r)
		again.note(r)
	}
}

// NotRunnable implements steps.Protocol.
func (Protocol) NotRunnable(env *steps.Env, tags []string) string {
	for _, t := range tags {
		switch {
		case t == "@model" && env.Brain == nil:
			return noModel
		case t == "@running-turn" && env.Brain == nil && env.Profile.Provoke.RunningTurn == "":
			return "running_turn: " + noModel + ", and provoke.running_turn names no message with a slow answer"
		}
	}
	return ""
}

const noModel = "the target does not use the model stub (give model.env or model.hook in the profile)"

// Monitors implements steps.Protocol.
func (Protocol) Monitors() []monitor.Monitor { return model.All() }

// Model implements steps.Modelled.
func (Protocol) Model(_ string, o obligation.Observer) obligation.Model { return model.New(o) }

// Chart implements steps.Charted.
func (Protocol) Chart(string) (obligation.Chart, error) { return model.Chart() }

// Passive returns the monitors for foreign traffic.
func (Protocol) Passive() []monitor.Monitor { return model.Foreign() }

// Client implements steps.Clients.
func (Protocol) Client() (string, []monitor.Monitor) { return "frontend", model.Client() }

// Subprotocols implements steps.Protocol.
func (Protocol) Subprotocols(p *target.Profile) []string { return binding.Of(p).WS.Subprotocols }

// Certifying implements steps.Protocol.
func (Protocol) Certifying() []string { return []string{target.WS} }

// MaxWaitingTurns implements steps.Holder.
func (Protocol) MaxWaitingTurns(sc *godog.Scenario) (n int) {
	for _, st := range sc.Steps {
		if strings.HasSuffix(st.Text, " that is held") {
			n++
		}
	}
	return n
}

// Stages implements steps.Protocol.
func (Protocol) Stages() [3]string {
	return [3]string{"connecting", "starting a session", "ending a turn"}
}

// Register implements steps.Protocol.
func (Protocol) Register(sc *godog.ScenarioContext, world func() *steps.World) {
	s := &suite{clients: map[string]*client{}, sessions: map[string]*session{}}
	sc.Before(func(ctx context.Context, _ *godog.Scenario) (context.Context, error) {
		if w := world(); w != nil {
			s.World = w
			s.bind = newCodec(w.Env.Profile, w.Target.BaseURL())
			s.findsStrays()
			w.Severed = s.severed
			w.Model = func() obligation.Model { return s.model() }
			if idle := binding.Of(w.Env.Profile).Idle.Duration; idle > 0 {
				w.T.Remark("", "%s%v", model.Idle, idle)
			}
		}
		return ctx, nil
	})
	s.registerConnecting(sc)
	s.registerChatting(sc)
	s.registerSeries(sc)
	s.registerSessions(sc)
	s.registerTurns(sc)
	s.registerRefusing(sc)
	s.registerAbsence(sc)
	s.registerExploring(sc)
	s.registerSevering(sc)
	s.registerKilling(sc)
}

// header returns the header for every connection to the target.
func (s *suite) header() http.Header { return s.Env.Profile.Header() }

func (s *suite) client(name string) *client {
	c, ok := s.clients[name]
	if !ok {
		c = &client{name: name}
		s.clients[name] = c
	}
	return c
}

// send sends a message as a client's act, and connects the client if necessary.
func (s *suite) send(ctx context.Context, c *client, m driver.Message) (int, error) {
	if err := s.connected(ctx, c); err != nil {
		return 0, err
	}
	if stays := s.model().Stays(c.name); !stays.OK {
		c.conn = nil
		return 0, s.Need(stays)
	}
	mark, err := c.conn.Send(ctx, m)
	if at := s.endedAt(c); at > 0 && (err != nil || at < mark) {
		by := s.T.After(at - 1)[0].Line(200)
		return 0, steps.NotTestedf("the target has closed the connection of client %s before: %s", c.name, by)
	}
	if err != nil {
		return 0, fmt.Errorf("client %s: send %s: %w", c.name, m.Label, err)
	}
	if mark == 0 {
		s.CutOff()
		return 0, steps.NotTestedf("the transcript is full: the target has sent more than it holds")
	}
	return mark, nil
}

// endedAt returns the number of the record where the target ended a client's current connection; 0: it is open.
func (s *suite) endedAt(c *client) int {
	for _, r := range s.Between(c.name, c.opened, 0) {
		if r.Kind == transcript.Closed || r.Kind == transcript.Failure {
			return r.N
		}
	}
	return 0
}

// Doctor implements doctor.Examinable.
func (Protocol) Doctor() doctor.Guide { return checkup.Guide() }

// Init implements probe.Probing.
func (Protocol) Init() engine.Guide { return probe.Guide() }

// Renamed implements steps.Renamer.
func (Protocol) Renamed() [][2]string {
	return [][2]string{
		{`^(the answer to client \w+ is) noted$`, `$1 recorded`},
		{`^it is noted (whether client \w+ is answered by "[^"]*")$`, `$1 is recorded`},
		{`^it is noted which model was asked for "([^"]*)"$`, `the model that was asked for "$1" is recorded`},
		{`^every message of "([^"]*)" has had its session_id$`, `every message of "$1" has its session_id`},
		{`^client (\w+) receives the words of the model for "([^"]*)" unchanged$`,
			`client $1 receives the text of the model for "$2" unchanged`},
		{`^the model was sent the text of "([^"]*)" as it was written$`,
			`the model was sent the text of "$1" unchanged`},
		{`^the target uses the model that options name$`, `the target uses the model named in options`},
		{`^(client \w+ chats with "\w+" under) the (agent_id of [^"]+)$`, `$1 an $2`},
		{`^it starts no session$`, `that message starts no session`},
		{`^the target has handled what client (\w+) sent$`, `the target has handled every message of client $1`},
	}
}

var (
	_ steps.Modelled     = Protocol{}
	_ steps.Recognisable = Protocol{}
	_ steps.Prober       = Protocol{}
)

// IsServerMessage implements steps.Recognisable: a message with a message_type, or with most of the other members.
func (Protocol) IsServerMessage(message any, _ string) bool {
	return steps.Text(message, vocab.MessageType) != "" ||
		steps.Has(message, vocab.AgentID, vocab.SessionID, vocab.Body, vocab.Timestamp) > 2
}

// IsServerEvent implements steps.Recognisable: a message of a known type at the profile's location.
func (Protocol) IsServerEvent(ev *transcript.Event) bool {
	return ev.Type != "" && ev.Type != foreign(ev.Type) && known[ev.Type]
}

var known = map[string]bool{vocab.SystemMessage: true, vocab.StreamMessage: true, vocab.AssistantMessage: true,
	vocab.ResultMessage: true, vocab.PongMessage: true}

// UsualPlaces implements steps.Recognisable. A ping has no effect, and an unknown type is refused.
func (Protocol) UsualPlaces() []steps.Place {
	return steps.SocketPlaces([]string{`{"type":"` + vocab.PingType + `"}`, `{"type":"parley-hello"}`},
		probe.UsualPaths...)
}

// Probe implements steps.Prober: a ping, and a chat without agent_id, which is refused (SC-030).
func (Protocol) Probe(env *steps.Env, run target.Running) (driver.OpenOptions, []driver.Message, error) {
	s := &suite{World: &steps.World{Env: env}, bind: newCodec(env.Profile, run.BaseURL())}
	ping, err := s.bind.message(vocab.PingType, nil)
	if err != nil {
		return driver.OpenOptions{}, nil, err
	}
	chat, err := s.bind.message(vocab.ChatType, fields{vocab.Content: "parley-hello"})
	o := driver.OpenOptions{Party: "probe", URL: s.bind.url(), Header: s.header()}
	o.MaxEvent = int(env.Profile.Limits.MaxEvent)
	return o, []driver.Message{ping, chat}, err
}

// PlaceKey implements steps.Recognisable.
func (Protocol) PlaceKey(string) string { return "session-chat.ws.path" }

// pass records that clauses are satisfied, as the requests to the model show.
func (s *suite) pass(clauses []string, at int) error {
	return s.Judge(verdict.Finding{Clauses: clauses, OK: true, At: at, Judge: verdict.ByLLM})
}

// breach records that clauses are broken.
func (s *suite) breach(clauses []string, at int, expected, observed string) error {
	return s.Judge(verdict.Finding{Clauses: clauses, Expected: expected, Observed: observed, At: at,
		Judge: verdict.ByLLM})
}

// lastTurn returns the last turn of a session.
func (s *suite) lastTurn(name string) (*turn, error) {
	if t := s.session(name).turn(); t != nil {
		return t, nil
	}
	return nil, steps.NotTestedf("no client has chatted with %s", name)
}

// heldTurn returns the last turn of a session, whose model waits.
func (s *suite) heldTurn(name string) (*turn, error) {
	if t := s.session(name).turn(); t != nil && t.held {
		return t, nil
	}
	return nil, steps.NotTestedf("no turn of %s is held", name)
}

// askedTurn returns the last turn of a session, for which the model was asked.
func (s *suite) askedTurn(name string) (*turn, error) {
	if t := s.session(name).turn(); t != nil && len(s.calls(t)) > 0 {
		return t, nil
	}
	return nil, steps.NotTestedf("the model was not asked for a chat of %s", name)
}

// refused reports whether an error about its session came after a chat.
func (s *suite) refused(t *turn) bool {
	return slices.ContainsFunc(s.Between(t.client, t.mark, 0), func(r transcript.Record) bool {
		return ofSession(t.of, vocab.ErrorMessage)(&r)
	})
}
