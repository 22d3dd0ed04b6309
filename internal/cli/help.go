package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// helpColumns is the width of help texts, and flagColumns that of the table of flags.
const (
	helpColumns = 80
	flagColumns = 100
)

// flagUsages is what cobra's template calls for the table of flags.
var flagUsages = regexp.MustCompile(`\bFlagUsages\b`)

// tidy wraps the help texts of a command and its subcommands, and puts this program's name into them.
func tidy(root *cobra.Command) {
	wide := fmt.Sprintf("FlagUsagesWrapped %d", flagColumns)
	root.SetUsageTemplate(flagUsages.ReplaceAllString(root.UsageTemplate(), wide)) // subcommands inherit it
	tidyTexts(root)
}

func tidyTexts(c *cobra.Command) {
	c.Long, c.Example = wrapped(named(c.Long), helpColumns), named(c.Example)
	for _, sub := range c.Commands() {
		tidyTexts(sub)
	}
}

// wrapped wraps each paragraph of a text at the given width, between words. A paragraph that begins with a space
// stays as it is.
func wrapped(text string, columns int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") {
			paragraphs[i] = fill(p, columns)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// fill wraps one paragraph.
func fill(text string, columns int) string {
	var out strings.Builder
	at := 0
	for _, word := range strings.Fields(text) {
		length := len([]rune(word))
		switch {
		case at == 0:
		case at+1+length > columns:
			out.WriteByte('\n')
			at = 0
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += length
	}
	return out.String()
}
