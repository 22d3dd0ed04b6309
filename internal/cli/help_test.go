package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestHelpInGroups requires that help lists every command, and every flag of a command that has many, in a group.
func TestHelpInGroups(t *testing.T) {
	t.Parallel()
	root := rootCommand(&streams{})
	names := map[string]bool{}
	for _, c := range root.Commands() {
		names[c.Name()] = true
		if c.IsAvailableCommand() && c.GroupID == "" && c.Name() != "help" && c.Name() != "completion" {
			t.Errorf("parley %s is in no group of commandGroups", c.Name())
		}
		many := 0
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				many++
			}
		})
		text := listFlags(c.LocalFlags())
		_, others, found := strings.Cut(text, otherFlags+":\n")
		switch {
		case many < manyFlags && !strings.HasPrefix(text, "\nFlags:\n"):
			t.Errorf("parley %s has %d flags, and lists them in groups", c.Name(), many)
		case many >= manyFlags && (found || strings.HasPrefix(text, "\nFlags:\n")):
			t.Errorf("parley %s lists flags in no group:\n%s", c.Name(), others)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(text, "--"+f.Name) {
				t.Errorf("parley %s does not list --%s", c.Name(), f.Name)
			}
		})
	}
	for _, g := range commandGroups {
		for _, name := range g.commands {
			if !names[name] && name != "help" && name != "completion" {
				t.Errorf("group %q has %s, which is no command", g.title, name)
			}
		}
	}
}

// TestHelpOfRun requires that the most used flags of run are in its first screen, and the details behind the flags.
func TestHelpOfRun(t *testing.T) {
	t.Parallel()
	said, _, code := invoke(t, "run", "--help")
	flags, details := strings.Index(said, "The target:\n"), strings.Index(said, "\n"+detailsMark+"\n")
	if code != 0 || flags < 0 || details < flags || strings.Count(said[:flags], "\n") > 30 {
		t.Errorf("the flags do not follow the summary, or the details do not follow the flags:\n%s", said)
	}
}
