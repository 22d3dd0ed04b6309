package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/driver/browser"
	"parley/internal/words"
	"parley/runner"
	"parley/steps"
	"parley/target"
	"parley/verdict"
)

// exitError ends a command with a code when everything has been said.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// usagef is the error of a command that was asked for what cannot be: exit code 2.
func usagef(format string, args ...any) error {
	return &runner.UsageError{Msg: fmt.Sprintf(named(format), args...)}
}

// suggest is the end of a message about an unknown word: the known one that was meant, or what else helps.
func suggest(word string, known []string, otherwise string) string {
	return " (" + words.Suggest(word, known, named(otherwise)) + ")"
}

// exitCode is the code that an error ends the process with.
func exitCode(err error) int {
	var (
		done        exitError
		usage       *runner.UsageError
		profile     *target.ProfileError
		unknown     *steps.UnknownProtocolError
		unreachable *target.UnreachableError
		start       *target.StartError
		hook        *target.HookError
		missing     *browser.MissingError
		foreign     *runner.ForeignError
	)
	switch {
	case err == nil:
		return verdict.ExitConformant
	case errors.As(err, &done):
		return done.code
	case errors.As(err, &usage), errors.As(err, &profile), errors.As(err, &unknown):
		return verdict.ExitUsage
	case errors.As(err, &unreachable), errors.As(err, &start), errors.As(err, &hook), errors.As(err, &missing),
		errors.As(err, &foreign):
		return verdict.ExitUnreachable
	case errors.Is(err, context.Canceled):
		return verdict.ExitInterrupted
	}
	return verdict.ExitHarness
}

// exit says what went wrong, unless that was said already, and gives the exit code.
func (s *streams) exit(err error) int {
	code := exitCode(err)
	var said exitError
	switch {
	case err == nil, errors.As(err, &said):
	case code == verdict.ExitUsage:
		fmt.Fprintln(s.Err, program+": "+oneLine(err.Error()))
	case code == verdict.ExitInterrupted:
		fmt.Fprintln(s.Err, program+": interrupted")
	default:
		fmt.Fprintln(s.Err, program+": "+err.Error())
	}
	return code
}

// oneLine keeps a message on its line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// flagError turns what pflag says into wrong usage, with the flag that may have been meant.
func flagError(c *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		name := missing.GetSpecifiedName()
		if missing.GetSpecifiedShortnames() != "" {
			return usagef("unknown flag -%s (see %s --help)", name, c.CommandPath())
		}
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		return usagef("unknown flag --%s%s", name, suggest("--"+name, known, "see "+c.CommandPath()+" --help"))
	}
	return usagef("%v (see %s --help)", err, c.CommandPath())
}

// noArgs refuses arguments, which most commands take none of.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, found %q (see %[1]s --help)", c.CommandPath(), args[0])
	}
	return nil
}
