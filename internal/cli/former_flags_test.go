package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagMeanings is what each flag means that several commands have: part of its help, of which each command has one.
// What a flag takes (a file, a number, nothing) is the same in each too.
var flagMeanings = map[string][]string{
	"allow-remote":   {"let other machines in"},
	"artifact":       {"artifact", "archive"},
	"baseline":       {"known to fail"},
	"ca":             {"signed the target's certificate"},
	"client-cert":    {"to present to the target"},
	"client-key":     {"--client-cert"},
	"concurrency":    {"in parallel", "side by side"},
	"console":        {"page"},
	"driver":         {"over", "of the sessions", "to measure"},
	"faults":         {"faults"},
	"format":         {"reports to write", "FORMAT"},
	"header":         {"with every request"},
	"ignore":         {"may differ"},
	"insecure":       {"do not check the certificate"},
	"json":           {"JSON"},
	"kills":          {"kill matrices"},
	"lang":           {"LANGUAGE"},
	"listen":         {"listen", "for clients", "play the server"},
	"matrix":         {"matrix"},
	"no-color":       {"NO_COLOR"},
	"open":           {"in the browser"},
	"out":            {"DIR", "FOLDER"},
	"otlp-endpoint":  {"OTLP endpoint"},
	"origin":         {"of the server"},
	"output":         {"FILE"},
	"protocol":       {"PROTOCOL", "protocols"},
	"quiet":          {"failures"},
	"role":           {"ROLE", "roles"},
	"schema":         {"JSON Schema"},
	"speed":          {"times as fast"},
	"strict":         {"SHOULD", "in no recording"},
	"tags":           {"EXPR"},
	"target":         {"run it against", "server", "target", "TARGET"},
	"target-version": {"VERSION"},
	"tls-cert":       {"certificate"},
	"tls-key":        {"its key"},
	"token":          {"TOKEN"},
	"verbose":        {"in full"},
	"within":         {"wait at most"},
}

// TestOneMeaningPerFlag checks that a name of a flag means the same in every command that has it: its help says so,
// and it takes the same kind of value under the same short name.
func TestOneMeaningPerFlag(t *testing.T) {
	seen := map[string]*pflag.Flag{}
	in := map[string]string{}
	root := rootCommand(&streams{Out: io.Discard, Err: io.Discard})
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || c.Name() == "completion" {
				return
			}
			first, again := seen[f.Name]
			if !again {
				seen[f.Name], in[f.Name] = f, c.Name()
				return
			}
			means, listed := flagMeanings[f.Name]
			if !listed {
				t.Errorf("--%s is a flag of %s and of %s (say in flagMeanings what it means in both)", f.Name, in[f.Name], c.Name())
				return
			}
			for name, one := range map[string]*pflag.Flag{in[f.Name]: first, c.Name(): f} {
				if !slices.ContainsFunc(means, func(m string) bool { return strings.Contains(one.Usage, m) }) {
					t.Errorf("%s --%s: %q does not say %q", name, f.Name, one.Usage, means)
				}
			}
			if (first.Value.Type() == "bool") != (f.Value.Type() == "bool") ||
				first.Shorthand != "" && f.Shorthand != "" && first.Shorthand != f.Shorthand {
				t.Errorf("--%s takes %s in %s (-%s), and %s in %s (-%s)", f.Name, first.Value.Type(), in[f.Name],
					first.Shorthand, f.Value.Type(), c.Name(), f.Shorthand)
			}
		})
	}
}

// TestFormerFlags checks that each former name of a flag is read as the new one, with a line that says so, and that no
// command has both.
func TestFormerFlags(t *testing.T) {
	for command, names := range formerFlags {
		for former, now := range names {
			var said strings.Builder
			if command == "parley-load" {
				continue // a program of its own
			}
			c := subcommand(rootCommand(&streams{Out: io.Discard, Err: &said}), command)
			if c == nil {
				t.Fatalf("there is no command %s", command)
			}
			f := c.Flags().Lookup(now)
			if f == nil {
				t.Errorf("%s has no --%s, which --%s is now", command, now, former)
				continue
			}
			arg := "--" + former
			if f.Value.Type() != "bool" {
				arg += "=given"
			}
			if err := c.ParseFlags([]string{arg}); err != nil || !f.Changed {
				t.Errorf("%s %s: %v, and --%s is changed: %v", command, arg, err, now, f.Changed)
			}
			if want := "--" + former + " is --" + now + " now; "; strings.Count(said.String(), want) != 1 {
				t.Errorf("%s %s says %q, want %q once", command, arg, said.String(), want)
			}
			c.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Name == former {
					t.Errorf("%s has --%s and reads it as --%s", command, former, now)
				}
			})
		}
	}
}

func subcommand(root *cobra.Command, name string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// TestFormerReport checks that the file that report read from --from is still read.
func TestFormerReport(t *testing.T) {
	dir := t.TempDir()
	body, err := os.ReadFile(filepath.Join("..", "..", "reports", "testdata", "results.golden.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "results.json"), body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "results.json")
	now, _, code := invoke(t, "report", file)
	former, said, formerCode := invoke(t, "report", "--from", file)
	if code != formerCode || now != former || now == "" || !strings.Contains(said, "--from FILE is an argument now") {
		t.Errorf("exit %d, and with --from %d, which says %q", code, formerCode, said)
	}
}
