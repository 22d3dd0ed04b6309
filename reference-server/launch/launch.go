// Package launch launches the bundled targets. A Target describes those of a protocol; this package, which knows no
// protocol by name, runs them within this process or as separate processes, and makes mutants and the servers of
// `parley serve`.
//
// A server within this process listens on loopback. A separate process is this program again, configured by its
// environment: every program that launches bundled targets must call Targets.Child first, tests in TestMain.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"parley/internal/llm"
	"parley/reference-server/catalogue"
	"parley/runner"
	"parley/target"
)

// Unhurried is how long a bundled server waits for the harness and the machine where no clause depends on its limit.
// The server shares their speed, so a slow machine must not become a fault that a verdict reports.
const Unhurried = 5 * time.Minute

// RaiseLimits raises limits to what the harness waits for a server known to answer within milliseconds: they only
// distinguish a slow machine from a missing answer. Longer limits stay.
func RaiseLimits(l *target.Limits) {
	for _, d := range []*target.Duration{&l.Open, &l.Event, &l.Turn, &l.HTTP, &l.Hook, &l.Reload} {
		d.Duration = max(d.Duration, time.Minute)
	}
	l.Scenario.Duration = max(l.Scenario.Duration, Unhurried)
}

// Handler is a bundled server, correct or with a fault.
type Handler interface {
	http.Handler
	Close(ctx context.Context) error
}

// Target has the bundled targets of a protocol.
type Target struct {
	Protocol string // the protocol's id
	Short    string // what `parley serve` serves, as a short phrase
	Roles    []Role // one per party that can be under test, the default first
	Peers    []Role // other parties that can be played for a user's program, such as the server of a page

	// Types has JSON Pointers to the type of a message; the first one that yields a text counts. Default: /type.
	Types []string

	Demo *Demo // what `parley demo` shows; nil: nothing
}

// Demo is a session with the bundled target of the default role that has one fault, and which a step finds.
type Demo struct {
	Title  string // says what is shown, and the fault
	Fault  string // id of the mutant
	Scenes []Scene
}

// Scene is what a demo says, and the steps that show it.
type Scene struct {
	Says  string
	Steps []string
}

// NotPlayed is the As of a role that cannot be played.
const NotPlayed = "-"

// Role is the bundled target for one party of a protocol. It has either Make or Launcher.
type Role struct {
	Name string
	As   string // the party that it plays for a user's program; "": Name; NotPlayed: none

	// Profile describes the target in YAML, except for its location and how to start it. Faulty overrides it for mutants
	// and may be empty.
	Profile, Faulty string

	// Mutants returns the rows of the catalogue. Each is judged over the one transport where it shows, or else over the
	// protocol's first.
	Mutants func() []catalogue.Mutant

	// LoadMutants returns the rows of the faults that only a load shows; nil: there are none.
	LoadMutants func() []catalogue.Mutant

	// Models reports whether a model answers its conversations.
	Models bool

	// Files reports whether it needs its own folder within this process; a separate process always has one.
	Files bool

	// Make makes the server.
	Make func(o Options) (Handler, error)

	// Restarts reports whether a scenario with exclusive use of its target may restart it, and gets a separate process.
	Restarts bool

	// Renews reports whether a server within this process can be restarted there: it loses its connections and its state.
	Renews bool

	// Speak runs the target on stdin and stdout until in ends. Nil: not supported.
	Speak func(ctx context.Context, o Options, in io.Reader, out io.Writer) error

	// Extend adds capabilities to a server within this process beyond talking to it. Nil: none.
	Extend func(s *Server) target.Running

	// Launcher launches a target that is not a server.
	Launcher func(o Options) target.Launcher

	// Listens reports whether what Launcher launches is a server all the same, whose limits are those of a profile: it is
	// the author's, who tries rules that may be wrong.
	Listens bool

	// Serve describes how `parley serve` serves it.
	Serve Service
}

// Options describe what to launch.
type Options struct {
	Fault string // id of a mutant; "": the correct target

	Dir      string     // its folder; "" unless Role.Files asks for one
	Brain    *llm.Brain // answers its conversations within this process
	ModelURL string     // base URL of the API that answers the conversations of a separate process; "" within this one

	Connections int // open at once; 0: the server's default, and all its other limits too
}

// Service describes how `parley serve` serves a role.
type Service struct {
	Long     string   // describes the service and its flags
	Examples []string // arguments of `parley serve PROTOCOL`

	About     string     // a sentence about it, for its page at / if it has no page of its own
	Endpoints []Endpoint // its endpoints, for that page

	Paths    []string   // paths of its connections
	Announce []Endpoint // printed with their URLs behind that of the server, its WebSocket first
	Page     bool       // there is a page at /

	// Model reports whether the suite's model answers conversations, unless a flag says otherwise.
	Model bool

	// First is what a client sends before anything else, for those who try it by hand; "" if there is no such message.
	First string

	// NotServer says why it is not a server, as the end of a sentence; "" if it is one.
	NotServer string

	// Flags adds its flags, and returns what to do once they are parsed. Nil: it has no flags, and Role.Make makes the
	// server, without a model.
	Flags func(f *pflag.FlagSet) Serving
}

