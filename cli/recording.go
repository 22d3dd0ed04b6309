package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"parley/recording"
	"parley/transcript"
	"parley/verdict"
)

func recordingCommand(s *streams) *cobra.Command {
	var schema bool
	c := &cobra.Command{
		Use:   "recording FILE",
		Short: "Print a recording as text",
		Long: `Print a recording as text, one record a line, as in the transcripts of a run. A last line that its writer did
not finish is left out, which is said on stderr. FILE may be - for stdin.

Exit codes: 0 printed · 2 wrong usage, or the file is not a recording.`,
		Example: `  parley recording parley-results/transcripts/sse-AS-2.1-01.jsonl
  parley recording --schema`,
		RunE: func(c *cobra.Command, args []string) error {
			if schema {
				_, err := s.Out.Write(recording.Schema())
				return err
			}
			if len(args) != 1 {
				return usagef("recording: name one FILE, such as parley-results/transcripts/sse-AS-2.1-01.jsonl")
			}
			return showRecording(c.Context(), args[0], s)
		},
	}
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of a line instead")
	return c
}

// openRecording opens a file, or stdin. Its errors are usage errors.
func openRecording(name string, s *streams) (*recording.Reader, io.Closer, error) {
	var file io.ReadCloser = io.NopCloser(s.In)
	if name != "-" {
		f, err := os.Open(name)
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
	in, file, err := openRecording(name, s)
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
				fmt.Fprintf(s.Err, "%s: %s: the last line is torn, and left out\n", program, name)
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
