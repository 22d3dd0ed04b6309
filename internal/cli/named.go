package cli

import "regexp"

// parleyName is the name of the program in texts of this package.
const parleyName = "parley"

var commandOf = regexp.MustCompile(`\b` + parleyName + `( [a-z])`)

// named puts this program's name into the command lines of a text. Use it only for texts of this package: others may
// contain the word with another meaning.
func named(text string) string {
	if program == parleyName {
		return text
	}
	return commandOf.ReplaceAllString(text, program+"$1")
}
