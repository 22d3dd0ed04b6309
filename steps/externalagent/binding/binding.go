// Package binding describes the wire of external-agent in a profile: the default binding, a target's differences from
// it, and what a target of each role is tested with.
package binding

import (
	_ "embed"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"parley/protocol/externalagent"
	"parley/target"
)

//go:embed example.yaml
var example string

var defaults = target.Defaults[Binding](example, externalagent.Protocol)

// The capabilities that a profile may declare.
const (
	RelaySessions = "relay-sessions" // a host answers in any relay session
	TwoAgents     = "two-agents"     // several agents may join one relay session
	Reconnect     = "reconnect"      // an agent reconnects when its connection is lost
)

// Kind describes the profiles of external-agent.
func Kind() target.Kind {
	return target.Kind{
		Protocol:     externalagent.Protocol,
		Prefix:       "EA",
		Roles:        []string{externalagent.Host, externalagent.Relay, externalagent.Agent},
		Drivers:      []string{target.WS},
		Capabilities: []string{RelaySessions, TwoAgents, Reconnect},
		Example:      example,
		Ignores: []string{"model", "tools", "provoke", "agents",
			"hooks.add-agent", "hooks.change-agent", "hooks.remove-agent", "hooks.config-digest"},
		About: `A target of external-agent has one of three roles: host (a relay and a host behind one URL), relay,
or agent. An agent connects to the harness.`,
		Dials: []string{externalagent.Agent},
		Runs: []string{"--protocol external-agent --role all",
			"--target ws://localhost:3000/agent/ws --protocol external-agent --role relay"},
		Sections: func() []target.Section {
			b := Default()
			return []target.Section{{Key: externalagent.Protocol, Value: &b}}
		},
		Check:  check,
		Locate: func(p *target.Profile) { p.SplitSocket(&Of(p).WS) },
		Reach:  reach,
	}
}

func reach(p *target.Profile) target.Reach {
	b := Of(p)
	r := target.Reach{
		Listen: b.Agent.Listen, ListenKey: "external-agent.agent.listen",
		Session:   externalagent.DefaultSession,
		ReadyMend: "delete it; see external-agent.agent.join",
		Logs:      b.Logs, LogsKey: "external-agent.logs",
		Paths: map[string]string{target.WS: b.WS.Path},
	}
	if b.Page != nil {
		r.Page, r.Parallel = b.Page.URL, target.ParallelPages()
		r.Browser, r.BrowserKey = p.Program(b.Page.Browser), "external-agent.page.browser"
	}
	switch {
	case p.Dials() && p.Command == nil && b.Agent.Listen == "" && p.Hooks.Call != "":
		r.Shared, r.Apart = "one agent (hooks.call)", "have a command start one for each scenario"
	case p.Dials() && b.Agent.Listen != "":
		r.Shared = "one address (external-agent.agent.listen)"
		r.Apart = "have its command take the address ({url}), and leave out external-agent.agent.listen"
	case !p.Dials() && !strings.Contains(b.Session, anyNonce):
		r.Shared = "one relay session (external-agent.session)"
		r.Apart = `if the target has a host in every relay session, give external-agent.session: "s-` + anyNonce + `"`
		r.Separate = separate(p, b)
	case b.Page != nil && !strings.Contains(b.Page.URL, anySession):
		r.Shared = "one page (external-agent.page.url)"
		r.Apart = "if the page can be that of any relay session, name it in its url by " + anySession
		r.Separate = separate(p, b)
	}
	return r
}

// separate reports whether all that the profile names besides the command is an instance's own: the logs, the page, and
// what the hook speaks to.
func separate(p *target.Profile, b *Binding) bool {
	says := p.Hooks.UserSays
	return (b.Logs == "" || strings.HasPrefix(b.Logs, "{dir}")) &&
		(b.Page == nil || strings.Contains(b.Page.URL, "{port")) &&
		(says == "" || strings.Contains(says, "PARLEY_") || strings.Contains(says, "{"))
}

