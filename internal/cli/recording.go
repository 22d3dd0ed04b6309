package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/internal/words"
	"parley/transport/recording"
	"parley/transport/recording/har"
	"parley/transport/transcript"
)

// recordingOptions are the flags of parley recording.
type recordingOptions struct {
	schema, har, fromHAR bool
	protocol, origin     string
}

func recordingCommand(s *streams) *cobra.Command {
	var o recordingOptions
	c := &cobra.Command{
		Use:   "recording FILE",
		Short: "Print a recording as text, or convert it from and to HAR",
		Long: `Print a recording as text, one record a line, as in the transcripts of a run. A last line that its writer did
not finish is left out, which is said on stderr. FILE may be - for stdin.

--har prints it as HAR 1.2, which the developer tools of browsers import. --from-har reads a file that they have
exported, and prints a recording of what the page has said to one server: requests of scripts, event streams and
WebSocket messages. Where the page spoke with several, --origin names one. HAR files are kept in memory, and have
256 MiB at most.

Exit codes: 0 printed · 2 wrong usage, or the file is not a recording, or not HAR.`,
		Example: `  parley recording parley-results/transcripts/sse-AS-2.1-01.jsonl
  parley recording good.jsonl --har > good.har
  parley recording page.har --from-har --origin http://localhost:3000 > page.jsonl
  parley recording --schema`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.schema {
				_, err := s.Out.Write(recording.Schema())
				return err
			}
			if len(args) != 1 {
				return usagef("recording: name one FILE, such as parley-results/transcripts/sse-AS-2.1-01.jsonl")
			}
			switch {
			case o.har && o.fromHAR:
				return usagef("recording: --har writes HAR and --from-har reads it: one of them")
			case !o.fromHAR && (o.protocol != "" || o.origin != ""):
				return usagef("recording: --protocol and --origin belong to --from-har")
			case o.har:
				return writeHAR(c.Context(), args[0], s)
			case o.fromHAR:
				return o.readHAR(c.Context(), args[0], s)
			}
			return showRecording(c.Context(), args[0], s)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.schema, "schema", false, "print the JSON Schema of a line instead")
	f.BoolVar(&o.har, "har", false, "print it as HAR 1.2")
	f.BoolVar(&o.fromHAR, "from-har", false, "FILE is HAR: print it as a recording")
	f.StringVar(&o.protocol, "protocol", "", "`PROTOCOL` that the page spoke")
	f.StringVar(&o.origin, "origin", "", "`URL` of the server that the page spoke with, such as http://localhost:3000")
	return c
}

// writeHAR prints a recording as HAR.
func writeHAR(ctx context.Context, name string, s *streams) error {
	in, file, err := openRecording(ctx, name, s)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(s.Out)
	if err := har.Write(out, in, program+" "+suite.Version); err != nil {
		return usagef("%s: %v", name, err)
	}
	if in.Torn() {
		fmt.Fprintf(s.Err, "%s: %s: the last line is truncated, and left out\n", program, name)
	}
	return out.Flush()
}

// readHAR prints a HAR file as a recording.
func (o recordingOptions) readHAR(ctx context.Context, name string, s *streams) error {
	if err := knownProtocols(given(o.protocol)); err != nil {
		return err
	}
	var file io.ReadCloser = io.NopCloser(s.In)
	if name != "-" {
		f, err := input.Open(ctx, name)
		if err != nil {
			return usagef("%v", err)
		}
		file = f
	}
	defer file.Close()
	out := bufio.NewWriter(s.Out)
	result, err := har.Read(out, file, har.Options{Protocol: o.protocol, Origin: o.origin,
		By: program + " " + suite.Version})
	if err != nil {
		return usagef("%s: %v", name, err)
	}
	fmt.Fprintf(s.Err, "%s: %d requests and connections; %d others were left out\n", program, result.Entries, result.Left)
	if result.Unheard > 0 {
		fmt.Fprintf(s.Err, "%s: the messages of %s are not in the file (Chromium exports them)\n", program,
			words.Counted(result.Unheard, "WebSocket"))
	}
	return out.Flush()
}

// openRecording opens a file, or stdin. Its errors are usage errors.
func openRecording(ctx context.Context, name string, s *streams) (*recording.Reader, io.Closer, error) {
	var file io.ReadCloser = io.NopCloser(s.In)
	if name != "-" {
		f, err := input.Open(ctx, name)
		if err != nil {
			return nil, nil, usagef("%v", err)
		}
		file = f
	}
	in, err := recording.NewReader(file)
	if err != nil {
		_ = file.Close()
		return nil, nil, usagef("%s: %v", name, err)
	}
	return in, file, nil
}

// showRecording prints a recording with constant memory.
func showRecording(ctx context.Context, name string, s *streams) error {
	in, file, err := openRecording(ctx, name, s)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(s.Out)
	defer out.Flush()
	h := in.Header()
	for _, one := range []struct{ what, value string }{{"protocol", h.Protocol}, {"role", h.Role}, {"driver", h.Driver},
		{"target", h.URL}, {"by", h.By}} {
		if one.value != "" {
			fmt.Fprintf(out, "%-9s %s\n", one.what, transcript.Printable(one.value))
		}
	}
	if !h.Began.IsZero() {
		fmt.Fprintf(out, "%-9s %s\n", "began", h.Began.Format(time.RFC3339))
	}
	fmt.Fprintln(out)
	for ctx.Err() == nil {
		r, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			if in.Torn() {
				fmt.Fprintf(s.Err, "%s: %s: the last line is truncated, and left out\n", program, name)
			}
			return nil
		case err != nil:
			_ = out.Flush()
			return usagef("%s: %v", name, err)
		}
		if _, err := fmt.Fprintln(out, r.Line(0)); err != nil {
			return exitError{verdict.ExitHarness}
		}
	}
	return ctx.Err()
}
