package cli

import (
	"regexp"

	"github.com/spf13/cobra"
)

// parleyName is how texts in this package name the program.
const parleyName = "parley"

var commandOf = regexp.MustCompile(`\b` + parleyName + `( [a-z])`)

// named is a text whose command lines are those of this program. The text is one of this package: what others say may
// have the word.
func named(text string) string {
	if program == parleyName {
		return text
	}
	return commandOf.ReplaceAllString(text, program+"$1")
}

// rename has the help of a command and of those below it name this program.
func rename(c *cobra.Command) {
	c.Long, c.Example = named(c.Long), named(c.Example)
	for _, sub := range c.Commands() {
		rename(sub)
	}
}
