package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/runner"
	"parley/steps"
	"parley/target"
	"parley/transport/driver/browser"
	"parley/transport/transcript"
)

// exitError ends a command with an exit code after all output is written.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// usagef returns an error for wrong usage: exit code 2.
func usagef(format string, args ...any) error {
	return &runner.UsageError{Msg: fmt.Sprintf(nameProgram(format), args...)}
}

// suggestWord ends a message about an unknown word: with the known word that may be meant, or with otherwise.
func suggestWord(word string, known []string, otherwise string) string {
	return " (" + words.Suggest(word, known, nameProgram(otherwise)) + ")"
}

// exitCode returns the exit code of the process for an error.
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

// exitWith prints an error that has not been printed yet, and returns the exit code.
func (s *streams) exitWith(err error) int {
	code, program := exitCode(err), cmp.Or(s.name, program)
	var said exitError
	switch {
	case err == nil, errors.As(err, &said):
	case code == verdict.ExitUsage:
		for _, line := range usageLines(err) {
			fmt.Fprintln(s.Err, program+": "+escapeControl(transcript.MaskURLs(plainFile(oneLine(line)))))
		}
	case code == verdict.ExitInterrupted:
		fmt.Fprintln(s.Err, program+": interrupted")
	default:
		fmt.Fprintln(s.Err, program+": "+escapeControl(transcript.MaskURLs(plainFile(err.Error()))))
	}
	return code
}

// fileError is how the errors of the system about a file read.
var fileError = regexp.MustCompile(`(^|: )(?:open|stat|lstat|read|mkdir) ([^:]+): ` +
	`(no such file or directory|is a directory|not a directory|permission denied)$`)

// plainFile names a file once in an error about it, and not what was called with it.
func plainFile(text string) string {
	m := fileError.FindStringSubmatchIndex(text)
	if m == nil {
		return text
	}
	before, name, what := text[:m[2]], text[m[4]:m[5]], text[m[6]:m[7]]
	if strings.Contains(before, name) {
		return before + ": " + what
	}
	return text[:m[3]] + name + ": " + what
}

// mistakenFile has the mistakes of a script, a file of faults or a protocol, a line each. It is a usage error.
type mistakenFile struct{ error }

// Unwrap makes it a usage error.
func (m *mistakenFile) Unwrap() error { return &runner.UsageError{Msg: m.Error()} }

// mostMistakes is how many mistakes of a file are printed.
const mostMistakes = 20

func (m *mistakenFile) mistakeLines() []string {
	all := strings.Split(m.Error(), "\n")
	if more := len(all) - mostMistakes; more > 0 {
		all = append(all[:mostMistakes], fmt.Sprintf("and %d more", more))
	}
	return all
}

// usageLines returns an error in one line, and the mistakes of a file in one each, with what the error says before.
func usageLines(err error) []string {
	var file *mistakenFile
	if errors.As(err, &file) {
		return file.mistakeLines()
	}
	var several target.Mistakes
	if !errors.As(err, &several) {
		return []string{err.Error()}
	}
	before, ok := strings.CutSuffix(err.Error(), several.Error())
	if !ok {
		return []string{err.Error()}
	}
	lines := strings.Split(several.Error(), "\n")
	for i := range lines {
		lines[i] = before + lines[i]
	}
	return lines
}

// escapeControl escapes what would move the cursor or reorder a line of a text, which may quote a target.
func escapeControl(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = transcript.Printable(line)
	}
	return strings.Join(lines, "\n")
}

