package cli

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"parley/protocol/messages"
	"parley/recording/mock"
	"parley/verdict"
)

// mockOptions are the flags of parley mock.
type mockOptions struct {
	addr   string
	ignore []string
}

func mockCommand(s *streams) *cobra.Command {
	var o mockOptions
	c := &cobra.Command{
		Use:   "mock FILE...",
		Short: "Answer as recorded servers did",
		Long: `Serve what recordings show: what comes is answered as the recorded server answered it. A message is matched by
its content, not by its position. Times and random ids may differ, and --ignore names what else may. What no
recording shows is refused with HTTP status 501, or left without an answer on a WebSocket, and printed on stderr,
with what was shown that is most like it. The first line on stdout is the URL. The mock ends when it is interrupted.

Exit codes: 0 interrupted · 2 wrong usage, or a file is not a recording that can be served · 3 the address is taken.`,
		Example: `  parley mock good.jsonl
  parley mock good.jsonl refusals.jsonl --addr 127.0.0.1:3000 --ignore chat:/content`,
		RunE: func(c *cobra.Command, args []string) error { return serveMock(c.Context(), args, o, s) },
	}
	f := c.Flags()
	f.StringVar(&o.addr, "addr", "127.0.0.1:0", "`ADDRESS` to listen on, of loopback; port 0 is any free one")
	f.StringArrayVar(&o.ignore, "ignore", nil, "what may differ: `POINTER`, TYPE:POINTER or TYPE; may be repeated")
	return c
}

// serveMock serves recordings until ctx ends.
func serveMock(ctx context.Context, names []string, o mockOptions, s *streams) error {
	if len(names) == 0 {
		return usagef("mock: name at least one FILE, such as parley-results/transcripts/sse-AS-2.1-01.jsonl")
	}
	if host, _, err := net.SplitHostPort(o.addr); err != nil || !loopback(host) {
		return usagef("--addr %s: a mock listens on loopback only, such as 127.0.0.1:3000", o.addr)
	}
	opts := mock.Options{Addr: o.addr, Unknown: func(what string) { fmt.Fprintf(s.Err, "%s: %s\n", program, what) }}
	var err error
	if opts.Ignore, err = ignored(o.ignore); err != nil {
		return err
	}
	var all []mock.Recording
	for i, name := range names {
		in, file, err := openRecording(ctx, name, s)
		if err != nil {
			return err
		}
		defer file.Close()
		if first := all; i > 0 && first[0].In.Header().Protocol != in.Header().Protocol {
			return usagef("mock: %s is of the protocol %q, and %s of %q: one mock speaks one protocol", names[0],
				first[0].In.Header().Protocol, name, in.Header().Protocol)
		}
		all = append(all, mock.Recording{Name: name, In: in})
	}
	opts.Messages = messages.For(all[0].In.Header().Protocol)
	m, err := mock.Open(opts, all...)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			fmt.Fprintf(s.Err, "%s: mock: %v\n", program, err)
			return exitError{verdict.ExitUnreachable}
		}
		return usagef("mock: %v", err)
	}
	for _, one := range all {
		if one.In.Torn() {
			fmt.Fprintf(s.Err, "%s: %s: the last line is truncated, and left out\n", program, one.Name)
		}
	}
	defer m.Close()
	fmt.Fprintln(s.Out, m.URL())
	<-ctx.Done()
	return nil
}
