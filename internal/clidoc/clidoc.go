// Package clidoc renders a tree of cobra commands for people: as one Markdown page, and as man pages. Hidden commands
// and flags are left out, and so is --help.
package clidoc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands returns root and its visible subcommands, each before its own subcommands.
func Commands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, sub := range root.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			all = append(all, Commands(sub)...)
		}
	}
	return all
}

// Page returns the commands as Markdown: the flags that several have, then a section for each with its usage, what it
// does, its exit codes, flags and examples. head comes first. The rest of a command's text, and how a shell completes
// words, are left to --help; examples of the command above are not told again.
func Page(root *cobra.Command, head string) string {
	var b strings.Builder
	b.WriteString(head)
	all := slices.DeleteFunc(Commands(root)[1:], func(c *cobra.Command) bool {
		return strings.HasPrefix(c.CommandPath(), root.Name()+" completion")
	})
	shared := sharedFlags(all)
	if len(shared) > 0 {
		b.WriteString("\n## Flags of several commands\n\n" + strings.Join(shared, ""))
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n## %s\n\n", c.CommandPath())
		fmt.Fprintf(&b, "`%s`\n\n%s\n", usage.Replace(usageLines(c)), briefMarkdown(describeFlags(c)))
		b.WriteString(flagList(c, shared))
		if example := newExamples(c); example != "" {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", outdentLines(example))
		}
	}
	return b.String()
}

// sharedFlags returns the items of the flags that several commands have with the same words, and no others with
// different ones.
func sharedFlags(all []*cobra.Command) []string {
	count, names := map[string]int{}, map[string]string{}
	for _, c := range all {
		for _, f := range Flags(c) {
			count[flagItem(f)]++
			names[flagItem(f)] = f.Name
		}
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n < 2 })
	spellings := map[string]int{}
	for item := range count {
		spellings[names[item]]++
	}
	maps.DeleteFunc(count, func(item string, _ int) bool { return spellings[names[item]] > 1 })
	return slices.SortedFunc(maps.Keys(count), func(a, b string) int { return strings.Compare(names[a], names[b]) })
}

// flagList returns the flags of a command: its own with what they do, those of several commands by name.
func flagList(c *cobra.Command, shared []string) string {
	var own, names []string
	for _, f := range Flags(c) {
		if item := flagItem(f); slices.Contains(shared, item) {
			names = append(names, "`--"+f.Name+"`")
		} else {
			own = append(own, item)
		}
	}
	list := ""
	if len(own) > 0 {
		list = "\n" + strings.Join(own, "")
	}
	if len(names) > 0 {
		list += "\n[Also](#flags-of-several-commands) " + strings.Join(names, ", ") + ".\n"
	}
	return list
}

func flagItem(f *pflag.Flag) string {
	name, about := Describe(f)
	return fmt.Sprintf("- `%s`: %s\n", name, inlineMarkdown(about))
}

// usage makes one line of the lines of use.
var usage = strings.NewReplacer(" [flags]", "", "\n", "` or `")

// newExamples returns the lines of a command's examples that the command above it does not have.
func newExamples(c *cobra.Command) string {
	above := strings.Split(c.Parent().Example, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(c.Example, "\n"), func(line string) bool {
		return slices.Contains(above, line)
	}), "\n")
}

// Flags returns the visible flags of a command, sorted by name.
func Flags(c *cobra.Command) []*pflag.Flag {
	var all []*pflag.Flag
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			all = append(all, f)
		}
	})
	return all
}

// Describe returns a flag as it is typed, and what it does, with its default.
func Describe(f *pflag.Flag) (name, about string) {
	value, about := pflag.UnquoteUsage(f)
	name = "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if value != "" {
		name += " " + value
	}
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
	default:
		if !strings.Contains(about, "(default") {
			about += " (default " + f.DefValue + ")"
		}
	}
	return name, about
}

func describeFlags(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short + "."
}

// usageLines returns the lines of use.
func usageLines(c *cobra.Command) string {
	var lines []string
	if c.Runnable() {
		lines = append(lines, c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		lines = append(lines, c.CommandPath()+" COMMAND")
	}
	return strings.Join(lines, "\n")
}

// briefMarkdown returns the first paragraph of a help text as Markdown, and those about exit codes.
func briefMarkdown(text string) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	brief := paragraphs[:1]
	for _, p := range paragraphs[1:] {
		if strings.HasPrefix(p, "Exit ") {
			brief = append(brief, p)
		}
	}
	return marks.Replace(strings.Join(brief, "\n\n"))
}

var marks = strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`, "`", "\\`", "|", `\|`)

// inlineMarkdown returns a text as Markdown in one line.
func inlineMarkdown(text string) string {
	return marks.Replace(strings.Join(strings.Fields(text), " "))
}

// outdentLines removes the indentation that all lines share.
func outdentLines(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	shared := -1
	for _, l := range lines {
		if n := len(l) - len(strings.TrimLeft(l, " ")); strings.TrimSpace(l) != "" && (shared < 0 || n < shared) {
			shared = n
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimRight(l[min(max(shared, 0), len(l)):], " ")
	}
	return strings.Join(lines, "\n")
}
