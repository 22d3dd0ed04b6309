package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show the help of a command",
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			if found == c.Root() {
				if err := knownCommand(found, rest); err != nil {
					return err
				}
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// commandGroups are the groups in which parley --help lists the commands, each with its commands.
var commandGroups = []struct {
	title    string
	commands []string
}{
	{"Judge", []string{"run", "doctor", "init", "load", "check-log"}},
	{"Play a party", []string{"demo", "connect", "simulate", "serve", "mock", "replay"}},
	{"Stand between and record", []string{"proxy", "recording", "scenario"}},
	{"Report", []string{"report", "merge", "diff", "baseline"}},
	{"Certify", []string{"certify", "verify", "site", "keygen"}},
	{"The suite", []string{"list", "explain", "new", "mutants", "bench"}},
	{"This program", []string{"version", "completion", "help"}},
}

// groupCommands puts the subcommands of root into their groups. Those of a program of its own have none.
func groupCommands(root *cobra.Command) {
	for _, g := range commandGroups {
		for _, c := range root.Commands() {
			if slices.Contains(g.commands, c.Name()) {
				if !root.ContainsGroup(g.title) {
					root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
				}
				c.GroupID = g.title
			}
		}
	}
	if last := commandGroups[len(commandGroups)-1].title; root.ContainsGroup(last) {
		root.SetHelpCommandGroupID(last)
		root.SetCompletionCommandGroupID(last)
	}
}

// flagGroup is a group in which --help lists flags, those that are used most first.
type flagGroup struct {
	title string
	flags []string
}

// flagGroups are the groups of the flags of all commands: a flag means the same in each.
var flagGroups = []flagGroup{
	{"The target", []string{"target", "protocol", "role", "driver", "profile", "target-version", "origin"}},
	{"What is played", []string{"as", "mind", "script"}},
	{"Addresses", []string{"listen", "upstream", "connect", "console", "console-token", "open"}},
	{"Which scenarios", []string{"tags", "features", "explore", "seed", "cut-points", "differential", "shard",
		"concurrency", "fail-fast", "watch", "deadline"}},
	{"Faults", []string{"mutant", "faults"}},
	{"The load", []string{"sessions", "rate", "shape", "duration", "open-rate", "timeout", "errors", "p50", "p99",
		"p999"}},
	{"The verdict", []string{"strict", "fail-on", "max-duration", "allow-incomplete", "baseline", "write-baseline",
		"suite"}},
	{"Reports", []string{"out", "format", "verbose", "quiet", "lang", "no-color", "record", "for", "otlp-endpoint"}},
	{"The connections to the target", []string{"header", "insecure", "ca", "client-cert", "client-key"}},
	{"Who may connect", []string{"allow-remote", "token", "tls-cert", "tls-key"}},
}

// otherFlags is the title of the flags that are in no group.
const otherFlags = "Other flags"

// manyFlags is from how many flags on they are listed in groups.
const manyFlags = 15

// listFlags returns the flags of a command as --help lists them: in groups if there are many, otherwise by name.
func listFlags(all *pflag.FlagSet) string {
	shown := 0
	all.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			shown++
		}
	})
	if shown < manyFlags {
		return "\nFlags:\n" + strings.TrimRight(all.FlagUsagesWrapped(flagColumns), " \n")
	}
	var out strings.Builder
	listed := map[string]bool{}
	list := func(title string, set *pflag.FlagSet) {
		if set.HasAvailableFlags() {
			fmt.Fprintf(&out, "\n%s:\n%s\n", title, strings.TrimRight(set.FlagUsagesWrapped(flagColumns), " \n"))
		}
	}
	for _, g := range flagGroups {
		set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.flags {
			if f := all.Lookup(name); f != nil {
				set.AddFlag(f)
				listed[name] = true
			}
		}
		list(g.title, set)
	}
	rest := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.VisitAll(func(f *pflag.Flag) {
		if !listed[f.Name] {
			rest.AddFlag(f)
		}
	})
	list(otherFlags, rest)
	return strings.TrimRight(out.String(), "\n")
}

// detailsMark is the paragraph of a help text from which on it stands behind the flags.
const detailsMark = "Details:"

// cutDetails returns what of a help text stands before the flags, and what behind them.
func cutDetails(long string) (head, details string) {
	head, details, _ = strings.Cut(long, "\n\n"+detailsMark+"\n\n")
	return head, details
}

// helpColumns is the width of help texts, and flagColumns that of the table of flags.
const (
	helpColumns = 80
	flagColumns = 100
)

// helpTemplate is cobra's, but for the details, which stand last.
const helpTemplate = `{{with (or .Long .Short)}}{{textBefore . | trimTrailingWhitespaces}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}{{with .Long}}{{textBehind .}}{{end}}`

// wrapHelp wraps the help texts of a command and its subcommands, puts this program's name into them, and lists the
// flags in groups.
func wrapHelp(root *cobra.Command) {
	cobra.AddTemplateFunc("listFlags", listFlags)
	cobra.AddTemplateFunc("textBefore", func(long string) string { head, _ := cutDetails(long); return head })
	cobra.AddTemplateFunc("textBehind", func(long string) string {
		if _, details := cutDetails(long); details != "" {
			return "\n" + detailsMark + "\n\n" + details + "\n"
		}
		return ""
	})
	const table = "\nFlags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}"
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), table, "{{listFlags .LocalFlags}}", 1)) // all inherit it
	root.SetHelpTemplate(helpTemplate)
	groupCommands(root)
	tidyTexts(root)
}

func tidyTexts(c *cobra.Command) {
	c.Long, c.Example = wrapParagraphs(nameProgram(c.Long), helpColumns), nameProgram(c.Example)
	for _, sub := range c.Commands() {
		tidyTexts(sub)
	}
}

// wrapParagraphs wraps each paragraph of a text at the given width, between words. A paragraph that begins with a space
// stays as it is.
func wrapParagraphs(text string, columns int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") {
			paragraphs[i] = wrapParagraph(p, columns)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// wrapParagraph wraps one paragraph.
func wrapParagraph(text string, columns int) string {
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