// Of returns the wire of a profile of external-agent.
func Of(p *target.Profile) *Binding { return target.SectionOf[Binding](p) }

// FlowFile returns the path of Binding.Flow; "" means the built-in flow.
func FlowFile(p *target.Profile) string {
	flow := Of(p).Flow
	if flow == "" || filepath.IsAbs(flow) {
		return flow
	}
	return filepath.Join(p.Dir, flow)
}

// anyNonce is the placeholder for what makes a scenario's names unique.
const anyNonce = "{nonce}"

// anySession is the placeholder for the relay session in the URL of a page.
const anySession = "{session}"

// Binding is the wire of external-agent, where it differs from the default binding, and what a target of each role is
// tested with.
type Binding struct {
	WS target.WSWire `yaml:"ws"` // its default path is /agent/ws

	// HostRole is the role with which a host joins, as the relay expects it. Default "host".
	HostRole string `yaml:"host-role"`

	// Session is the relay session that the harness joins; see SessionFor. Default "default".
	Session string `yaml:"session"`

	Start  StudyStart `yaml:"start"`
	Fields CodeFields `yaml:"fields"`

	// Booking is a path through the host's whole flow from a new session; empty means that none is known. The default is
	// that of the bundled host.
	Booking []ToolCall `yaml:"booking"`

	Provoke Provocations `yaml:"provoke"`

	// Logs is the folder relative to which the logFile of session.ended is resolved; of a relay, the folder or the file
	// where it writes. It is relative to the profile; {dir} and {profile} are replaced. Default "": logs cannot be read.
	// See LogKeeper.
	Logs string `yaml:"logs"`

	// Flow is the file with the script of the host for an agent or relay, relative to the profile. Default "": the
	// built-in flow. FlowFile resolves it.
	Flow string `yaml:"flow"`

	// Page is where the participant of a host speaks, instead of hooks.user-says. Nil: no page.
	Page *HostPage `yaml:"page"`

	Agent AgentSide `yaml:"agent"`
}

// HostPage is the page of a host. The harness opens it in a browser for each relay session that it joins, before it
// joins; to let the participant speak, it types into it as a person would. Input, Send and Ready are CSS selectors, or
// text= and the visible text of a control.
type HostPage struct {
	URL   string `yaml:"url"`   // or a path below Profile.URL; {session} is the relay session; see target.Paged
	Input string `yaml:"input"` // the field for the message
	Send  string `yaml:"send"`  // what sends the message when it is clicked; default "": Enter is pressed in the field

	// Ready is what can be used once the page takes part in the relay session. Default "": it does so once it has loaded.
	Ready string `yaml:"ready"`

	Allow   []string `yaml:"allow"`   // hosts that the page may request besides loopback and its own; default none
	Browser string   `yaml:"browser"` // a name on the PATH, or a path relative to the profile; default: a Chromium found
}

// StudyStart is the payload of session.start. It may contain {nonce}; see For.
type StudyStart struct {
	StudyID       string `yaml:"study-id"`       // default pilot-01
	ParticipantID string `yaml:"participant-id"` // default P07
}

// CodeFields says where error codes are. Each field is a JSON Pointer from the top of the message, or a bare name,
// which means the member of that name.
type CodeFields struct {
	ErrorCode  target.Pointer  `yaml:"error-code"`  // of an error
	ResultCode target.Pointers `yaml:"result-code"` // of a tool.result that is not ok
}

// Provocations are the ways to provoke error codes that need a certain state of the host.
type Provocations struct {
	NoActiveSpec Provocation `yaml:"no-active-spec"` // NO_ACTIVE_SPEC; default: the booking, then next
	ToolFailure  Provocation `yaml:"tool-failure"`   // TOOL_EXECUTION_FAILED; default: next, which need not fail
}

// Provocation is a series of calls from a new session, the last of which must fail. In YAML it is a list that may
// begin with {booking: true}. See CallsOf.
type Provocation struct {
	Booking bool       // the calls come after the whole booking
	Calls   []ToolCall // empty: the code cannot be provoked
	Assumed bool       // it is the default, so the last call may succeed in this host
}

