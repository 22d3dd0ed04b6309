package sessionchat

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/cucumber/godog"

	"parley/features"
	"parley/steps"
	"parley/steps/monitor"
	"parley/steps/sessionchat/binding"
	judge "parley/steps/sessionchat/invariants"
	"parley/steps/sessionchat/passive"
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
	decode, again := newCodec(env.Profile, run.BaseURL()).decode, repeats{env: env, conns: map[string]*counted{}}
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
func (Protocol) Monitors() []monitor.Monitor { return judge.All() }

// Passive returns the monitors for foreign traffic.
func (Protocol) Passive() []monitor.Monitor { return passive.Monitors() }

// Client implements steps.Clients.
func (Protocol) Client() (string, []monitor.Monitor) { return "frontend", passive.ClientMonitors() }

// Subprotocols implements steps.Protocol.
func (Protocol) Subprotocols(p *target.Profile) []string { return binding.Of(p).WS.Subprotocols }

// Certifying implements steps.Protocol.
func (Protocol) Certifying() []string { return []string{target.WS} }

// Holds implements steps.Holder.
func (Protocol) Holds(sc *godog.Scenario) (n int) {
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
			if idle := binding.Of(w.Env.Profile).Idle.Duration; idle > 0 {
				w.T.Remark("", "%s%v", judge.Idle, idle)
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
	if at := s.endedAt(c); at > 0 {
		c.conn = nil
		seen := steps.Seen(s.T.After(at - 1)[0])
		return 0, s.fatal([]string{"SC-004", "SC-025"}, at, "a connection that stays for the next message", seen)
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
