package agentselect

import (
	"context"
	"io/fs"
	"reflect"
	"strings"

	"github.com/cucumber/godog"

	"parley/features"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/checkup"
	"parley/steps/agentselect/model"
	own "parley/steps/agentselect/probe"
	"parley/steps/doctor"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/steps/probe"
	"parley/target"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// suite is the agent-select side of one scenario's world.
type suite struct {
	*steps.World
	bind     *codec
	judge    judge
	clients  map[string]*client
	mark     int // the latest act of any client: absence is judged from here
	actor    *client
	accepted int // legal switches confirmed in this scenario: the positive counterpart of every refusal
	config   []byte
	gained   map[string]target.CustomAgent

	configured bool // the target's configuration was changed
	atOnce     bool // chats are sent right behind the turn before; see afterTurn
	hasty      bool // a chat was sent that may have come too soon; the scenario is then judged again
}

// Protocol is the agent-select entry of the suite.
type Protocol struct{}

// Kind implements steps.Protocol.
func (Protocol) Kind() target.Kind { return binding.Kind() }

// Features implements steps.Protocol.
func (Protocol) Features() fs.FS { return features.FS }

// Bind implements steps.Protocol: it returns the decoder of a scenario's records.
func (Protocol) Bind(env *steps.Env, run target.Running) func(*transcript.Record) {
	decode, again := newCodec(env.Profile, run.BaseURL(), env.Driver.Name()).decode, repeats{env: env}
	return func(r *transcript.Record) {
		decode(r)
		again.note(r)
	}
}

// NotRunnable implements steps.Protocol: why a scenario cannot run against this target; "" if it can.
func (Protocol) NotRunnable(env *steps.Env, tags []string) string {
	for _, t := range tags {
		if t == "@two-clients" && binding.Of(env.Profile).Correlation.Single {
			return "correlation is single: the target cannot tell two connections apart, " +
				"so it is tested with one open connection"
		}
	}
	return ""
}

// Monitors implements steps.Protocol.
func (Protocol) Monitors() []monitor.Monitor { return model.All() }

// Model implements steps.Modelled.
func (Protocol) Model(_ string, o obligation.Observer) obligation.Model { return model.New(o) }

// Chart implements steps.Charted.
func (Protocol) Chart(string) (obligation.Chart, error) { return model.Chart() }

// Passive implements steps.Passive.
func (Protocol) Passive() []monitor.Monitor { return model.Foreign() }

// Client implements steps.Clients.
func (Protocol) Client() (string, []monitor.Monitor) { return "client", model.Client() }

// Doctor implements doctor.Examinable.
func (Protocol) Doctor() doctor.Guide { return checkup.Guide() }

// Init implements probe.Probing.
func (Protocol) Init() probe.Guide { return own.Guide() }

// Subprotocols implements steps.Protocol.
func (Protocol) Subprotocols(p *target.Profile) []string { return binding.Of(p).WS.Subprotocols }

// Certifying implements steps.Protocol: the source covers only SSE.
func (Protocol) Certifying() []string { return []string{target.SSE} }

// Stages implements steps.Protocol.
func (Protocol) Stages() [3]string { return [3]string{"connecting", "creating a session", "switching"} }

// Register implements steps.Protocol.
func (Protocol) Register(sc *godog.ScenarioContext, world func() *steps.World) {
	s := &suite{clients: map[string]*client{}, gained: map[string]target.CustomAgent{}}
	sc.Before(func(ctx context.Context, _ *godog.Scenario) (context.Context, error) {
		if w := world(); w != nil {
			s.World = w
			s.Severed = s.severed
			s.Model = func() obligation.Model { return s.model(s.T.Len()) }
			s.findsStrays()
			s.findsMixtures()
			s.AtEnd(func() { _ = s.report(s.T.Len(), nil) })
			s.bind = newCodec(w.Env.Profile, w.Target.BaseURL(), w.Env.Driver.Name())
		}
		return ctx, nil
	})
	r := registry{sc, s}
	r.connecting()
	r.sessions()
	r.switching()
	r.refusing()
	r.absence()
	r.turns()
	r.evidence()
	r.conversations()
	r.handover()
	r.races()
	r.consecutive()
	r.configuration()
	r.severing()
	r.exploring()
}

// agentRef is the pattern by which steps name an agent with a legal id. A step that uses it takes an agentID.
const agentRef = `(the default agent|the custom agent|"[^"]*")`

type agentID struct{ id string }

func (s *suite) agentID(ref string) (agentID, error) {
	switch ref {
	case "the default agent":
		return agentID{s.Env.Profile.Agents.Default}, nil
	case "the custom agent":
		c, err := s.custom()
		return agentID{c.ID}, err
	}
	return agentID{s.swapped(strings.Trim(ref, `"`))}, nil
}

// registry registers the steps of a scenario.
type registry struct {
	*godog.ScenarioContext
	*suite
}

// step registers a step. Its function may take a *client for a client's name, and an agentID for an agentRef.
func (r registry) step(expression string, do any) {
	f := reflect.ValueOf(do)
	in := make([]reflect.Type, f.Type().NumIn())
	for i := range in {
		switch in[i] = f.Type().In(i); in[i] {
		case reflect.TypeFor[*client](), reflect.TypeFor[agentID]():
			in[i] = reflect.TypeFor[string]()
		}
	}
	taken := reflect.FuncOf(in, []reflect.Type{reflect.TypeFor[error]()}, false)
	made := reflect.MakeFunc(taken, func(args []reflect.Value) []reflect.Value {
		for i := range args {
			switch f.Type().In(i) {
			case reflect.TypeFor[*client]():
				args[i] = reflect.ValueOf(r.client(args[i].String()))
			case reflect.TypeFor[agentID]():
				id, err := r.agentID(args[i].String())
				if err != nil {
					return []reflect.Value{reflect.ValueOf(err)}
				}
				args[i] = reflect.ValueOf(id)
			}
		}
		return f.Call(args)
	})
	steps.Step(r.ScenarioContext, expression, steps.Adapted{Do: made.Interface(), Of: do})
}

// field returns a member of an event's data; nil if there is none.
func field(r transcript.Record, name string) any {
	if r.Event == nil {
		return nil
	}
	v, _ := wjson.Lookup(r.Event.Data, "/"+name)
	return v
}

// swapped lets the features call the agent of new sessions "general": if a target's default is another built-in
// agent, the two change places.
func (s *suite) swapped(id string) string {
	def := s.Env.Profile.Agents.Default
	switch {
	case id == vocab.General && contains(vocab.BuiltinIDs, def):
		return def
	case id == def && contains(vocab.BuiltinIDs, def):
		return vocab.General
	}
	return id
}

// custom returns the target's custom agent.
func (s *suite) custom() (target.CustomAgent, error) {
	if len(s.Env.Profile.Agents.Custom) == 0 {
		return target.CustomAgent{}, steps.NotTestedf("the profile names no custom agent (agents.custom)")
	}
	return s.Env.Profile.Agents.Custom[0], nil
}

// Renamed implements steps.Renamer.
func (Protocol) Renamed() [][2]string {
	return [][2]string{
		{`^(the turn of client \w+ ends), and that of client \w+ does not$`, `$1`},
		{`^(client \w+ receives no) refusal$`, `$1 "agent_switched"`},
		{`^the ids of the connections differ$`, `the server has followed its sessions`},
		{`^(client \w+ receives the list of agents) before any answer$`, `$1`},
		{`^(client \w+) is switched in the session of client \w+$`, `the switch of $1 is answered`},
		{`^client (\w+) is given an event stream$`, `client $1 receives an event stream`},
		{`^the list of client (\w+) names no current agent but the default one$`,
			`the list of client $1 names the default agent as current, or none`},
		{`^(client \w+ connects and switches to "[^"]*") as early as it can$`, `$1 as early as possible`},
		{`^each switch of client (\w+) starts from the agent that the one before it led to$`,
			`each switch of client $1 starts where the previous one ended`},
		{`^(client \w+ loads its first session) back$`, `$1 again`},
		{`^(client \w+ is answered in each of \d+ chats, each sent right) behind the turn before it$`,
			`$1 after the previous turn`},
		{`^(client \w+, alone,) is switched to each built-in agent and refused what it may not ask$`,
			`$1 can switch to each built-in agent and is refused invalid switches`},
	}
}

var (
	_ steps.Modelled     = Protocol{}
	_ steps.Charted      = Protocol{}
	_ steps.Explorer     = Protocol{}
	_ steps.Recognisable = Protocol{}
)

// distinct are the events that no other kind of server sends. Many servers send connected or error events.
var distinct = map[string]bool{
	vocab.AgentListEvent: true, vocab.AgentSwitchedEvent: true, vocab.ConfirmationRequestEvent: true,
	vocab.QuestionRequestEvent: true,
	vocab.SessionCreatedEvent:  true, vocab.SessionLoadedEvent: true,
}

// IsServerMessage implements steps.Recognisable.
func (Protocol) IsServerMessage(message any, name string) bool {
	if distinct[name] {
		return true
	}
	obj, _ := message.(map[string]any)
	kind := steps.Text(obj, "type")
	if name != "" && name != "message" && kind == "" {
		return telling(name, obj)
	}
	return telling(kind, obj["data"])
}

// IsServerEvent implements steps.Recognisable.
func (Protocol) IsServerEvent(ev *transcript.Event) bool { return telling(ev.Type, ev.Data) }

// telling reports whether an event and its data can only be of this protocol.
func telling(kind string, data any) bool {
	obj, _ := data.(map[string]any)
	switch kind {
	case vocab.ConnectedEvent:
		for name := range obj {
			if strings.Contains(strings.ToLower(name), "connection") {
				return true
			}
		}
		return false
	case vocab.ErrorEvent:
		return obj[vocab.ErrorCode] != nil
	}
	return distinct[kind]
}

// UsualPlaces implements steps.Recognisable.
func (Protocol) UsualPlaces() []steps.Place {
	std := binding.Default()
	return []steps.Place{{Driver: target.SSE, Path: std.SSE.Stream.Path}, {Driver: target.WS, Path: std.WS.Path}}
}

// PlaceKey implements steps.Recognisable.
func (Protocol) PlaceKey(driver string) string {
	if driver == target.WS {
		return "agent-select.ws.path"
	}
	return "agent-select.sse.stream"
}
