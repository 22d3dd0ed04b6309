package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"parley/internal/faultrule"
	"parley/internal/input"
	"parley/protocol/messages"
	"parley/reports"
	"parley/simulator/fault"
	"parley/simulator/gate"
	"parley/target"
)

// maxFaults bounds a file of faults.
const maxFaults = 1 << 20

// faults are the faults of a file, with counts of the messages that they matched.
type faults struct {
	file string
	set  *faultrule.Set
	x    *fault.Faults
}

// readFaults reads the file of --faults for a protocol.
func readFaults(file, protocol string) (*faults, error) {
	text, err := input.Read(file, maxFaults)
	if err != nil {
		return nil, usagef("--faults: %v", err)
	}
	set, err := faultrule.Parse(filepath.ToSlash(file), text)
	if err != nil {
		return nil, &mistakenFile{err}
	}
	return &faults{filepath.ToSlash(file), set, fault.New(set, typesOf(protocol))}, nil
}

// warnOfFaults says on w which faults of a file can happen to no message of the protocol: those for a type that it
// does not have, which a server of one's own may have all the same.
func warnOfFaults(w io.Writer, set *faultrule.Set, file, protocol string) {
	if set.Empty() {
		fmt.Fprintf(w, "%s: %s: the list of faults is empty, so nothing goes wrong\n", program, file)
	}
	known := messages.For(protocol).Types()
	for _, t := range set.Types() {
		if len(known) > 0 && !slices.Contains(known, t.Name) {
			fmt.Fprintf(w, "%s: %s:%d: no message of %s has the type %q%s\n", program, file, t.Line, protocol, t.Name,
				suggestWord(t.Name, known, "there are: "+strings.Join(known, ", ")))
		}
	}
}

// typesOf returns the function that determines the type of a protocol's message; nil if there is none.
func typesOf(protocol string) func([]byte) string {
	if t := bundle.Find(protocol); t != nil {
		return t.TypeOf
	}
	return nil
}

// toldEffects reports the effects of the faults.
func (f *faults) toldEffects() []reports.Fault {
	out := []reports.Fault{}
	for _, one := range f.x.Fired() {
		out = append(out, reports.Fault{File: f.file, Line: one.Line, Name: one.Name, Met: one.Met, Fired: one.Fired})
	}
	return out
}

// reportEffects prints the effects and adds them to the results; f may be nil.
func (f *faults) reportEffects(res *reports.Results, w io.Writer) {
	if f == nil {
		return
	}
	told := f.toldEffects()
	for _, one := range told {
		fmt.Fprintln(w, one.Text())
	}
	for i := range res.Runs {
		res.Runs[i].Faults = told
	}
}

// faultyLauncher launches targets behind gates with faults.
type faultyLauncher struct {
	target.Launcher
	tls    *tls.Config // of the target; nil: Go's defaults
	handle gate.Handler
}

// Launch implements target.Launcher.
func (l faultyLauncher) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	in, err := l.Launcher.Launch(ctx, o)
	if err != nil {
		return nil, err
	}
	g, err := gate.New(gate.Options{Upstream: in.BaseURL, UpstreamTLS: l.tls, Handle: l.handle, MaxLinks: 1024})
	if err != nil {
		_ = in.Stop(ctx)
		return nil, err
	}
	return &misled{Running: in, gate: g}, nil
}

// misled is a target behind a gate. It also offers the optional target interfaces.
type misled struct {
	target.Running
	gate *gate.Gate
	once sync.Once
}

// BaseURL implements target.Running.
func (f *misled) BaseURL() string { return f.gate.URL() }

// Stop implements target.Running.
func (f *misled) Stop(ctx context.Context) error {
	err := f.Running.Stop(ctx)
	f.once.Do(f.gate.Close)
	return err
}

// Exited implements target.Exiter.
func (f *misled) Exited() <-chan struct{} {
	if e, ok := f.Running.(target.Exiter); ok {
		return e.Exited()
	}
	return nil
}

// ExitErr implements target.Exiter.
func (f *misled) ExitErr() error {
	if e, ok := f.Running.(target.Exiter); ok {
		return e.ExitErr()
	}
	return nil
}

// Say implements target.Speaker.
func (f *misled) Say(ctx context.Context, relaySession, text string) error {
	if s, ok := f.Running.(target.Speaker); ok {
		return s.Say(ctx, relaySession, text)
	}
	return &target.NotDeclaredError{Key: "hooks.user-says"}
}

// PageURL implements target.Paged.
func (f *misled) PageURL(relaySession string) (string, error) {
	if p, ok := f.Running.(target.Paged); ok {
		return p.PageURL(relaySession)
	}
	return "", &target.NotDeclaredError{Key: "page"}
}

// Reset implements target.Resetter.
func (f *misled) Reset(ctx context.Context) error {
	if t, ok := f.Running.(target.Resetter); ok {
		return t.Reset(ctx)
	}
	return &target.NotDeclaredError{Key: "hooks.reset"}
}

// LogFolder implements target.LogKeeper.
func (f *misled) LogFolder() (string, error) {
	if l, ok := f.Running.(target.LogKeeper); ok {
		return l.LogFolder()
	}
	return "", &target.NotDeclaredError{Key: "folder of logs"}
}