// Endpoint is a URL that a server answers.
type Endpoint struct {
	Method string // of HTTP, or one of Stream and Socket
	Path   string // such as /session/{id}
	About  string // its purpose, as a phrase
}

// The methods of endpoints that stay open; a client opens both with GET.
const (
	Stream = "SSE"
	Socket = "WebSocket"
)

// Health is the endpoint at which every bundled server reports that it is running.
var Health = Endpoint{http.MethodGet, "/health", "whether the server is there"}

// Serving is what a Service does after its flags are parsed. Its functions return a *runner.UsageError if a flag is
// at fault.
type Serving struct {
	// Make makes the server. If it has more to print on stdout than its URLs, it is also a Teller.
	Make func(at Place) (Handler, error)

	// Run runs instead of serving, for a target that is not a server or that speaks on stdio. It returns ErrInVain if it
	// failed and has already said so.
	Run func(ctx context.Context, at Place) error

	// Speaks reports whether the flags ask for stdin and stdout instead of listening. Nil: never.
	Speaks func() bool
}

// Place is the environment of a server.
type Place struct {
	AllowOrigins []string // origins of pages, besides loopback ones
	Log          *slog.Logger
	In           io.Reader
	Out, Err     io.Writer
}

// StartupReporter returns the lines to print on stdout about a server.
type StartupReporter interface{ StartupLines() []string }

// Targets are the bundled targets, one per protocol, in the order in which they run.
type Targets []Target

// Subject is a bundled target that is ready to run.
type Subject struct {
	Profile  *target.Profile
	Launcher target.Launcher
	Brain    *llm.Brain // answers its conversations; nil if it has none
}

// Protocols lists the protocols.
func (ts Targets) Protocols() []string {
	var all []string
	for _, t := range ts {
		all = append(all, t.Protocol)
	}
	return all
}

// Find returns the target of a protocol; nil if there is none.
func (ts Targets) Find(protocol string) *Target {
	i := slices.IndexFunc(ts, func(t Target) bool { return t.Protocol == protocol })
	if i < 0 {
		return nil
	}
	return &ts[i]
}

// Role returns the role with that name, "" for the default one; nil if there is none.
func (t *Target) Role(name string) *Role {
	if t == nil {
		return nil
	}
	i := slices.IndexFunc(t.Roles, func(r Role) bool { return r.Name == name || name == "" })
	if i < 0 {
		return nil
	}
	return &t.Roles[i]
}

// For makes the bundled target of a protocol in a role ("": the default one), with a new brain if it has a model; nil
// if there is none. kinds are those of the protocols.
func (ts Targets) For(kinds target.Kinds, protocol, role string) *Subject {
	return ts.With(kinds, protocol, role, "")
}

// With is For with a fault.
func (ts Targets) With(kinds target.Kinds, protocol, role, fault string) *Subject {
	return ts.subject(kinds, protocol, role, Options{Fault: fault})
}

// Crowded is For, of a target that admits that many connections at once. It forgets nothing early, so that what it
// answers depends less on the time.
func (ts Targets) Crowded(kinds target.Kinds, protocol, role string, connections int) *Subject {
	return ts.subject(kinds, protocol, role, Options{Connections: connections})
}

func (ts Targets) subject(kinds target.Kinds, protocol, role string, o Options) *Subject {
	r := ts.Find(protocol).Role(role)
	if r == nil {
		return nil
	}
	s := &Subject{Profile: r.correctProfile(kinds)}
	if r.Models {
		s.Brain = llm.New()
	}
	o.Brain = s.Brain
	s.Launcher = r.newLauncher(kinds, protocol, o)
	return s
}

// correctProfile returns the profile of the correct target. An error in it is a bug in this program, and panics.
func (r *Role) correctProfile(kinds target.Kinds, over ...string) *target.Profile {
	p, err := kinds.ForLauncher("the profile of the bundled "+r.Name, append([]string{r.Profile}, over...)...)
	if err != nil {
		panic(err)
	}
	if !r.Listens {
		RaiseLimits(&p.Limits)
	}
	p.Bundled = true
	return p
}

// MutantProfile returns the profile of the target from which the mutants of a protocol's role are made; nil if there
// is none.
func (ts Targets) MutantProfile(kinds target.Kinds, protocol, role string) *target.Profile {
	r := ts.Find(protocol).Role(role)
	if r == nil {
		return nil
	}
	p := r.correctProfile(kinds, r.Faulty)
	p.Limits.Event.Duration = runner.MutantLimit
	return p
}

