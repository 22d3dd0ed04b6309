package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"parley/reports"
	"parley/reports/lang"
)

// summaryFile names the file to which a step of GitHub Actions appends its summary.
const summaryFile = "GITHUB_STEP_SUMMARY"

// maxSummary is how many bytes of a summary GitHub shows; it shows nothing of a longer one.
const maxSummary = 1 << 20

// appendSummary appends the Markdown report, if asked for, to the summary of a step of GitHub Actions.
func appendSummary(asked []string, r *reports.Results, l lang.Lang) (err error) {
	path := os.Getenv(summaryFile)
	if path == "" || !slices.Contains(asked, "markdown") {
		return nil
	}
	var b bytes.Buffer
	if err := reports.WriteMarkdownIn(&b, r, l); err != nil {
		return err
	}
	if b.Len() > maxSummary {
		b.Reset()
		fmt.Fprintf(&b, "## Parley: %s\n\n%s\n", l.Say(string(r.Verdict)),
			l.Say("The report is too long for a summary: see report.md."))
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	if err := appendWhole(f, b.Bytes()); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// appendWhole appends to a file all of a text or nothing, and closes it.
func appendWhole(f *os.File, text []byte) error {
	info, err := f.Stat()
	if err == nil {
		if _, err = f.Write(text); err != nil && info.Mode().IsRegular() {
			err = errors.Join(err, f.Truncate(info.Size()))
		}
	}
	return errors.Join(err, f.Close())
}

// printAnnotations prints the annotations for GitHub, if asked for.
func printAnnotations(asked []string, r *reports.Results, s *streams) error {
	if !slices.Contains(asked, githubFormat) {
		return nil
	}
	return s.writeOut(githubFormat, r, reports.ConsoleOptions{})
}

// inert writes texts to the log of a job of GitHub Actions so that no line of them is a workflow command, whatever a
// target has said: the runner obeys lines on stdout and stderr that begin with "::", behind spaces, and those that
// contain "##[". Every call of Write begins a line.
type inert struct{ w io.Writer }

var commandHead = regexp.MustCompile(`(?m)^([\s\p{Z}]*):(:)|##(\[)`)

// Write implements io.Writer. The first character of what would be a command becomes an escape.
func (i inert) Write(b []byte) (int, error) {
	safe := commandHead.ReplaceAllFunc(b, func(found []byte) []byte {
		if found[len(found)-1] == '[' {
			return []byte(`\x23#[`)
		}
		return append(slices.Clone(found[:len(found)-2]), `\x3a:`...)
	})
	if _, err := i.w.Write(safe); err != nil {
		return 0, err
	}
	return len(b), nil
}

// forPeople returns streams for texts that people read and that may quote a target. In a job of GitHub Actions, or if
// annotations are asked for, they are inert.
func (s *streams) forPeople(asked []string) *streams {
	if !slices.Contains(asked, githubFormat) && os.Getenv("GITHUB_ACTIONS") != "true" {
		return s
	}
	c := *s
	c.Out, c.Err = inert{s.Out}, inert{s.Err}
	return &c
}
