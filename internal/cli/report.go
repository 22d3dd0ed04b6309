package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"parley/internal/input"
	"parley/reports"
)

// reportOptions are the flags of parley report.
type reportOptions struct {
	from, format, out string
	verbose, noColor  bool
	matrix            bool
	lang              string
}

func reportCommand(s *streams) *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report FILE...",
		Short: "Write the reports of a run again, or compare implementations",
		Long: `Write the reports of a run again, from its results.json. Nothing is run; the exit code says only whether the
reports could be written.

Without --out one format is printed, and several are written beside results.json. With --out the reports are
written to files in that folder. In either folder there is no console report and no annotations for GitHub, which
are printed. --format markdown is also appended to the file that $GITHUB_STEP_SUMMARY names, if it is set.

With the results of several runs, or with --matrix, write one matrix instead: clauses by implementations and their
versions (parley run --target-version), as --format markdown (the default) or html; --out writes matrix.md and
matrix.html.`,
		Example: `  parley report parley-results/results.json --verbose
  parley report parley-results/results.json --format html > report.html
  parley report results.json --format junit,html --out public
  parley report mine-1.0.json mine-1.1.json theirs.json --format html > matrix.html`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.from != "" {
				fmt.Fprintf(s.Err, "%s: --from FILE is an argument now; the next version no longer reads --from\n", c.CommandPath())
				args = append(args, o.from)
			}
			switch {
			case len(args) == 0:
				return usagef("report: whose reports? (name the results.json of a run)")
			case len(args) > 1 || o.matrix:
				return writeMatrix(c.Context(), args, o, c.Flags().Changed("format"), s)
			}
			o.from = args[0]
			return runReport(c.Context(), o, s)
		},
	}
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "")
	_ = f.MarkHidden("from")
	f.BoolVar(&o.matrix, "matrix", false, "write the matrix also of a single run")
	f.StringVar(&o.format, "format", consoleFormat, "reports to write, a comma-separated `LIST` of "+formatNames())
	f.StringVar(&o.out, "out", "",
		"`DIR` to write them to; created if missing (default for several: that of results.json)")
	f.BoolVar(&o.verbose, "verbose", false, "report every failure in full, observations, and clauses that do not apply")
	declareLang(f, &o.lang)
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
	return c
}

func runReport(ctx context.Context, o reportOptions, s *streams) error {
	asked, err := parseFormats(o.format)
	spoken, wrong := parseLang(o.lang)
	switch {
	case err != nil || wrong != nil:
		return cmp.Or(err, wrong)
	case o.out == "" && len(asked) > 1 && o.from == "-":
		return usagef("report: %d formats cannot all be printed (name a folder with --out, or one format)", len(asked))
	case o.out == "" && len(asked) > 1:
		o.out = filepath.Dir(o.from)
	}
	res, err := readResults(ctx, o.from)
	if err != nil {
		return err
	}
	shape := reports.ConsoleOptions{Dir: filepath.ToSlash(filepath.Dir(o.from)), Verbose: o.verbose, Color: !o.noColor,
		Lang: spoken, Function: stepFunctions()}
	if err := appendSummary(asked, res, spoken); err != nil {
		return err
	}
	if o.out == "" {
		return s.printFormat(asked[0], asked, res, shape)
	}
	if err := ownFiles(o.out, asked); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return usagef("--out: %v", err)
	}
	if err := writeFiles(o.out, asked, res, filepath.Dir(o.from), spoken); err != nil {
		return err
	}
	for _, name := range asked {
		if name == consoleFormat || name == githubFormat {
			if err := s.printFormat(name, asked, res, shape); err != nil {
				return err
			}
		}
	}
	return nil
}

// printFormat prints one of the formats that are asked for.
func (s *streams) printFormat(name string, asked []string, r *reports.Results, o reports.ConsoleOptions) error {
	if name == consoleFormat {
		s = s.forPeople(asked)
	}
	return s.writeOut(name, r, o)
}

// readResults reads the results of a run: a file, or that in a folder of results.
func readResults(ctx context.Context, path string) (*reports.Results, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "results.json")
	}
	f, err := input.Open(ctx, path)
	if err != nil {
		return nil, usagef("%v", err)
	}
	defer f.Close()
	res, err := reports.ReadJSON(f)
	if err != nil {
		return nil, usagef("%s: %v", path, err)
	}
	return res, nil
}