// AgentSide configures the test of an agent.
type AgentSide struct {
	// Listen is the loopback address, host:port, where the harness listens for an agent that connects by itself. Default
	// "": a free port.
	Listen string `yaml:"listen"`

	// limit to connect and join after the start or the loss of the connection; default 10s
	Join target.Duration `yaml:"join"`
	Pace target.Duration `yaml:"pace"` // limit for the next act; default 10s, as language models are slow
}

// ToolCall is one tool.call.
type ToolCall struct {
	Tool   string           `yaml:"tool"`
	Params map[string]Value `yaml:"params"`
}

// ParamsFor returns the params of the call, with values inserted from the uiSpec (a decoded JSON value). An error
// names the param that the uiSpec has no value for.
func (c ToolCall) ParamsFor(uiSpec any) (map[string]any, error) {
	params := make(map[string]any, len(c.Params))
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		value, missing, ok := resolve(c.Params[name].Of, uiSpec)
		if !ok {
			return nil, fmt.Errorf("param %s of %s: the uiSpec has nothing at %s", name, c.Tool, missing)
		}
		params[name] = value
	}
	return params, nil
}

// Value is the value of a param: any JSON value, in which each Pointer and Choice stands for its target in the latest
// uiSpec. In YAML a Pointer is written {pointer: /items/0/id}, as the whole value or within lists and mappings.
type Value struct{ Of any }

// Resolve returns the value with values inserted from the uiSpec (a decoded JSON value), and reports whether the
// uiSpec has all of them. Lists and mappings are copies, apart from those of the uiSpec.
func (v Value) Resolve(uiSpec any) (any, bool) {
	value, _, ok := resolve(v.Of, uiSpec)
	return value, ok
}

func resolve(of, uiSpec any) (value any, missing string, ok bool) {
	switch of := of.(type) {
	case target.Pointer:
		if value, ok = of.Get(uiSpec); !ok && hasElement(of) {
			return nil, string(of) + " (* stands for every element only with where)", false
		}
		return value, string(of), ok
	case Choice:
		if value, ok = of.Get(uiSpec); !ok {
			missing = of.missing(uiSpec)
		}
		return value, missing, ok
	case []any:
		list := make([]any, len(of))
		for i := range of {
			if list[i], missing, ok = resolve(of[i], uiSpec); !ok {
				return nil, missing, false
			}
		}
		return list, "", true
	case map[string]any:
		m := make(map[string]any, len(of))
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if m[name], missing, ok = resolve(of[name], uiSpec); !ok {
				return nil, missing, false
			}
		}
		return m, "", true
	}
	return of, "", true
}

// SessionFor returns the relay session of a scenario: Session with {nonce} replaced. Without {nonce}, scenarios share
// it.
func (b Binding) SessionFor(nonce string) string {
	return strings.ReplaceAll(b.Session, anyNonce, nonce)
}

// For returns the payload for a scenario, with {nonce} replaced.
func (s StudyStart) For(nonce string) StudyStart {
	return StudyStart{
		StudyID:       strings.ReplaceAll(s.StudyID, anyNonce, nonce),
		ParticipantID: strings.ReplaceAll(s.ParticipantID, anyNonce, nonce),
	}
}

// CallsOf lists all calls of a provocation, including those of the booking. Nil means that it cannot be provoked.
func (b Binding) CallsOf(p Provocation) []ToolCall {
	switch {
	case len(p.Calls) == 0, p.Booking && len(b.Booking) == 0:
		return nil
	case p.Booking:
		return slices.Concat(b.Booking, p.Calls)
	}
	return slices.Clone(p.Calls)
}

// Default returns the default binding of external-agent, with the booking path of the bundled host.
func Default() Binding {
	b := defaults()
	b.Provoke.ToolFailure = Provocation{Calls: []ToolCall{{Tool: externalagent.Next}}, Assumed: true}
	return b
}
