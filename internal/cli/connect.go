package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/runner"
	"parley/simulator"
	door "parley/simulator/terminal"
	"parley/target"
)

// connectOptions are the flags of parley connect.
type connectOptions struct {
	protocol, role, driver string
	strict, noColor        bool
	link                   linkOptions
}

func connectCommand(s *streams) *cobra.Command {
	var o connectOptions
	c := &cobra.Command{
		Use:   "connect [TARGET] [FILE.feature]",
		Short: "Talk to a target step by step, judged as you go",
		Long: `Talk to a target by hand, in the steps of the features. Each line is a step, a raw message to a party, or a
command. Every record is printed as it arrives, with the judgements of steps and monitors next to it. A step
judges exactly as it does in a run: a line that expects the answer to something that
was not done is not tested, and says what is missing. Without TARGET the bundled target of --protocol is used.

  client A is connected            a step; Tab completes, ?words searches
  A> {"type":"ping"}               a raw message (over sse: A> POST /path {...})
  .save my.feature                 a command; .help lists them all

Lines from a pipe or from FILE.feature are executed in order, each after the records of the one before. Their
output has no times and numbers ids in order of appearance, so that outputs can be compared. The first mistake
in a line ends the session.

Exit codes: 0 no clause failed · 1 a clause failed · 2 wrong usage or a mistake in a line · 3 the target could not
be started or reached · 5 a step could not judge · 130 interrupted.`,
		Example: `  parley connect
  parley connect http://localhost:3000
  parley connect target.yaml
  parley connect target.yaml saved.feature
  echo 'client A is connected' | parley connect http://localhost:3000`,
		RunE: func(c *cobra.Command, args []string) error { return runConnect(c.Context(), args, o, s) },
	}
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", "",
		"`PROTOCOL` of a URL or of the bundled target (default "+suite.Kinds()[0].Protocol+")")
	f.StringVar(&o.role, "role", "", "`ROLE` of the target (default that of the profile, or the first of the protocol)")
	f.StringVar(&o.driver, "driver", "", "`DRIVER` to connect over (default the first that the target declares)")
	o.link.declareFlags(f)
	f.BoolVar(&o.strict, "strict", false, "count a broken SHOULD as a failure, and read conflicting clauses strictly")
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
	return c
}

// runConnect holds a session until its lines end.
func runConnect(ctx context.Context, args []string, o connectOptions, s *streams) error {
	name, file, err := connectArgs(args)
	if err != nil {
		return err
	}
	if err := o.link.nameOneProtocol(ctx, &name, &o.protocol, s); err != nil {
		return err
	}
	opts, err := o.sessionOptions(name)
	if err != nil {
		return err
	}
	in := s.In
	if file != "" {
		f, err := input.Open(ctx, file)
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
			return nameFlag(err)
		}
		fmt.Fprintf(s.Err, "%s: %v\n", program, err)
		return exitError{verdict.ExitUnreachable}
	}
	defer live.Close()
	typed, _ := in.(*os.File)
	if file == "" && typed != nil && term.IsTerminal(int(typed.Fd())) && s.OutTTY {
		return o.runTyped(ctx, live, o.repeatCommand(name, live.Protocol()), typed, s)
	}
	t := door.New(door.Options{Session: live, Out: s.Out, Again: o.repeatCommand(name, live.Protocol()), Steady: true})
	lines := door.NewPipe(in)
	if file != "" {
		lines = door.NewScript(in)
	}
	return printDuring(ctx, t, live, func() error { return runScript(ctx, t, lines, file) })
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

// sessionOptions are the options of the session with a target; "" for a bundled one.
func (o connectOptions) sessionOptions(name string) (runner.Options, error) {
	protocols, roles := givenList(o.protocol), givenList(o.role)
	if name == "" && len(protocols) == 0 {
		protocols = []string{suite.Kinds()[0].Protocol}
	}
	subjects, err := subjectsOf(name, protocols, roles)
	if err == nil {
		err = o.link.applyAll(subjects)
	}
	if err != nil {
		return runner.Options{}, err
	}
	drivers, err := shareDrivers(subjects[:1], givenList(o.driver))
	if err != nil {
		return runner.Options{}, err
	}
	sub := subjects[0]
	launcher := sub.launcher
	if launcher == nil {
		launcher = target.NewLauncher(sub.profile)
	}
	return runner.Options{Protocols: suite, Profile: sub.profile, Launcher: launcher, Brain: sub.brain,
		Role: sub.profile.Role, Drivers: drivers[0][:1], Strict: o.strict, Again: program + " connect"}, nil
}

// repeatCommand returns the command line that runs saved scenarios against the target of the session.
func (o connectOptions) repeatCommand(name, protocol string) string {
	words := []string{program, "run"}
	if name == "" || o.protocol != "" || isURL(name) {
		words = append(words, "--protocol", spelled(protocol))
	}
	for _, f := range []struct{ flag, value string }{{"--target", name}, {"--role", o.role}, {"--driver", o.driver}} {
		if f.value != "" {
			words = append(words, f.flag, shellWord(f.value))
		}
	}
	words = append(words, o.link.givenFlags()...)
	if o.strict {
		words = append(words, "--strict")
	}
	return strings.Join(words, " ")
}

