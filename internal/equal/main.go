// Command equal compares results.json files of two commits, clause by clause: it shows whether a change of the harness
// changed a verdict. test/equal.sh makes the files.
//
//	go run ./internal/equal [--explained FILE] OLD NEW [OLD NEW]...
//
// OLD and NEW are folders. Each results.json file below them, whatever its name, belongs to a target that is named by
// its path. Further pairs of folders hold other runs of the same targets: a clause with several outcomes on one side is
// unsteady if both sides share an outcome, and differs if they share none.
//
// The exit code is 1 if there is a difference that is not explained, 2 on wrong usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	different, err := runComparison(os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "equal:", err)
		os.Exit(2)
	case different:
		os.Exit(1)
	}
}

// runComparison compares, and reports whether there is a difference that is not explained.
func runComparison(args []string, out io.Writer) (bool, error) {
	flags := flag.NewFlagSet("equal", flag.ContinueOnError)
	list := flags.String("explained", "", "`FILE` with the differences that are meant, one per line: "+
		"TARGET CLAUSE OLD NEW WHY, where * stands for any text")
	targets := flags.String("targets", "", "also write the names of targets with unexplained differences to `FILE`")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if n := flags.NArg(); n == 0 || n%2 != 0 {
		return false, errors.New("give pairs of folders: OLD NEW")
	}
	explained, err := loadExplained(*list)
	if err != nil {
		return false, err
	}
	before, after := outcomes{}, outcomes{}
	for i := 0; i < flags.NArg(); i += 2 {
		if err := errors.Join(before.loadFolder(flags.Arg(i)), after.loadFolder(flags.Arg(i+1))); err != nil {
			return false, err
		}
	}
	c := compareTargets(before, after, explained)
	if c.targets == 0 {
		return false, errors.New("no target has results in both folders")
	}
	c.printComparison(out)
	for _, e := range explained {
		if e.used == 0 {
			fmt.Fprintf(out, "line %d of %s explains nothing\n", e.line, *list)
		}
	}
	if *targets != "" {
		if err := os.WriteFile(*targets, []byte(c.differingTargets()), 0o644); err != nil {
			return false, fmt.Errorf("write the targets that differ: %w", err)
		}
	}
	return c.countUnexplained() > 0, nil
}
