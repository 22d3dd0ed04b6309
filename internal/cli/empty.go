package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
		if value, texts := flagTexts(f); err == nil && texts && blank(value) {
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
	if err == nil && len(args) > 0 && blank(args) {
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

// blank reports whether a list is empty, or has an empty text.
func blank(list []string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(text string) bool { return strings.TrimSpace(text) == "" })
}
