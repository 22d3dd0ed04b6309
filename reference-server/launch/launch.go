// Package launch launches what is bundled: a Target says what that is for a protocol, and this package, which knows no
// protocol by name, makes servers within this process of it, processes of their own, mutants, and what `parley serve`
// serves.
//
// A server within this process listens on loopback. A process of its own is this program again, told by its environment
// what to be: every program that launches bundled targets calls Targets.Child first, tests in TestMain.
package launch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"parley/llm"
	"parley/reference-server/catalogue"
	"parley/runner"
	"parley/target"
)

// Unhurried is what a bundled server waits for the harness and for the machine, where its limit is no clause: they are
// as slow as each other, and what a slow machine costs a target is no fault that a verdict may be about.
const Unhurried = 5 * time.Minute

// Unhurry makes limits what the harness waits for a server that is known to answer within milliseconds: they only tell
// apart a slow machine and a missing answer. Longer ones stay.
func Unhurry(l *target.Limits) {
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

// Target is what is bundled for a protocol.
type Target struct {
	Protocol string // its id
	Short    string // what `parley serve` serves, in half a line
	Roles    []Role // one for each party that can be under test, the default one first
}

// Role is what is bundled for one party of a protocol. Either Make or Launcher is there.
type Role struct {
	Name string

	// Profile describes the target, in YAML, but for where it is and how it is started. Faulty lies over it for its
	// mutants; it may be empty.
	Profile, Faulty string

	// Mutants are the rows of its catalogue. Each is judged over the one transport where it shows, or else over the
	// protocol's first.
	Mutants func() []catalogue.Mutant

	// Models says that a model answers its conversations.
	Models bool

	// Files says that it needs a folder of its own within this process; as a process it has one anyhow.
	Files bool

	// Make makes the server.
	Make func(o Options) (Handler, error)

	// Restarts says that a scenario which has its target to itself may restart it, and gets a process of its own.
	Restarts bool

	// Speak is the target on stdin and stdout, until in ends. Nil: it does not speak there.
	Speak func(ctx context.Context, o Options, in io.Reader, out io.Writer) error

	// Extend adds to a server within this process what can be done to it beyond talking to it. Nil: nothing.
	Extend func(s *Server) target.Running

	// Launcher launches a target that is no server.
	Launcher func(o Options) target.Launcher

	// Serve is how `parley serve` serves it.
	Serve Service
}

// Options say what is to be launched.
type Options struct {
	Fault string // id of a mutant; "": the correct one

	Dir      string     // a folder of its own; "" where Role.Files does not ask for one
	Brain    *llm.Brain // answers its conversations, within this process
	ModelURL string     // base URL of the API that answers them, of a process of its own; "" within this one
}

// Service is how `parley serve` serves a role.
type Service struct {
	Long     string   // what it is, and what its flags are for
	Examples []string // arguments of `parley serve PROTOCOL`

	Paths    []string // of its connections
	Announce bool     // the URL of the first of them is told too
	Page     bool     // there is a page at /

	// NotServer says why it is no server, as the end of a sentence; "" where it is one.
	NotServer string

	// Flags adds its own flags, and returns what is done once they are parsed. Nil: it has none, and Role.Make makes
	// the server, without a model.
	Flags func(f *pflag.FlagSet) Serving
}

// Serving is what is done by the flags of a Service. The errors of its functions are *runner.UsageError where a flag is
// to blame.
type Serving struct {
	// Make makes the server. One that has something to tell on stdout, beyond its URLs, is a Teller too.
	Make func(at Place) (Handler, error)

	// Run is done in the place of serving, by what is no server, or speaks. ErrInVain: what it was to do is not done, and
	// it has said so.
	Run func(ctx context.Context, at Place) error

	// Speaks reports whether the flags say to speak on stdin and stdout in the place of listening. Nil: never.
	Speaks func() bool
}

// Place is what a server has around it.
type Place struct {
	AllowOrigins []string // of pages, besides loopback ones
	Log          *slog.Logger
	In           io.Reader
	Out, Err     io.Writer
}

// Teller tells on stdout what there is to know about a server, a line each.
type Teller interface{ Tell() []string }

// Targets are what is bundled, one for each protocol, in the order in which they are run.
type Targets []Target

// Subject is a bundled target, ready to be run.
type Subject struct {
	Profile  *target.Profile
	Launcher target.Launcher
	Brain    *llm.Brain // answers its conversations; nil where it has none
}

// Protocols lists the protocols.
func (ts Targets) Protocols() []string {
	var all []string
	for _, t := range ts {
		all = append(all, t.Protocol)
	}
	return all
}

// Find is the target of a protocol; nil where there is none.
func (ts Targets) Find(protocol string) *Target {
	i := slices.IndexFunc(ts, func(t Target) bool { return t.Protocol == protocol })
	if i < 0 {
		return nil
	}
	return &ts[i]
}

// Role is that of a name, "" the default one; nil where there is none.
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

// For makes the bundled target of a protocol in a role ("": the default one), with a brain of its own where it has a
// model; nil where there is none. The kinds are those of the protocols.
func (ts Targets) For(kinds target.Kinds, protocol, role string) *Subject {
	r := ts.Find(protocol).Role(role)
	if r == nil {
		return nil
	}
	s := &Subject{Profile: r.profile(kinds)}
	if r.Models {
		s.Brain = llm.New()
	}
	s.Launcher = r.launcher(kinds, protocol, Options{Brain: s.Brain})
	return s
}

// profile is that of the correct target. A mistake in it is one of this program's, and panics.
func (r *Role) profile(kinds target.Kinds, over ...string) *target.Profile {
	p, err := kinds.ForLauncher("the profile of the bundled "+r.Name, append([]string{r.Profile}, over...)...)
	if err != nil {
		panic(err)
	}
	Unhurry(&p.Limits)
	return p
}

// MutantProfile describes the target of which the mutants of a protocol's role are made; nil where there is none.
func (ts Targets) MutantProfile(kinds target.Kinds, protocol, role string) *target.Profile {
	r := ts.Find(protocol).Role(role)
	if r == nil {
		return nil
	}
	p := r.profile(kinds, r.Faulty)
	p.Limits.Event.Duration = runner.MutantLimit
	return p
}

// Mutants are the mutants of the bundled target of a protocol's role, ready to be run; none where there is no such
// target.
func (ts Targets) Mutants(kinds target.Kinds, protocol, role string) []runner.Mutant {
	r := ts.Find(protocol).Role(role)
	kind, known := kinds.Find(protocol)
	if r == nil || r.Mutants == nil || !known {
		return nil
	}
	var out []runner.Mutant
	for _, m := range r.Mutants() {
		drivers := kind.Drivers[:1]
		if len(m.Transports) == 1 {
			drivers = m.Transports
		}
		out = append(out, runner.Mutant{ID: m.ID, Clauses: m.Clauses, Why: m.Why, Control: m.Control, Drivers: drivers,
			Launch: func(b *llm.Brain) target.Launcher {
				return r.launcher(kinds, protocol, Options{Fault: m.ID, Brain: b})
			}})
	}
	return out
}

// InProcess launches servers of a role within this process, and nothing else: one that Make makes, whatever it is.
func (r Role) InProcess(o Options) target.Launcher {
	r.Restarts, r.Speak = false, nil
	return r.launcher(nil, "", o)
}

func (r *Role) launcher(kinds target.Kinds, protocol string, o Options) target.Launcher {
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

// Private implements target.Launcher: each launch is a server of its own.
func (l *launcher) Private() bool { return true }

// Launch implements target.Launcher.
func (l *launcher) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	if l.role.Restarts && o.Own {
		return l.process(ctx, o)
	}
	s, err := l.serve()
	if err != nil {
		return nil, fmt.Errorf("launch the bundled %s: %w", l.role.Name, err)
	}
	var running target.Running = s
	if l.role.Extend != nil {
		running = l.role.Extend(s)
	}
	if l.role.Speak != nil {
		return l.speaking(ctx, o, running)
	}
	return running, nil
}
