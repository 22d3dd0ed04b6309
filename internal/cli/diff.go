package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/reports"
)

// diffOptions are the flags of parley diff.
type diffOptions struct {
	format, out, lang string
	noColor           bool
}

// diffFormats are the values of parley diff --format.
var diffFormats = []string{"text", "markdown", "html"}

func diffCommand(s *streams) *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show what changed between two runs",
		Long: `Compare the results.json of two runs, by protocol and role: which clauses are newly broken, fixed or newly
untested, how the suite changed, and which scenarios take much longer.

The exit code is 1 only if there is a regression: a clause failed that did not before, and no baseline excuses it, or
a binding clause that was judged before is not tested now. A clause that only the new suite has is no regression.`,
		Example: `  parley diff main/results.json parley-results/results.json
  parley diff old.json new.json --format markdown >> "$GITHUB_STEP_SUMMARY"
  parley diff old.json new.json --format html --output changes.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("diff: name two results.json, OLD and NEW, not %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runDiff(c.Context(), args[0], args[1], o, s) },
	}
	f := c.Flags()
	f.StringVar(&o.format, "format", "text", "`FORMAT`: text, markdown or html")
	f.StringVarP(&o.out, "output", "o", "", "write `FILE` instead of printing")
	declareLangOf(f, &o.lang, "the comparison: en or zh")
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
	return c
}

// runDiff compares two results.
func runDiff(ctx context.Context, before, after string, o diffOptions, s *streams) error {
	if !slices.Contains(diffFormats, o.format) {
		return usagef("--format: unknown format %q%s", o.format, suggestWord(o.format, diffFormats,
			"known: text, markdown, html"))
	}
	l, err := parseLang(o.lang)
	if err != nil {
		return err
	}
	old, err := readResults(ctx, before)
	if err != nil {
		return err
	}
	now, err := readResults(ctx, after)
	if err != nil {
		return err
	}
	c := reports.CompareIn(l, old, now)
	write := func(w io.Writer) error {
		switch o.format {
		case "markdown":
			return reports.WriteComparisonMarkdown(w, c)
		case "html":
			return reports.WriteComparisonHTML(w, c)
		}
		return reports.WriteComparisonText(w, c, s.OutWidth, !o.noColor && s.Color && s.OutTTY && o.out == "")
	}
	if o.out == "" {
		err = write(s.Out)
	} else if err = writeFile(o.out, write); err == nil {
		fmt.Fprintln(s.Err, c.Answer())
	}
	if err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	if c.Regressions() > 0 {
		return exitError{verdict.ExitNonConformant}
	}
	return nil
}
