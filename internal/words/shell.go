package words

import (
	"regexp"
	"strings"
)

var plainWord = regexp.MustCompile(`\A[\w@%+=:,./-]+\z`)

// Shell quotes a word for a shell if necessary.
func Shell(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
