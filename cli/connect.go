package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"parley/runner"
	"parley/simulator"
	door "parley/simulator/terminal"
	"parley/target"
	"parley/verdict"
)

// connectOptions are the flags of parley connect.
type connectOptions struct {
	protocol, role, driver string
	strict, noColor        bool
}

func connectCommand(s *streams) *cobra.Command {
	var o connectOptions
	c := &cobra.Command{
		Use:   "connect [TARGET] [FILE.feature]",
		Short: "Talk to a target step by step, judged as you go",
		Long: `Talk to a target by hand, in the steps of the features. Each line is a step, a raw message to a party, or a
command; every record is printed as it comes, and beside it what each step and the monitors judge. A step judges exactly as
it does in a run. Without TARGET the bundled target of --protocol is used.

  client A is connected            a step; Tab completes, ?words searches
  A> {"type":"ping"}               a raw message (over sse: A> POST /path {...})
  .save my.feature                 a command; .help lists them all

Lines from a pipe or from FILE.feature are carried out one after the other, each once nothing more comes. Their output has
no times, and ids by the order in which they come, so that two outputs can be compared. The first mistake ends them.

Exit codes: 0 no clause failed · 1 a clause failed · 2 wrong usage or a mistake in a line · 3 the target could not be
started or reached · 5 a step could not judge · 130 interrupted.`,
		Example: `  parley connect
  parley connect http://localhost:3000
  parley connect target.yaml
  parley connect --protocol session-chat saved.feature
  echo 'client A is connected' | parley connect http://localhost:3000`,
		RunE: func(c *cobra.Command, args []string) error { return connect(c.Context(), args, o, s) },
	}
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", "", "`PROTOCOL` of a URL or of the bundled target (default "+suite.Kinds()[0].Protocol+")")
	f.StringVar(&o.role, "role", "", "`ROLE` of the target (default that of the profile, or the first of the protocol)")
	f.StringVar(&o.driver, "driver", "", "`DRIVER` to connect over (default the first that the target declares)")
	f.BoolVar(&o.strict, "strict", false, "count a broken SHOULD as a failure, and read conflicting clauses strictly")
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
	return c
}

// connect holds a session until its lines end.
func connect(ctx context.Context, args []string, o connectOptions, s *streams) error {
	name, file, err := connectArgs(args)
	if err != nil {
		return err
	}
	opts, err := o.session(name)
	if err != nil {
		return err
	}
	in := s.In
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return usagef("connect: %v", err)
		}
		defer f.Close()
		in = f
	}
	live, err := simulator.Open(ctx, opts)
	if err != nil {
		var usage *runner.UsageError
		var interrupted = ctx.Err() != nil
		if errors.As(err, &usage) || interrupted {
			return flagged(err)
		}
		fmt.Fprintf(s.Err, "%s: %v\n", program, err)
		return exitError{verdict.ExitUnreachable}
	}
	defer live.Close()
	typed, _ := in.(*os.File)
	if file == "" && typed != nil && term.IsTerminal(int(typed.Fd())) && s.OutTTY {
		return o.talk(ctx, live, typed, s)
	}
	t := door.New(door.Options{Session: live, Out: s.Out, Steady: true})
	return during(ctx, t, live, func() error { return script(ctx, t, door.NewScript(in), file) })
}

// connectArgs are the target and the file of steps among the arguments.
func connectArgs(args []string) (name, file string, err error) {
	for _, arg := range args {
		switch {
		case strings.HasSuffix(arg, ".feature") && file == "":
			file = arg
		case !strings.HasSuffix(arg, ".feature") && name == "":
			name = arg
		default:
			return "", "", usagef("connect: one target and one FILE.feature at most, and here is %s too", arg)
		}
	}
	return name, file, nil
}

// session are the options of the session with a target; "" for a bundled one.
func (o connectOptions) session(name string) (runner.Options, error) {
	protocols, roles := given(o.protocol), given(o.role)
	if name == "" && len(protocols) == 0 {
		protocols = []string{suite.Kinds()[0].Protocol}
	}
	subjects, err := subjectsOf(name, protocols, roles)
	if err != nil {
		return runner.Options{}, err
	}
	drivers, err := share(subjects[:1], given(o.driver))
	if err != nil {
		return runner.Options{}, err
	}
	sub := subjects[0]
	launcher := sub.launcher
	if launcher == nil {
		launcher = target.NewLauncher(sub.profile)
	}
	return runner.Options{Protocols: suite, Profile: sub.profile, Launcher: launcher, Brain: sub.brain, Role: sub.profile.Role,
		Drivers: drivers[0][:1], Strict: o.strict, Again: program + " connect"}, nil
}

