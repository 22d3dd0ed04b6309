package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"parley/reports"
	"parley/runner"
)

// prepareOut creates the results folder, and removes the reports of an earlier run.
func prepareOut(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return usagef("--out: %s is a file (name a folder)", dir)
	}
	if err := ownFiles(dir, nil); err != nil {
		return err
	}
	if err := runner.PrepareOut(dir); err != nil {
		return usagef("--out: %v", err)
	}
	if err := removeFiles(dir); err != nil {
		return usagef("--out: %v", err)
	}
	return nil
}

// write writes the results, and prints the report: on the console, or as JSON if only that is asked for. It prints the
// report even if the files could not be written, as on a full disk.
func (o runOptions) write(asked []string, r *reports.Results, s *streams) error {
	unwritten := errors.Join(writeFiles(o.out, append([]string{jsonFormat}, asked...), r, o.out, o.spoken),
		summarize(asked, r, o.spoken))
	return errors.Join(o.print(asked, r, unwritten == nil, s.forPeople(asked), s), annotated(asked, r, s), unwritten)
}

// print prints the report, or only the verdict if the report is in files. JSON goes to the raw streams, as it is.
func (o runOptions) print(asked []string, r *reports.Results, written bool, s, raw *streams) error {
	if !written {
		o.out = "" // there is nothing to refer to
	}
	switch {
	case slices.Contains(asked, consoleFormat):
		return s.writeOut(consoleFormat, r, reports.ConsoleOptions{Dir: o.out, Verbose: o.verbose, Quiet: o.quiet,
			Color: !o.noColor, Lang: o.spoken})
	case len(asked) == 1 && asked[0] == jsonFormat:
		if err := raw.writeOut(jsonFormat, r, reports.ConsoleOptions{}); err != nil {
			return err
		}
	}
	l := o.spoken
	if written {
		fmt.Fprintln(s.Err, l.Say(string(r.Verdict))+l.Say(" · exit %d", r.Exit)+l.Say(" · results in %s", o.out))
	} else {
		fmt.Fprintln(s.Err, l.Say(string(r.Verdict))+l.Say(" · the results could not be written"))
	}
	return nil
}
