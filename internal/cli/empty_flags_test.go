package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/features/verdict"
)

// TestEmptyFlags: no flag of any command treats an empty value, which an unset shell variable yields, as if the flag
// were missing.
func TestEmptyFlags(t *testing.T) {
	flags := 0
	var visit func(c *cobra.Command, path []string)
	visit = func(c *cobra.Command, path []string) {
		for _, sub := range c.Commands() {
			visit(sub, append(path[:len(path):len(path)], sub.Name()))
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, texts := flagTexts(f); !texts {
				return
			}
			flags++
			for _, empty := range []string{"", "  "} {
				refused(t, append(path[:len(path):len(path)], "--"+f.Name+"="+empty), "parley: --"+f.Name+" is empty (give ")
			}
		})
	}
	visit(rootCommand(&streams{}), nil)
	if flags < 30 {
		t.Errorf("only %d flags were tried", flags)
	}
	refused(t, []string{"run", "--driver", "sse,"}, "parley: --driver is empty (give DRIVER, or leave it out")
	refused(t, []string{"doctor", "--target", ""},
		"parley: --target is empty (give FILE|URL, or leave it out; is a variable in it not set?)")
	refused(t, []string{"init", ""}, "parley: parley init: an argument is empty")
	refused(t, []string{"explain", ""}, "parley: parley explain: an argument is empty")
}

// refused runs an invalid command line, and checks that it fails with a one-line usage error.
func refused(t *testing.T, args []string, begins string) {
	t.Helper()
	var out, errs strings.Builder
	s := &streams{In: strings.NewReader(""), Out: &out, Err: &errs}
	if exit := runParley(args, s); exit != verdict.ExitUsage {
		t.Errorf("parley %q: exit %d, want %d", args, exit, verdict.ExitUsage)
	}
	if told := errs.String(); !strings.HasPrefix(told, begins) || strings.Count(told, "\n") != 1 || out.Len() > 0 {
		t.Errorf("parley %q: %q, and %q on stdout; want one line that begins with %q", args, told, out.String(), begins)
	}
}