// Mutants returns the mutants of the bundled target of a protocol's role, ready to run; none if there is no such
// target. It omits those that only a cut finds: CutMutants has them.
func (ts Targets) Mutants(kinds target.Kinds, protocol, role string) []runner.Mutant {
	return ts.allMutants(kinds, protocol, role, false)
}

// CutMutants returns the mutants that are found only if a connection is cut at some point of a course.
func (ts Targets) CutMutants(kinds target.Kinds, protocol, role string) []runner.Mutant {
	return ts.allMutants(kinds, protocol, role, true)
}

func (ts Targets) allMutants(kinds target.Kinds, protocol, role string, cut bool) []runner.Mutant {
	r := ts.Find(protocol).Role(role)
	kind, known := kinds.Find(protocol)
	if r == nil || r.Mutants == nil || !known {
		return nil
	}
	var out []runner.Mutant
	for _, m := range r.Mutants() {
		if m.Cut != cut {
			continue
		}
		drivers := kind.Drivers[:1]
		if len(m.Transports) == 1 {
			drivers = m.Transports
		}
		out = append(out, runner.Mutant{ID: m.ID, Clauses: m.Clauses, Why: m.Why, Control: m.Control, Drivers: drivers,
			Does: string(m.Fault), Launch: func(b *llm.Brain) target.Launcher {
				return r.newLauncher(kinds, protocol, Options{Fault: m.ID, Brain: b})
			}})
	}
	return out
}

// Separate makes the bundled target of a protocol in a role ("": the default one), correct or with a fault, as a
// process of its own with its own model, or within this one if it only exists there; nil if there is no such server. It
// admits that many connections at once.
func (ts Targets) Separate(kinds target.Kinds, protocol, role, fault string, connections int) *Subject {
	r := ts.Find(protocol).Role(role)
	if r != nil && r.Listens {
		return ts.For(kinds, protocol, role)
	}
	if r == nil || r.Make == nil {
		return nil
	}
	s := &Subject{Profile: r.correctProfile(kinds)}
	if r.Models {
		s.Brain = llm.New()
	}
	s.Launcher = separate{&launcher{role: r, kinds: kinds, protocol: protocol,
		options: Options{Fault: fault, Connections: connections}}}
	return s
}

// LoadMutants returns the rows of the faults that only `parley load` finds, of the bundled target of a protocol's role.
func (ts Targets) LoadMutants(protocol, role string) []catalogue.Mutant {
	r := ts.Find(protocol).Role(role)
	if r == nil || r.LoadMutants == nil {
		return nil
	}
	return r.LoadMutants()
}

// InProcess launches servers of a role within this process only, made by Make.
func (r Role) InProcess(o Options) target.Launcher {
	r.Restarts, r.Speak = false, nil
	return r.newLauncher(nil, "", o)
}

func (r *Role) newLauncher(kinds target.Kinds, protocol string, o Options) target.Launcher {
	if r.Launcher != nil {
		return r.Launcher(o)
	}
	return &launcher{role: r, kinds: kinds, protocol: protocol, options: o}
}

// launcher launches servers.
type launcher struct {
	role     *Role
	kinds    target.Kinds
	protocol string
	options  Options
}

// Private implements target.Launcher: each launch is a separate server.
func (l *launcher) Private() bool { return true }

// Launch implements target.Launcher.
func (l *launcher) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	if l.role.Restarts && o.Own {
		return l.startProcess(ctx, o)
	}
	s, err := l.startServer()
	if err != nil {
		return nil, fmt.Errorf("launch the bundled %s: %w", l.role.Name, err)
	}
	var running target.Running = s
	if l.role.Extend != nil {
		running = l.role.Extend(s)
	}
	if l.role.Speak != nil {
		return l.addStdio(ctx, o, running)
	}
	return running, nil
}

// ErrInVain is returned by a Serving.Run that failed and has already said so.
var ErrInVain = errors.New("in vain")

// Usagef returns an error about an invalid flag or flag value.
func Usagef(format string, args ...any) error {
	return &runner.UsageError{Msg: fmt.Sprintf(format, args...)}
}

// Directives explains how a client commands the suite's model, for the help of `parley serve`.
const Directives = `A built-in fake model answers conversations. It obeys directives in the user's text,
in which N is any word:

  [[hold N]]          keep the turn running; only an abort or interrupt ends it
  [[hold N 2s]]       keep it running for this time
  [[stream N n]]      answer in n pieces
  [[tool N name {…}]] call a tool
  [[fail N 500]]      fail with this status
  [[echo N]]          answer with the user's text
  [[recall N]]        answer with the words N of the earlier turns

It answers any other text with "ok", and logs what only looks like a directive.`

// LogMalformed logs the parts of a user's text that look like directives but are not: the model answers them like any
// other text, with "ok".
func LogMalformed(log *slog.Logger, conn, text string) {
	for _, part := range llm.Malformed(text) {
		log.Warn("not a directive", "conn", conn, "text", part)
	}
}
