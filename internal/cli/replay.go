package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/protocol/messages"
	"parley/runner"
	"parley/simulator/replay"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/recording"
)

// replayOptions are the flags of parley replay.
type replayOptions struct {
	against, serve string
	speed          float64
	within         time.Duration
	thinks         bool // who connects may take any time
	ignore         []string
	words, noColor bool
}

func replayCommand(s *streams) *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use:   "replay FILE --target TARGET | --listen ADDRESS",
		Short: "Play one side of a recording against a live other side, and show what differs",
		Long: `Play one side of a recording against a live other side, and show where that differs from the recording:

  --target TARGET   play the client against a server: a URL or a profile, also one that is started over stdio
  --listen ADDRESS    play the server for a client that connects to ADDRESS, whose URL is the first line on stdout
  --listen stdio      play the server of a recording made over stdio for the program that has started this one

Each message is sent once all messages that come before it in the recording have been received, or at its recorded
time with --speed. If the other side generates new ids, the messages sent to it contain these. The schemas of the
protocol's messages say which values may differ (ids, times, a model's words); --same-words compares the words too.
FILE may be - for stdin.

--ignore names what else may differ: /data/text in any message, agent_text:/data/text in those of a type, * for any
member or index, and agent_text for messages of a type, which may be more or fewer.

Exit codes: 0 equal · 1 something differs · 2 wrong usage, or the file is not a recording that can be replayed · 3
the target could not be started or reached, or the address is taken · 130 interrupted.`,
		Example: `  parley replay good.jsonl --target http://localhost:3000
  parley replay good.jsonl --target target.yaml --ignore agent_text:/data/text
  parley replay good.jsonl --listen 127.0.0.1:3000 --speed 2`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("replay: name one FILE, such as parley-results/transcripts/sse-AS-2.1-01.jsonl")
			}
			o.thinks = o.serve != "" && !c.Flags().Changed("within")
			return o.replayRecording(c.Context(), args[0], s)
		},
	}
	takeFolder(c)
	f := c.Flags()
	f.StringVar(&o.against, "target", "", "`TARGET` to play the client against")
	f.StringVar(&o.serve, "listen", "", "`ADDRESS` of loopback to play the server at (port 0: any free one), or stdio")
	f.Float64Var(&o.speed, "speed", 0, "play `N` times as fast as recorded (1: as recorded; default without waiting)")
	f.DurationVar(&o.within, "within", 10*time.Second,
		"wait at most `LIMIT` after the last message for the next one; with --listen the default "+
			"applies only while no client is connected")
	f.StringArrayVar(&o.ignore, "ignore", nil, "what may differ: `POINTER`, TYPE:POINTER or TYPE; may be repeated")
	f.BoolVar(&o.words, "same-words", false, "a model's words must be as recorded")
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
	return c
}

// checkFlags checks the flags.
func (o replayOptions) checkFlags() (replay.Options, error) {
	out := replay.Options{Speed: o.speed, Within: o.within, Words: o.words, Thinks: o.thinks}
	switch {
	case o.against == "" && o.serve == "":
		return out, usagef("replay: --target is missing: name the URL or profile of the server to play against, or " +
			"--listen and the address to play the server at")
	case o.against != "" && o.serve != "":
		return out, usagef("replay: --target plays the client and --listen the server: one of them")
	case !(o.speed >= 0 && o.speed <= 1e6):
		return out, usagef("--speed %v: want a number from 0 to 1000000", o.speed)
	case o.within <= 0:
		return out, usagef("--within %s: want a positive duration, such as 10s", o.within)
	}
	host, _, err := net.SplitHostPort(o.serve)
	if o.serve != "" && o.serve != overStdio && (err != nil || !isLoopback(host)) {
		return out, usagef("--listen %s: want an address of loopback, such as 127.0.0.1:3000, or stdio", o.serve)
	}
	out.Ignore, err = parseIgnored(o.ignore)
	return out, err
}

// parseIgnored reads the values of --ignore.
func parseIgnored(texts []string) (out []replay.Ignore, err error) {
	for _, text := range texts {
		i, err := replay.ParseIgnore(text)
		if err != nil {
			return nil, usagef("--ignore %v", err)
		}
		out = append(out, i)
	}
	return out, nil
}

// overStdio is the address, and the name of the transport, of a program that is reached by its stdin and stdout.
const overStdio = "stdio"

// replayRecording plays one side of a recording, and prints each difference as it is found.
func (o replayOptions) replayRecording(ctx context.Context, name string, s *streams) error {
	opts, err := o.checkFlags()
	if err != nil {
		return err
	}
	in, file, err := openRecording(ctx, name, s)
	if err != nil {
		return err
	}
	defer file.Close()
	out := s.Out
	if o.serve == overStdio {
		out = s.Err // stdout is the client's
		if name == "-" {
			return usagef("--listen stdio: stdin is the client's, and cannot be the recording too: name its file")
		}
	}
	opts.Messages = messages.For(in.Header().Protocol)
	color := s.Color && s.OutTTY && !o.noColor && o.serve != overStdio
	var maybe []string
	opts.Differs = func(d replay.Difference) {
		fmt.Fprintln(out, colorDifference(d.Diff, color))
		for _, one := range d.Maybe {
			maybe = append(maybe, one.String())
		}
	}
	var result replay.Result
	switch {
	case o.against != "":
		result, err = o.playClient(ctx, in, opts, s)
	case o.serve == overStdio:
		if d := in.Header().Driver; d != "" && d != overStdio {
			return usagef("--listen stdio: %s was recorded over %s: name an address", name, d)
		}
		result, err = replay.ServeLines(ctx, in, s.In, s.Out, opts)
	default:
		if in.Header().Driver == overStdio {
			return usagef("--listen %s: %s was recorded over stdio: say --listen stdio", o.serve, name)
		}
		opts.Addr, opts.Ready = o.serve, func(url string) { fmt.Fprintln(s.Out, url) }
		result, err = replay.Serve(ctx, in, opts)
	}
	if in.Torn() {
		fmt.Fprintf(s.Err, "%s: %s: the last line is truncated, and left out\n", program, name)
	}
	err = printReplayed(ctx, name, o.serve, result, err, out, s.Err)
	hintIgnore(withoutDuplicates(maybe), s)
	return err
}

