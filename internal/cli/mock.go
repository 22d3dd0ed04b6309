package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/protocol/messages"
	"parley/runner"
	"parley/simulator/mock"
	"parley/simulator/replay"
	"parley/target"
)

// mockOptions are the flags of parley mock.
type mockOptions struct {
	addr, against string
	speed         float64
	within        time.Duration
	ignore        []string
	strict        bool
}

func mockCommand(s *streams) *cobra.Command {
	var o mockOptions
	c := &cobra.Command{
		Use:   "mock FILE...",
		Short: "Answer as recorded servers did, or act as recorded clients did",
		Long: `Answer each request and message as the recorded server answered it. Messages are matched by their
content, not by their position. Times and random ids may differ, and --ignore names what else may. Answers are
sent at once, or at the recorded pace with --speed. A request that is in no recording gets HTTP status 501, and a
WebSocket message no answer; stderr shows each of them with the recorded one that is most similar. The first line
on stdout is the URL. The mock ends when it is interrupted.

With --target, act as the recorded clients did against a server: a URL or a profile, also one that is started over
stdio. What a client did on its own is done at once; what it did in reply to a message is done when a matching message
arrives, in any order. A reply that repeats an id of a message is sent again if such a message arrives again with
another id. A message that is in no recording is printed with the recorded one that is most similar; if that has not
arrived a tenth of --within later, the mock takes the one for the other, and prints that difference once. The mock
ends when everything is done, or when for --within no message has arrived on which the next act depends; then it
prints what was not done, and the messages that were missing.

Exit codes: 0 interrupted, or everything was done and known · 1 a message was in no recording (when serving, only
with --strict), or something was not done · 2 wrong usage, or a file is not a recording that can be played · 3 the
target could not be started or reached, or the address is taken · 130 --target was interrupted.`,
		Example: `  parley mock good.jsonl
  parley mock good.jsonl refusals.jsonl --listen 127.0.0.1:3000 --ignore chat:/content
  parley mock good.jsonl --target http://localhost:3000`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.against != "" {
				return o.playClients(c, args, s)
			}
			if !(o.speed >= 0 && o.speed <= 1e6) {
				return usagef("--speed %v: want a number from 0 to 1000000", o.speed)
			}
			if c.Flags().Changed("within") {
				return usagef("--within is for --target: a mock that serves waits until it is interrupted")
			}
			return serveMock(c.Context(), args, o, s)
		},
	}
	takeFolder(c)
	f := c.Flags()
	f.StringVar(&o.addr, "listen", "127.0.0.1:0", "`ADDRESS` to listen on, of loopback; port 0 is any free one")
	f.StringVar(&o.against, "target", "", "act as the recorded client, against `TARGET`: a URL or a profile")
	f.DurationVar(&o.within, "within", 10*time.Second,
		"with --target: wait at most `LIMIT` for a message on which the next act depends")
	f.Float64Var(&o.speed, "speed", 0, "when serving, answer `N` times as fast as recorded (1: as recorded; default "+
		"without waiting)")
	f.BoolVar(&o.strict, "strict", false, "exit with 1 if a message came that is in no recording")
	f.StringArrayVar(&o.ignore, "ignore", nil, "what may differ: `POINTER`, TYPE:POINTER or TYPE; may be repeated")
	return c
}

// openRecordings opens the recordings of a mock, which are of one protocol. The caller calls the function that it
// returns.
func openRecordings(ctx context.Context, names []string, s *streams) (all []mock.Recording, done func(), err error) {
	if len(names) == 0 {
		return nil, nil, usagef("mock: name at least one FILE, such as parley-results/transcripts/sse-AS-2.1-01.jsonl")
	}
	var files []io.Closer
	done = func() {
		for _, one := range all {
			if one.In.Torn() {
				fmt.Fprintf(s.Err, "%s: %s: the last line is truncated, and left out\n", program, one.Name)
			}
		}
		for _, file := range files {
			_ = file.Close()
		}
	}
	for i, name := range names {
		in, file, err := openRecording(ctx, name, s)
		if err != nil {
			done()
			return nil, nil, err
		}
		files = append(files, file)
		if first := all; i > 0 && first[0].In.Header().Protocol != in.Header().Protocol {
			done()
			return nil, nil, usagef("mock: %s is of the protocol %q, and %s of %q: one mock speaks one protocol", names[0],
				first[0].In.Header().Protocol, name, in.Header().Protocol)
		}
		all = append(all, mock.Recording{Name: name, In: in})
	}
	return all, done, nil
}

