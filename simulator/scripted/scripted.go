// Package scripted makes the bundled target of a folder's protocol: server.yaml is the script that plays its server,
// and mutants.yaml has the faults that its scenarios must find. docs/your-own-protocol.md is the guide for users.
package scripted

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"parley/internal/faultrule"
	"parley/internal/script"
	"parley/internal/words"
	"parley/reference-server/catalogue"
	"parley/reference-server/launch"
	"parley/simulator/counterpart"
	"parley/simulator/fault"
	"parley/steps/pack"
	"parley/target"
)

// The files of a folder that this package reads. Both are optional; without a server there are no mutants.
const (
	ServerFile  = "server.yaml"
	MutantsFile = "mutants.yaml"
)

// Target returns the bundled target of a folder's protocol, and whether there is one. The error joins all mistakes in
// the two files, each with its place; of a Pack that was read in part, those that can be found. folder stands for the
// folder in it.
func Target(p *pack.Pack, folder string) (launch.Target, bool, error) {
	text, mutants := p.Extra(ServerFile), p.Extra(MutantsFile)
	at := func(file string) string { return filepath.ToSlash(filepath.Join(folder, file)) }
	kind := p.Kind()
	switch {
	case text == nil && mutants == nil:
		return launch.Target{}, false, nil
	case text == nil:
		return launch.Target{}, false, fmt.Errorf("%s: its faults are those of a server, and there is no %s",
			at(MutantsFile), ServerFile)
	}
	if kind.Drivers = played(kind.Drivers); len(kind.Drivers) == 0 && p.Knows("transports") {
		return launch.Target{}, false, fmt.Errorf("%s: a script plays servers over sse and ws (name a target instead)",
			at(ServerFile))
	}
	s, err := script.Parse(at(ServerFile), text)
	if err == nil && p.Knows("protocol") {
		err = errors.Join(s.Plays(kind.Protocol, target.Server), checkTypes(text, at(ServerFile), p))
	}
	t := &player{protocol: kind.Protocol, script: s, types: p.Types()}
	if err = errors.Join(err, t.readMutants(mutants, at(MutantsFile), p)); err != nil {
		return launch.Target{}, false, err
	}
	return launch.Target{Protocol: kind.Protocol, Short: "the server of " + at(ServerFile), Types: t.types,
		Roles: []launch.Role{{Name: target.Server, Profile: profileOf(kind), Listens: true,
			Mutants:  t.set.All,
			Launcher: func(o launch.Options) target.Launcher { return &launcher{of: t, fault: o.Fault} },
			Serve:    notServed(folder)}}}, true, nil
}

// notServed says how the server of a folder is played for one's own clients: `parley serve` has servers in Go.
func notServed(folder string) launch.Service {
	says := "is played by a script (parley simulate --protocol " + folder + " --as server)"
	return launch.Service{NotServer: says, Flags: func(*pflag.FlagSet) launch.Serving {
		return launch.Serving{Run: func(context.Context, launch.Place) error {
			return launch.Usagef("serve: the server of %s %s", folder, says)
		}}
	}}
}

// played are the drivers over which a script plays a server.
func played(drivers []string) []string {
	return slices.DeleteFunc(slices.Clone(drivers), func(name string) bool {
		return name != target.SSE && name != target.WS
	})
}

// profileOf is the profile of the server of the folder.
func profileOf(kind target.Kind) string {
	return fmt.Sprintf("protocol: %s\nname: %s\ndrivers: [%s]\ncapabilities: [%s]\n", kind.Protocol, ServerFile,
		strings.Join(kind.Drivers, ", "), strings.Join(kind.Capabilities, ", "))
}

// player plays the server of a folder.
type player struct {
	protocol string
	script   *script.Script
	types    []string // JSON Pointers to the type of a message
	set      catalogue.Set[changes]
}

// changes are what a mutant changes: the variables of the script, and messages.
type changes struct {
	vars   map[string]any
	faults catalogue.Faults
}

// readMutants reads the faults, and checks that each has a row that names tested clauses.
func (t *player) readMutants(text []byte, name string, p *pack.Pack) error {
	rows, err := catalogue.Read(text)
	if err == nil && len(rows) == 0 {
		t.set = catalogue.New[changes, func(*changes)](text)
		return nil
	}
	if mistakes := t.checkMutants(text, name, p); mistakes != nil {
		return mistakes // all of them, where err is the first
	}
	if err != nil {
		return fmt.Errorf("%s:%w", name, err)
	}
	of := map[string]func(*changes){}
	for _, m := range rows {
		of[m.ID] = func(c *changes) { c.vars, c.faults = m.Vars, m.Fault }
	}
	t.set = catalogue.New(text, of)
	return nil
}

// launcher plays the server, correct or with a fault.
type launcher struct {
	of    *player
	fault string

	mu     sync.Mutex
	played []*fault.Faults
}

// Unfired implements runner.Faulty.
func (l *launcher) Unfired() (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []fault.Fired
	for _, one := range l.played {
		for i, f := range one.Fired() {
			if i == len(all) {
				all = append(all, fault.Fired{Name: f.Name})
			}
			all[i].Met += f.Met
			all[i].Fired += f.Fired
		}
	}
	for _, f := range all {
		switch {
		case f.Fired > 0:
		case f.Met == 0:
			out = append(out, f.Name+" never fired: no message matched")
		default:
			out = append(out, fmt.Sprintf("%s never fired, although %s matched: none was due, or it changed none", f.Name,
				words.Counted(f.Met, "message")))
		}
	}
	return out
}

// Private implements target.Launcher: each launch is a server of its own.
func (*launcher) Private() bool { return true }

// Launch implements target.Launcher.
func (l *launcher) Launch(_ context.Context, _ target.LaunchOptions) (target.Running, error) {
	var c changes
	if err := l.of.set.Put(l.fault, &c); err != nil {
		return nil, err
	}
	s, err := l.of.script.With(c.vars)
	if err != nil {
		return nil, err
	}
	typeOf := faultrule.TypeAt(l.of.types...)
	o := counterpart.Options{Protocol: l.of.protocol, As: target.Server, TypeOf: typeOf, Mind: counterpart.Script,
		Script: s}
	if c.faults != "" {
		set, err := faultrule.Parse(l.fault, []byte(c.faults))
		if err != nil {
			return nil, err
		}
		o.Faults = fault.New(set, typeOf)
		l.mu.Lock()
		l.played = append(l.played, o.Faults)
		l.mu.Unlock()
	}
	p, err := counterpart.Open(context.Background(), o) // it ends by Stop
	if err != nil {
		return nil, fmt.Errorf("play %s: %w", ServerFile, err)
	}
	return &running{play: p}, nil
}

// running is a server that is being played.
type running struct {
	launch.InThisProcess
	play *counterpart.Play
}

// BaseURL implements target.Running.
func (r *running) BaseURL() string { return r.play.URL() }

// Stop implements target.Running.
func (r *running) Stop(context.Context) error {
	r.play.Close()
	return nil
}