// maxHinted bounds the places that a hint names.
const maxHinted = 3

// hintIgnore says how to ignore the differences that may be none.
func hintIgnore(places []string, s *streams) {
	if len(places) == 0 {
		return
	}
	more := ""
	if n := len(places) - maxHinted; n > 0 {
		places, more = places[:maxHinted], fmt.Sprintf(" (and %d more)", n)
	}
	fmt.Fprintf(s.Err, "%s: if it may differ: --ignore %s%s\n", program, strings.Join(places, " --ignore "), more)
}

// printReplayed prints the result, and gives it its exit code.
func printReplayed(ctx context.Context, name, addr string, result replay.Result, err error, out, told io.Writer) error {
	var exit exitError
	var usage *runner.UsageError
	var op *net.OpError
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit) || errors.As(err, &usage):
		return err
	case errors.As(err, &op) && op.Op == "listen":
		return describeListenError("--listen", addr, err)
	case errors.Is(err, replay.ErrUnreachable):
		fmt.Fprintf(told, "%s: %v\n", program, err)
		return exitError{verdict.ExitUnreachable}
	case err != nil:
		return usagef("%s: %v", name, err)
	}
	if result.Behind > 0 {
		fmt.Fprintf(told, "%s: %d more came behind the end of what was recorded, and were not compared\n", program,
			result.Behind)
	}
	fmt.Fprintf(out, "sent %d, compared %d, different %d\n", result.Sent, result.Compared, result.Differences)
	if result.Differences > 0 {
		return exitError{verdict.ExitNonConformant}
	}
	return nil
}

// colorDifference colours the lines of a difference: what was recorded red, and what came green.
func colorDifference(diff string, color bool) string {
	if !color {
		return diff
	}
	lines := strings.Split(diff, "\n")
	for i, line := range lines {
		switch {
		case i == 0:
			lines[i] = "\x1b[1m" + line + "\x1b[0m"
		case strings.HasPrefix(line, "  -"):
			lines[i] = "\x1b[31m" + line + "\x1b[0m"
		case strings.HasPrefix(line, "  +"):
			lines[i] = "\x1b[32m" + line + "\x1b[0m"
		}
	}
	return strings.Join(lines, "\n")
}

// piped starts the processes of a target.
type piped struct{ of target.Piper }

// Start implements driver.Starter.
func (p piped) Start(ctx context.Context) (driver.Process, error) { return p.of.Pipe(ctx) }

// playClient plays the client against --target.
func (o replayOptions) playClient(ctx context.Context, in *recording.Reader, opts replay.Options,
	s *streams) (result replay.Result, err error) {
	err = startAndDial(ctx, o.against, in.Header(), s, func(to replay.Dial, p *target.Profile) (err error) {
		opts.Messages, opts.Secrets = opts.Messages.WithIDs(p.Reach().IDs), secretsOf(p)
		opts.URL, opts.Header, opts.TLS = to.URL, to.Header, to.TLS
		opts.Subprotocols, opts.Process = to.Subprotocols, to.Process
		result, err = replay.PlayClient(ctx, in, opts)
		return err
	})
	return result, err
}

// startAndDial starts the server that --target names, if it is started, and calls do with how it is reached, and
// the target's profile. h is the header of what is played against it.
func startAndDial(ctx context.Context, against string, h recording.Header, s *streams,
	do func(to replay.Dial, p *target.Profile) error) error {
	sub, protocol, err := playedAgainst(against, h)
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
	to := replay.Dial{URL: running.BaseURL(), Header: sub.profile.Header(), TLS: sub.profile.TLSConfig(),
		Subprotocols: protocol.Subprotocols(sub.profile)}
	if p, ok := running.(target.Piper); ok && h.Driver == overStdio {
		to.Process = piped{p}
	}
	if to.URL == "" && to.Process == nil {
		return usagef("--target %s: it is not a server of the kind that was recorded: the recording's "+
			"client connects to a URL", against)
	}
	return do(to, sub.profile)
}

// secretsOf returns the secrets of a target.
func secretsOf(p *target.Profile) replay.Secrets {
	return replay.Secrets{Named: p.Parameters, All: p.Secrets}
}

// playedAgainst returns the target, and the protocol of the recording.
func playedAgainst(name string, h recording.Header) (*subject, steps.Protocol, error) {
	if h.Protocol == "" {
		return nil, nil, usagef("the recording names no protocol in its first line")
	}
	if _, err := suite.Find(h.Protocol); err != nil {
		return nil, nil, usagef("the recording is one of the protocol %q, which is not known here (%s)", h.Protocol,
			inFolder(h.Protocol))
	}
	sub, err := subjectOf(name, givenList(h.Protocol), nil)
	if err != nil {
		return nil, nil, err
	}
	p, err := suite.Find(sub.profile.Protocol)
	if err != nil {
		return nil, nil, nameFlag(err)
	}
	return sub, p, nil
}
