package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// refusingEmpty has a command and its subcommands refuse a flag or an argument that is given and empty, before anything
// else: most often a shell variable is not set, and --target "" must not judge the bundled servers instead. What
// follows a -- is the command of a target, whose words may be empty.
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

// noneEmpty says which flag or argument is empty.
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

// flagTexts are the texts that a flag was given; texts is false where it takes none.
func flagTexts(f *pflag.Flag) (value []string, texts bool) {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice(), true
	}
	return []string{f.Value.String()}, f.Value.Type() == "string"
}

// blank reports whether there is nothing in a list, or an empty text.
func blank(list []string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(text string) bool { return strings.TrimSpace(text) == "" })
}
