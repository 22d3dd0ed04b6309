package cli

import "regexp"

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
