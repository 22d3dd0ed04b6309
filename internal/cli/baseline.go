package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/reports"
	"parley/runner"
	"parley/steps"
)

// baselineOptions are the flags of parley baseline update.
type baselineOptions struct {
	from   []string
	dryRun bool
}

func baselineCommand(s *streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "baseline",
		Short: "Keep a baseline up to date",
		Long: `Keep the file of known failures up to date that parley run --baseline reads. parley run --write-baseline FILE
writes the first one.`,
		Args: func(c *cobra.Command, args []string) error { return knownCommand(c, args) },
		RunE: func(c *cobra.Command, _ []string) error {
			return usagef("baseline: what shall be done? (parley baseline update FILE --from results.json)")
		},
	}
	c.AddCommand(baselineUpdateCommand(s))
	return c
}

func baselineUpdateCommand(s *streams) *cobra.Command {
	var o baselineOptions
	c := &cobra.Command{
		Use:   "update FILE --from results.json",
		Short: "Drop the rows of clauses that no longer fail",
		Long: `Drop the rows of a baseline whose clauses pass in the results of a whole run. Nothing is added and nothing
else changes: comments on lines of their own, order and blank lines stay. Rows of flaky clauses stay, because
one pass proves nothing. With several --from a row goes only if its clause passes in all of them.

A run that was narrowed by --tags or interrupted does not show that a clause is fixed, and is refused.`,
		Example: `  parley run --target my.yaml --baseline expected.yaml
  parley baseline update expected.yaml --from parley-results/results.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("baseline update: name one baseline FILE, not %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return updateBaseline(c.Context(), args[0], o, s) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.from, "from", nil, "the results.json `FILE` of a run; may be repeated (required)")
	f.BoolVar(&o.dryRun, "dry-run", false, "only list the rows that would be dropped")
	return c
}

// updateBaseline drops the rows of what is fixed.
func updateBaseline(ctx context.Context, path string, o baselineOptions, s *streams) error {
	if len(o.from) == 0 {
		return usagef("baseline update: --from is missing (name the results.json of a run)")
	}
	text, err := input.Read(path, maxBaseline)
	if err != nil {
		return usagef("%v", err)
	}
	old, err := parseBaseline(path, text)
	if err != nil {
		return err
	}
	found, err := wholeRuns(ctx, o.from)
	if err != nil {
		return err
	}
	fixed := make([]bool, len(old.Expected))
	var gone []string
	for i, e := range old.Expected {
		if fixed[i] = reports.Fixed(e, found...); fixed[i] {
			gone = append(gone, fmt.Sprintf("dropped  %s%s  %s\n", e.Clause, scopeOf(e), e.Reason))
		}
	}
	text, err = verdict.DropRows(text, func(row int) bool { return fixed[row] })
	if err != nil {
		return usagef("%s: %v", path, err)
	}
	if len(gone) > 0 && !o.dryRun {
		if err := writeFile(path, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	_, err = fmt.Fprintf(s.Out, "%s%d of %d rows dropped, %d kept\n", strings.Join(gone, ""), len(gone), len(fixed),
		len(fixed)-len(gone))
	return err
}

// wholeRuns reads results, and refuses those that do not show that a clause is fixed.
func wholeRuns(ctx context.Context, paths []string) ([]*reports.Results, error) {
	var out []*reports.Results
	for _, path := range paths {
		r, err := readResults(ctx, path)
		switch {
		case err != nil:
			return nil, err
		case r.Selection != "":
			return nil, usagef("%s: only %s was run, which does not show that a clause is fixed", path, r.Selection)
		case r.Partial, r.Passive:
			return nil, usagef("%s: it is not a run to its end, and does not show that a clause is fixed", path)
		}
		out = append(out, r)
	}
	return out, nil
}

// scopeOf says what a row is narrowed to; "" for nothing.
func scopeOf(e verdict.Expected) string {
	parts := strings.Fields(e.Role + " " + e.Driver)
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// checkWriteBaseline rejects a --write-baseline that would lose something.
func (o runOptions) checkWriteBaseline() error {
	if o.writeBaseline == "" {
		return nil
	}
	if o.baseline != "" {
		return usagef("--write-baseline: not together with --baseline (write another file, and copy the new rows)")
	}
	if _, err := os.Lstat(o.writeBaseline); !errors.Is(err, os.ErrNotExist) {
		if err != nil {
			return usagef("--write-baseline: %v", err)
		}
		return usagef("--write-baseline: %s exists, and would be overwritten (parley baseline update drops what is fixed)",
			o.writeBaseline)
	}
	return nil
}

// keepKnown writes the baseline of what a run has found.
func (o runOptions) keepKnown(r *reports.Results, s *streams) error {
	if o.writeBaseline == "" {
		return nil
	}
	switch r.Exit {
	case verdict.ExitConformant, verdict.ExitNonConformant, verdict.ExitIncomplete:
	default:
		fmt.Fprintf(s.Err, "%s was not written: the run did not come to its end\n", o.writeBaseline)
		return nil
	}
	b := reports.KnownFailures(r, func(protocol string) bool { return len(suite.Roles(protocol)) > 1 })
	text := b.Text("Clauses that are known to fail: parley run --baseline "+shellWord(o.writeBaseline),
		"Say for each why, and until when: expires: YYYY-MM-DD.")
	put := func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	if err := writeFile(o.writeBaseline, put); err != nil {
		return fmt.Errorf("write %s: %w", o.writeBaseline, err)
	}
	noun := "rows"
	if len(b.Expected) == 1 {
		noun = "row"
	}
	fmt.Fprintf(s.Err, "%d %s written to %s\n", len(b.Expected), noun, o.writeBaseline)
	return nil
}

// knownFailures are the baselines by protocol, from one file.
type knownFailures map[string]*verdict.Baseline

// maxBaseline bounds the bytes of a baseline.
const maxBaseline = 16 << 20

// loadBaseline reads a baseline, and splits its rows by the protocols whose clauses they name; "" yields none. A row
// that fits no protocol is an error; one of a protocol that is not run has no effect.
func loadBaseline(path string) (knownFailures, error) {
	if path == "" {
		return nil, nil
	}
	b, err := input.Read(path, maxBaseline)
	if err != nil {
		return nil, usagef("--baseline: %v", err)
	}
	baseline, err := parseBaseline(path, b)
	if err != nil {
		return nil, err
	}
	return byProtocol(path, b, baseline)
}

// baselineOf returns the baseline of a protocol: an empty one if the file has no row for it, nil without a file.
func (o runOptions) baselineOf(all knownFailures, protocol string) *verdict.Baseline {
	if b := all[protocol]; b != nil || o.baseline == "" {
		return b
	}
	return &verdict.Baseline{}
}

// placeOf returns the path of a baseline, with the line of the row of a clause.
func placeOf(path string, text []byte, clause string) string {
	row := regexp.MustCompile(`\bclause:\s*["']?` + regexp.QuoteMeta(clause) + `\b`)
	at := row.FindIndex(text)
	if at == nil {
		return path
	}
	return fmt.Sprintf("%s:%d", path, 1+bytes.Count(text[:at[0]], []byte("\n")))
}

// parseBaseline parses the content of a baseline.
func parseBaseline(path string, content []byte) (*verdict.Baseline, error) {
	baseline, err := verdict.ParseBaseline(content)
	var at *verdict.BaselineError
	if errors.As(err, &at) && at.Line > 0 {
		return nil, usagef("%s:%d:%d: %s", path, at.Line, at.Column, at.Msg)
	}
	if err != nil {
		return nil, usagef("%s: %v", path, err)
	}
	return baseline, nil
}

// byProtocol sorts the rows of a baseline; path and text are its file, for errors.
func byProtocol(path string, text []byte, b *verdict.Baseline) (knownFailures, error) {
	out := knownFailures{}
	homes, misfits := make([]bool, len(b.Expected)), make([]error, len(b.Expected))
	for _, p := range suite.Sorted() {
		protocol := steps.Name(p)
		ledger, err := steps.LedgerOf(p)
		if err != nil {
			return nil, err
		}
		for i, e := range b.Expected {
			if _, ok := ledger.Row(e.Clause); !ok {
				continue
			}
			if err := runner.CheckRow(e, ledger, p); err != nil {
				misfits[i] = err
				continue
			}
			if out[protocol] == nil {
				out[protocol] = &verdict.Baseline{}
			}
			out[protocol].Expected = append(out[protocol].Expected, e)
			homes[i] = true
		}
	}
	for i, e := range b.Expected {
		switch {
		case homes[i]:
		case misfits[i] != nil: // a clause of several protocols fits if it fits one
			return nil, fmt.Errorf("--%w", misfits[i])
		default:
			return nil, usagef("%s: %s is not a clause of %s", placeOf(path, text, e.Clause), e.Clause,
				strings.Join(suite.Names(), " or "))
		}
	}
	return out, nil
}