// printDuring prints what comes while do works, and ends with the exit code of what was judged.
func printDuring(ctx context.Context, t *door.Terminal, live *simulator.Session, do func() error) error {
	following, stop := context.WithCancel(ctx)
	var printing sync.WaitGroup
	printing.Go(func() { t.Follow(following) })
	err := do()
	_ = live.Check(ctx) // what the monitors have not said yet is printed before the end; interrupted, it is not
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

// runScript carries out the lines of a file, or of a pipe, up to the first mistake.
func runScript(ctx context.Context, t *door.Terminal, lines *door.Lines, file string) error {
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

// runTyped carries out the lines that a person types.
func (o connectOptions) runTyped(ctx context.Context, live *simulator.Session, again string, in *os.File,
	s *streams) error {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("read from the terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(in.Fd()), state) }()
	width, height, err := term.GetSize(int(in.Fd()))
	if err != nil {
		width, height = 80, 24
	}
	return holdConversation(ctx, live, in, s.Out, [2]int{width, height}, door.Options{Session: live,
		Color: s.Color && !o.noColor, Width: s.OutWidth, Times: true, Again: again, TellWaits: 2 * time.Second})
}

// maxOffered bounds what Tab lists.
const maxOffered = 20

// maxAhead bounds the lines that are typed while a step runs.
const maxAhead = 1000

// holdConversation holds a session with a person: the lines typed on in are executed, and everything is printed to out
// above the line being typed. Ctrl-C interrupts the running step and those entered behind it, or else clears the line;
// Ctrl-D ends the session.
func holdConversation(ctx context.Context, live *simulator.Session, in io.Reader, out io.Writer, size [2]int,
	o door.Options) error {
	keys := &keyboard{in: in}
	screen := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keys, out}, "> ")
	_ = screen.SetSize(size[0], size[1])
	o.Out = screen
	t := door.New(o)
	screen.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		longer, all := t.Complete(line[:pos])
		if longer == line[:pos] && len(all) > 1 {
			// the callback holds the lock of the screen
			go fmt.Fprintln(screen, "  "+strings.Join(all[:min(len(all), maxOffered)], "\n  "))
		}
		return longer + line[pos:], len(longer), true
	}
	fmt.Fprintf(screen, "%s at %s over %s. A line is a step; ?words searches, Tab completes, .help lists commands.\n",
		live.Protocol(), live.URL(), live.Driver())
	return printDuring(ctx, t, live, func() error {
		lines := make(chan typed, maxAhead)
		go keys.passLines(door.NewLines(screen), lines)
		for {
			var next typed
			select {
			case next = <-lines:
			case <-ctx.Done():
				return ctx.Err()
			}
			err := next.err
			if err == nil {
				err = keys.callInterruptibly(ctx, next.number,
					func(one context.Context) error { return t.Do(one, next.line) })
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

// typed is a line, or the error of reading it.
type typed struct {
	line   door.Line
	number int // counted from 1
	err    error
}

// keyboard takes Ctrl-C out of the keys: x/term ends at it for good.
type keyboard struct {
	in io.Reader

	mu        sync.Mutex
	interrupt context.CancelFunc // of the running step; nil: none
	lines     int                // lines entered
	begun     int                // the number of the latest line that was executed, or left out
	stopped   int                // Ctrl-C came behind this line
}

const ctrlC, ctrlU = 0x03, 0x15

// Read implements io.Reader. While no step runs or waits for its turn, Ctrl-C becomes Ctrl-U, which clears the line.
func (k *keyboard) Read(p []byte) (int, error) {
	for {
		entered := k.countRead()
		n, err := k.in.Read(p)
		kept := p[:0]
		for _, key := range p[:n] {
			if key == '\r' {
				entered++
			}
			if key != ctrlC {
				kept = append(kept, key)
			} else if !k.interruptUpTo(entered) {
				kept = append(kept, ctrlU)
			}
		}
		if len(kept) > 0 || err != nil {
			return len(kept), err
		}
	}
}

// countRead returns the number of lines that were read: all, as x/term reads no more keys before it has returned every
// line.
func (k *keyboard) countRead() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = min(k.stopped, k.lines) // a step of several lines is one
	return k.lines
}

// passLines passes lines on, up to the first one that cannot be read.
func (k *keyboard) passLines(from *door.Lines, lines chan<- typed) {
	for {
		line, err := from.Next()
		next := typed{line: line, err: err}
		if err == nil {
			next.number = k.countLine()
		}
		lines <- next
		if err != nil && !errors.As(err, new(*door.MistakeError)) {
			return
		}
	}
}

// countLine counts a line, and returns its number.
func (k *keyboard) countLine() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines++
	return k.lines
}

// interruptUpTo interrupts what was entered up to a line, and reports whether there is any.
func (k *keyboard) interruptUpTo(line int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.interrupt == nil && line <= k.begun {
		return false
	}
	k.stopped = line
	if k.interrupt != nil {
		k.interrupt()
	}
	return true
}

// callInterruptibly calls do with a context that Ctrl-C cancels. If it was pressed behind the line before, during does
// nothing.
func (k *keyboard) callInterruptibly(ctx context.Context, line int, do func(context.Context) error) error {
	one, cancel := context.WithCancel(ctx)
	defer cancel()
	k.mu.Lock()
	k.begun = line
	if line <= k.stopped {
		k.mu.Unlock()
		return context.Canceled
	}
	k.interrupt = cancel
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.interrupt = nil
	}()
	return do(one)
}