// oneLine puts a message on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// flagError turns an error of pflag into a usage error that suggests the flag which may be meant.
func flagError(c *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		name := missing.GetSpecifiedName()
		if missing.GetSpecifiedShortnames() != "" {
			return usagef("unknown flag -%s (see %s --help)", name, c.CommandPath())
		}
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		if other := otherNames[name]; other != "" && slices.Contains(known, "--"+other) {
			return usagef("unknown flag --%s (did you mean \"--%s\"?)", name, other)
		}
		return usagef("unknown flag --%s%s", name, suggestWord("--"+name, known, "see "+c.CommandPath()+" --help"))
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		want := flagValues[invalid.GetFlag().Value.Type()]
		if _, err := strconv.ParseFloat(invalid.GetValue(), 64); err == nil && want == flagValues["duration"] {
			return usagef("--%s: %s has no unit (write it like %[2]ss or %[2]sm)", invalid.GetFlag().Name, invalid.GetValue())
		}
		if want != "" {
			return usagef("--%s: %q is not %s (see %s --help)", invalid.GetFlag().Name, invalid.GetValue(), want,
				c.CommandPath())
		}
	}
	return usagef("%v (see %s --help)", err, c.CommandPath())
}

// otherNames are names that other programs have for flags of this one, where no command has a flag of that name.
var otherNames = map[string]string{"port": "listen", "host": "listen", "bind": "listen", "addr": "listen",
	"url": "target", "file": "output", "dir": "out", "role": "as", "party": "as", "proto": "protocol", "clause": "tags",
	"jobs": "concurrency"}

// flagValues says what the values of flags are, by the names that pflag gives to their types.
var flagValues = map[string]string{
	"bool":     "true or false",
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint64":   "a whole number from 0 on",
	"float64":  "a number",
	"duration": "a duration, such as 90s, 10m or 2h",
}

// oneTarget takes the target from the plain arguments, where --target may name it too.
func oneTarget(c *cobra.Command, args []string, target *string) error {
	switch {
	case len(args) > 1:
		return usagef("%s takes one target, found %q too", c.CommandPath(), args[1])
	case len(args) == 1 && *target != "":
		return usagef("--target: %s is a target already (leave one out)", args[0])
	case len(args) == 1:
		*target = args[0]
	}
	return nil
}

// noArgs rejects arguments. Most commands take none.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, found %q (see %[1]s --help)", c.CommandPath(), args[0])
	}
	return nil
}

// refusingEmpty makes a command and its subcommands reject empty flag values and arguments before anything else. An
// empty value mostly comes from an unset shell variable, and --target "" must not judge the bundled servers instead.
// After a -- comes the command of a target, which may have empty words.
func refusingEmpty(c *cobra.Command) {
	for _, sub := range c.Commands() {
		refusingEmpty(sub)
	}
	next := c.Args
	if next == nil {
		next = cobra.ArbitraryArgs
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := noneEmpty(c, args); err != nil {
			return err
		}
		return next(c, args)
	}
}

// noneEmpty reports the flag or argument that is empty as an error.
func noneEmpty(c *cobra.Command, args []string) error {
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if value, texts := flagTexts(f); err == nil && texts && isBlank(value) {
			wants, usage := pflag.UnquoteUsage(f)
			mend := "give " + wants + ", or leave it out"
			if strings.Contains(usage, "(required)") {
				mend = "give " + wants
			}
			err = usagef("--%s is empty (%s; is a variable in it not set?)", f.Name, mend)
		}
	})
	if n := c.ArgsLenAtDash(); n >= 0 {
		args = args[:n]
	}
	if err == nil && len(args) > 0 && isBlank(args) {
		err = usagef("%s: an argument is empty (see %[1]s --help; is a variable in it not set?)", c.CommandPath())
	}
	return err
}

// flagTexts returns the texts given to a flag; texts is false if it takes none.
func flagTexts(f *pflag.Flag) (value []string, texts bool) {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice(), true
	}
	return []string{f.Value.String()}, f.Value.Type() == "string"
}

// isBlank reports whether a list is empty, or has an empty text.
func isBlank(list []string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(text string) bool { return strings.TrimSpace(text) == "" })
}

// parleyName is the name of the program in texts of this package.
const parleyName = "parley"

var commandOf = regexp.MustCompile(`\b` + parleyName + `( [a-z])`)

// nameProgram puts this program's name into the command lines of a text. Use it only for texts of this package: others
// may contain the word with another meaning.
func nameProgram(text string) string {
	if program == parleyName {
		return text
	}
	return commandOf.ReplaceAllString(text, program+"$1")
}
