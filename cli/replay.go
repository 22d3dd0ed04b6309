package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"parley/recording/replay"
	"parley/steps"
	"parley/target"
	"parley/verdict"
)

// replayOptions are the flags of parley replay.
type replayOptions struct {
	against string
	speed   float64
	within  time.Duration
	ignore  []string
}

func replayCommand(s *streams) *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use:   "replay FILE --against TARGET",
		Short: "Play a recording's client against a server, and show what differs",
		Long: `Play the client of a recording against a server, and show where what comes differs from what was recorded. Each
message is sent as soon as everything that was received before it in the recording has come, or at its recorded
time with --speed. Times may differ, and so may ids that the server draws anew: they are replaced in what is sent.
TARGET is a URL or a profile. The recording is one of a run, of connect or of simulate. FILE may be - for stdin.

--ignore names what else may differ: /data/text in any message, agent_text:/data/text in those of a type, * for any
member or index, and agent_text for messages of a type, which may be more or fewer.

Exit codes: 0 equal · 1 something differs · 2 wrong usage, or the file is not a recording that can be replayed · 3
the target could not be started or reached · 130 interrupted.`,
		Example: `  parley replay good.jsonl --against http://localhost:3000
  parley replay good.jsonl --against target.yaml --ignore agent_text:/data/text
  parley replay good.jsonl --against http://localhost:3000 --speed 2`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("replay: name one FILE, such as parley-results/transcripts/sse-AS-2.1-01.jsonl")
			}
			return replayAgainst(c.Context(), args[0], o, s)
		},
	}
	f := c.Flags()
	f.StringVar(&o.against, "against", "", "`TARGET` to play against")
	f.Float64Var(&o.speed, "speed", 0, "play `N` times as fast as recorded (1: as recorded; default without waiting)")
	f.DurationVar(&o.within, "within", 10*time.Second, "`LIMIT` for what is to come, from the last thing that came")
	f.StringArrayVar(&o.ignore, "ignore", nil, "what may differ: `POINTER`, TYPE:POINTER or TYPE; may be repeated")
	return c
}

// options checks the flags.
func (o replayOptions) options() (replay.Options, error) {
	out := replay.Options{Speed: o.speed, Within: o.within}
	switch {
	case o.against == "":
		return out, usagef("replay: --against is missing: name the URL or profile of the server to play against")
	case !(o.speed >= 0 && o.speed <= 1e6):
		return out, usagef("--speed %v: want a number from 0 to 1000000", o.speed)
	case o.within <= 0:
		return out, usagef("--within %s: want a positive duration, such as 10s", o.within)
	}
	for _, text := range o.ignore {
		i, err := replay.ParseIgnore(text)
		if err != nil {
			return out, usagef("--ignore %v", err)
		}
		out.Ignore = append(out.Ignore, i)
	}
	return out, nil
}

// replayAgainst plays a recording's client, and prints each difference as it is found.
func replayAgainst(ctx context.Context, name string, o replayOptions, s *streams) error {
	opts, err := o.options()
	if err != nil {
		return err
	}
	in, file, err := openRecording(name, s)
	if err != nil {
		return err
	}
	defer file.Close()
	sub, protocol, err := replayed(o.against, in.Header().Protocol)
	if err != nil {
		return err
	}
	launcher := sub.launcher
	if launcher == nil {
		launcher = target.NewLauncher(sub.profile)
	}
	running, err := launcher.Launch(ctx, target.LaunchOptions{})
	if err != nil {
		fmt.Fprintf(s.Err, "%s: %v\n", program, err)
		return exitError{verdict.ExitUnreachable}
	}
	defer func() { _ = running.Stop(context.WithoutCancel(ctx)) }()
	if opts.URL = running.BaseURL(); opts.URL == "" {
		return usagef("--against %s: it connects by itself, and replay plays against servers", o.against)
	}
	opts.Header, opts.Subprotocols = sub.profile.Header(), protocol.Subprotocols(sub.profile)
	opts.Differs = func(d replay.Difference) { fmt.Fprintln(s.Out, d) }
	result, err := replay.Against(ctx, in, opts)
	if in.Torn() {
		fmt.Fprintf(s.Err, "%s: %s: the last line is torn, and left out\n", program, name)
	}
	switch {
	case errors.Is(err, replay.ErrUnreachable):
		fmt.Fprintf(s.Err, "%s: %v\n", program, err)
		return exitError{verdict.ExitUnreachable}
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return usagef("%s: %v", name, err)
	}
	fmt.Fprintf(s.Out, "sent %d, compared %d, different %d\n", result.Sent, result.Compared, result.Differences)
	if result.Differences > 0 {
		return exitError{verdict.ExitNonConformant}
	}
	return nil
}

// replayed returns the target, and the protocol of the recording.
func replayed(name, protocol string) (*subject, steps.Protocol, error) {
	if protocol == "" {
		return nil, nil, usagef("the recording names no protocol in its first line")
	}
	sub, err := subjectOf(name, given(protocol), nil)
	if err != nil {
		return nil, nil, err
	}
	p, err := suite.Find(sub.profile.Protocol)
	if err != nil {
		return nil, nil, flagged(err)
	}
	return sub, p, nil
}