// serveMock serves recordings until ctx ends.
func serveMock(ctx context.Context, names []string, o mockOptions, s *streams) error {
	if host, _, err := net.SplitHostPort(o.addr); err != nil || !isLoopback(host) {
		return usagef("--listen %s: a mock listens on loopback only, such as 127.0.0.1:3000", o.addr)
	}
	var unknown atomic.Bool
	opts := mock.Options{Addr: o.addr, Speed: o.speed, Unknown: func(what string) {
		unknown.Store(true)
		fmt.Fprintf(s.Err, "%s: %s\n", program, what)
	}}
	var err error
	if opts.Ignore, err = parseIgnored(o.ignore); err != nil {
		return err
	}
	all, done, err := openRecordings(ctx, names, s)
	if err != nil {
		return err
	}
	opts.Messages = messages.For(all[0].In.Header().Protocol)
	m, err := mock.Open(opts, all...)
	done()
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			return describeListenError("--listen", o.addr, err)
		}
		return usagef("mock: %v", err)
	}
	fmt.Fprintln(s.Out, m.URL())
	<-ctx.Done()
	m.Close()
	if o.strict && unknown.Load() {
		return exitError{verdict.ExitNonConformant}
	}
	return nil
}

// playClients acts as recorded clients did, and prints what was not as recorded.
func (o mockOptions) playClients(c *cobra.Command, names []string, s *streams) error {
	switch {
	case c.Flags().Changed("listen"):
		return usagef("mock: --target plays clients, and --listen serves: one of them")
	case c.Flags().Changed("speed"):
		return usagef("mock: --speed paces answers, and with --target the target answers")
	case o.within <= 0:
		return usagef("--within %s: want a positive duration, such as 10s", o.within)
	}
	ctx := c.Context()
	opts := mock.ClientOptions{Unknown: func(what string) { fmt.Fprintln(s.Out, what) }}
	var err error
	if opts.Ignore, err = parseIgnored(o.ignore); err != nil {
		return err
	}
	all, done, err := openRecordings(ctx, names, s)
	if err != nil {
		return err
	}
	defer done()
	header := all[0].In.Header()
	for _, one := range all {
		if over := one.In.Header().Driver == overStdio; over != (header.Driver == overStdio) {
			return usagef("mock: of %s and %s one was recorded over stdio: one mock calls one target", names[0], one.Name)
		}
	}
	opts.Messages = messages.For(header.Protocol)
	var result mock.ClientResult
	err = startAndDial(ctx, o.against, header, s, func(to replay.Dial, p *target.Profile) (err error) {
		opts.Messages, opts.Secrets = opts.Messages.WithIDs(p.Reach().IDs), secretsOf(p)
		opts.To, opts.Within = to, o.within
		result, err = mock.Call(ctx, opts, all...)
		return err
	})
	return printCalled(ctx, result, err, s)
}

// printCalled prints what the mock of a client did, and gives it its exit code.
func printCalled(ctx context.Context, result mock.ClientResult, err error, s *streams) error {
	var exit exitError
	var usage *runner.UsageError
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit) || errors.As(err, &usage):
		return err
	case errors.Is(err, replay.ErrUnreachable):
		fmt.Fprintf(s.Err, "%s: %v\n", program, err)
		return exitError{verdict.ExitUnreachable}
	case err != nil:
		return usagef("mock: %v", err)
	}
	for _, one := range result.Undone {
		fmt.Fprintln(s.Out, "not done: "+one)
	}
	if result.Behind > 0 {
		fmt.Fprintf(s.Err, "%s: %d more came behind the end of what was recorded, and were not known\n", program,
			result.Behind)
	}
	again := ""
	if result.Again > 0 {
		again = fmt.Sprintf(", answered again %d", result.Again)
	}
	fmt.Fprintf(s.Out, "sent %d%s, known %d, never shown %d, not done %d\n", result.Sent, again, result.Known,
		result.Unknown, len(result.Undone))
	if result.Unknown > 0 || len(result.Undone) > 0 {
		return exitError{verdict.ExitNonConformant}
	}
	return nil
}
