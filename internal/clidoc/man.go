package clidoc

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
)

// ManName is the file name of a command's man page.
func ManName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1" }

// Man returns the man page of a command, in the macros of man(7). It has no date, so that builds are reproducible.
func Man(c *cobra.Command, version string) string {
	var b strings.Builder
	name := strings.TrimSuffix(ManName(c), ".1")
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q\n", strings.ToUpper(name), c.Root().Name()+" "+version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escapeRoff(name), escapeRoff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", escapeRoff(usageLines(c)))
	b.WriteString(".SH DESCRIPTION\n" + manParagraphs(describeFlags(c)))
	if flags := Flags(c); len(flags) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range flags {
			name, about := Describe(f)
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", escapeRoff(name),
				escapeRoff(strings.Join(strings.Fields(about), " ")))
		}
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", escapeRoff(outdentLines(c.Example)))
	}
	if also := neighbourPages(c); len(also) > 0 {
		b.WriteString(".SH SEE ALSO\n" + escapeRoff(strings.Join(also, ", ")) + "\n")
	}
	return b.String()
}

// neighbourPages are the pages of the command above and of those below.
func neighbourPages(c *cobra.Command) []string {
	var all []string
	if c.HasParent() {
		all = append(all, strings.TrimSuffix(ManName(c.Parent()), ".1")+"(1)")
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			all = append(all, strings.TrimSuffix(ManName(sub), ".1")+"(1)")
		}
	}
	return all
}

func manParagraphs(text string) string {
	var b strings.Builder
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		switch {
		case strings.HasPrefix(p, " "):
			fmt.Fprintf(&b, ".PP\n.nf\n%s\n.fi\n", escapeRoff(outdentLines(p)))
		case i == 0:
			b.WriteString(escapeRoff(p) + "\n")
		default:
			b.WriteString(".PP\n" + escapeRoff(p) + "\n")
		}
	}
	return b.String()
}

// escapeRoff escapes a text: backslashes, hyphens that are typed, what is not ASCII, and lines that would be requests.
func escapeRoff(text string) string {
	var escaped strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			escaped.WriteString(`\e`)
		case r == '-':
			escaped.WriteString(`\-`)
		case r > unicode.MaxASCII:
			fmt.Fprintf(&escaped, `\[u%04X]`, r)
		default:
			escaped.WriteRune(r)
		}
	}
	lines := strings.Split(escaped.String(), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