// during prints what comes while do works, and ends with the exit code of what was judged.
func during(ctx context.Context, t *door.Terminal, live *simulator.Session, do func() error) error {
	following, stop := context.WithCancel(ctx)
	var printing sync.WaitGroup
	printing.Go(func() { t.Follow(following) })
	err := do()
	stop()
	printing.Wait()
	live.Close()
	if err != nil && !errors.Is(err, door.ErrQuit) {
		return err
	}
	if code := t.Exit(); code != verdict.ExitConformant {
		return exitError{code}
	}
	return nil
}

// script carries out the lines of a file, or of a pipe, up to the first mistake.
func script(ctx context.Context, t *door.Terminal, lines *door.Lines, file string) error {
	for {
		line, err := lines.Next()
		if err == nil {
			err = t.Do(ctx, line)
		}
		var mistake *door.MistakeError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &mistake) && file != "":
			return usagef("%s:%d: %v", file, mistake.Line, mistake.Err)
		case errors.As(err, &mistake):
			return usagef("connect: %v", mistake)
		case err != nil:
			return err
		}
	}
}

// talk carries out the lines that a person types.
func (o connectOptions) talk(ctx context.Context, live *simulator.Session, in *os.File, s *streams) error {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("read from the terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(in.Fd()), state) }()
	screen := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, s.Out}, "> ")
	if width, height, err := term.GetSize(int(in.Fd())); err == nil {
		_ = screen.SetSize(width, height)
	}
	return converse(ctx, live, screen, door.Options{Session: live, Out: screen, Color: s.Color && !o.noColor,
		Width: s.OutWidth, Times: true})
}

// maxOffered bounds what Tab lists.
const maxOffered = 20

// converse holds a session on a screen, until its lines end: what is printed stands above the line that is being typed.
// The end of input while a step is carried out (Ctrl-C) interrupts that step alone.
func converse(ctx context.Context, live *simulator.Session, screen *term.Terminal, o door.Options) error {
	t := door.New(o)
	screen.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		longer, all := t.Complete(line[:pos])
		if longer == line[:pos] && len(all) > 1 {
			fmt.Fprintln(screen, "  "+strings.Join(all[:min(len(all), maxOffered)], "\n  "))
		}
		return longer + line[pos:], len(longer), true
	}
	fmt.Fprintf(screen, "%s at %s over %s. A line is a step; ?words searches, Tab completes, .help lists commands.\n",
		live.Protocol(), live.URL(), live.Driver())
	return during(ctx, t, live, func() error {
		lines := make(chan typed)
		reading, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			in := door.NewLines(screen)
			for {
				line, err := in.Next()
				select {
				case lines <- typed{line, err}:
				case <-reading.Done():
					return
				}
				if err != nil && !errors.As(err, new(*door.MistakeError)) && !errors.Is(err, io.EOF) {
					return
				}
			}
		}()
		var queue []typed
		for {
			var next typed
			if len(queue) > 0 {
				next, queue = queue[0], queue[1:]
			} else {
				select {
				case next = <-lines:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			err := next.err
			if err == nil {
				err = carryOut(ctx, t, next.line, lines, &queue)
			}
			var mistake *door.MistakeError
			switch {
			case errors.As(err, &mistake):
				fmt.Fprintln(screen, "  "+mistake.Error())
			case errors.Is(err, context.Canceled) && ctx.Err() == nil:
				fmt.Fprintln(screen, "  interrupted")
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
		}
	})
}

// typed is a line, or what came in its place.
type typed struct {
	line door.Line
	err  error
}

// carryOut carries a line out, and keeps what is typed meanwhile. The end of input interrupts it.
func carryOut(ctx context.Context, t *door.Terminal, line door.Line, lines <-chan typed, queue *[]typed) error {
	one, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- t.Do(one, line) }()
	for {
		select {
		case err := <-done:
			return err
		case next := <-lines:
			if errors.Is(next.err, io.EOF) {
				cancel()
				continue
			}
			*queue = append(*queue, next)
		}
	}
}
