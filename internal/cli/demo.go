package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/simulator"
	"parley/simulator/console"
	door "parley/simulator/terminal"
)

// demoOptions are the flags of parley demo.
type demoOptions struct {
	console       string
	open, noColor bool
}

// sceneTime is how long a person gets to read what a scene says, before its messages come.
const sceneTime = 2 * time.Second

func demoCommand(s *streams) *cobra.Command {
	var o demoOptions
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a session with a faulty server being judged: nothing to set up",
		Long: `Watch a short session with a bundled server that has one fault: each message as it is on the wire, the clauses
that the server keeps, and the one that it breaks. On a terminal the session then stays open on a page, where you can
continue it by hand, until Ctrl-C; elsewhere --open or --console asks for that.

Exit codes: 0 the fault was found · 4 it was not.`,
		Example: "  parley demo\n  parley demo --open",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return o.runDemo(c.Context(), s) },
	}
	f := c.Flags()
	f.StringVar(&o.console, "console", "",
		"`ADDR` of the page (default on a terminal 127.0.0.1:0, where 0 is a free port)")
	f.BoolVar(&o.open, "open", false, "open the page in the browser")
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
	return c
}

// demoTarget is the bundled target that has a demo; nil if none has.
func demoTarget() *launch.Target {
	i := slices.IndexFunc(bundle, func(t launch.Target) bool { return t.Demo != nil })
	if i < 0 {
		return nil
	}
	return &bundle[i]
}

// runDemo shows the demo, and its session on a page where one is asked for or a person looks.
func (o demoOptions) runDemo(ctx context.Context, s *streams) error {
	t := demoTarget()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	live, err := openDemo(ctx, t)
	if err != nil {
		return err
	}
	defer live.Close()
	var page string
	var served <-chan error
	if o.console != "" || o.open || s.OutTTY {
		if page, served, err = o.showPage(ctx, t, live, s); err != nil {
			return err
		}
	}
	if err := o.playScenes(ctx, t.Demo, live, s); err != nil {
		return err
	}
	found := brokenClauses(live)
	if len(found) == 0 {
		return errors.New("demo: the fault was not found")
	}
	tellVerdict(live, found, s.Out)
	fmt.Fprintf(s.Out, demoNext, program, found[0], t.Demo.Fault)
	if served == nil {
		fmt.Fprintf(s.Out, "  %s demo --open               the same on a page, to continue by hand\n", program)
		return nil
	}
	fmt.Fprintf(s.Out, "\nThe session is still open on the page %s; Ctrl-C ends it.\n", page)
	return <-served
}

// openDemo opens the session with the faulty target.
func openDemo(ctx context.Context, t *launch.Target) (*simulator.Session, error) {
	sub := bundle.With(suite.Kinds(), t.Protocol, "", t.Demo.Fault)
	return simulator.Open(ctx, runner.Options{Protocols: suite, Profile: sub.Profile, Launcher: sub.Launcher,
		Brain: sub.Brain, Role: sub.Profile.Role, Drivers: sub.Profile.Drivers[:1], Again: program + " connect"})
}

// showPage serves the page of parley simulate, whose first session is that of the demo.
func (o demoOptions) showPage(ctx context.Context, t *launch.Target, live *simulator.Session,
	s *streams) (url string, served <-chan error, err error) {
	page := simulateOptions{serveOptions: serveOptions{addr: "127.0.0.1:0"}}
	if o.console != "" {
		page.addr, page.listening = o.console, true
	}
	certificate, err := page.vetFlags(s)
	if err != nil {
		return "", nil, err
	}
	offers := page.consoleOptions()
	open, begun := offers.Open, false
	offers.Open = func(session context.Context, t console.TestOptions) (*simulator.Session, error) {
		if begun { // somebody has begun another on the page
			return open(session, t)
		}
		begun = true
		return live, nil
	}
	c, err := console.New(offers)
	if err != nil {
		return "", nil, err
	}
	if _, err := c.OpenTest(ctx, console.TestOptions{Protocol: t.Protocol}); err != nil {
		return "", nil, err
	}
	url, served, err = page.serveConsole(ctx, c, certificate, s)
	if err != nil {
		return "", nil, err
	}
	fmt.Fprintf(s.Out, "page: %s\n", url)
	if o.open {
		if err := openPage(url, ""); err != nil {
			fmt.Fprintf(s.Err, "%s: the browser cannot be opened (open %s): %v\n", program, url, err)
		}
	}
	return url, served, nil
}

// playScenes carries out the steps and prints what they cause.
func (o demoOptions) playScenes(ctx context.Context, d *launch.Demo, live *simulator.Session, s *streams) error {
	t := door.New(door.Options{Session: live, Out: s.Out, Color: s.OutTTY && s.Color && !o.noColor, Width: s.OutWidth,
		Steady: true})
	following, stop := context.WithCancel(ctx)
	var printing sync.WaitGroup
	printing.Go(func() { t.Follow(following) })
	defer printing.Wait()
	defer stop()
	fmt.Fprintln(s.Out, d.Title)
	for _, scene := range d.Scenes {
		fmt.Fprintf(s.Out, "\n%s\n", scene.Says)
		if s.OutTTY {
			select {
			case <-time.After(sceneTime):
			case <-ctx.Done():
			}
		}
		for _, step := range scene.Steps {
			if err := t.Do(ctx, door.Line{Text: step}); err != nil {
				return err
			}
		}
	}
	return nil
}

// brokenClauses are the binding clauses that a session has found broken, in the order of the document.
func brokenClauses(live *simulator.Session) (ids []string) {
	outcomes := live.Outcomes()
	for _, row := range live.Ledger().Rows() {
		if outcomes[row.ID] == verdict.Failed {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

// tellVerdict says which clauses are broken.
func tellVerdict(live *simulator.Session, broken []string, out io.Writer) {
	fmt.Fprintln(out, "\nThat is a verdict: the clause, what was expected, and the message that broke it.")
	for _, id := range broken {
		row, _ := live.Ledger().Row(id)
		fmt.Fprintf(out, "  %s  %s  %s\n", row.ID, row.Level, row.Text)
		if row.Source != "" {
			fmt.Fprintf(out, "  %s  in the words of the document: %s\n", strings.Repeat(" ", len(row.ID)), row.Source)
		}
	}
}

// demoNext is what to do next: program, broken clause, fault.
const demoNext = `
Next:
  %[1]s run http://localhost:3000   judge your own server: every clause, in seconds
  %[1]s run                         judge the bundled servers, which conform
  %[1]s explain %[2]s              what the clause says, and what judges it
  %[1]s explain %[3]s    the fault that was put in
`
