package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"parley/reports"
	"parley/reports/lang"
)

// summaryFile names the file to which a step of GitHub Actions appends its summary.
const summaryFile = "GITHUB_STEP_SUMMARY"

// maxSummary is how many bytes of a summary GitHub shows; it shows nothing of a longer one.
const maxSummary = 1 << 20

// summarize appends the Markdown report, if asked for, to the summary of a step of GitHub Actions.
func summarize(asked []string, r *reports.Results, l lang.Lang) (err error) {
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

// annotated prints the annotations for GitHub, if asked for.
func annotated(asked []string, r *reports.Results, s *streams) error {
	if !slices.Contains(asked, githubFormat) {
		return nil
	}
	return s.writeOut(githubFormat, r, reports.ConsoleOptions{})
}
