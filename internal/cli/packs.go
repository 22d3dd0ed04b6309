package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/runner"
	"parley/simulator/scripted"
	"parley/steps"
	"parley/steps/pack"
)

// loadPacks loads the protocols that a command line names by their folders (--protocol ./my-protocol), adds them to the
// suite, and returns the command line with their ids. A name is a folder if it contains a separator, or is ".".
func loadPacks(args []string) ([]string, error) {
	out := slices.Clone(args)
	for i, arg := range out {
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return out, nil
		case flag != "--protocol":
			continue
		case !joined && i+1 < len(out):
			i, value = i+1, out[i+1]
		}
		if !isFolder(value) {
			continue
		}
		with, p, err := pack.Join(suite, value)
		if p == nil {
			return nil, &mistakenFile{err}
		}
		played, there, mistaken := scripted.Target(p, value)
		if err = errors.Join(err, mistaken); err == nil {
			_, err = runner.Scenarios(p.Features(), p)
		}
		if err != nil {
			return nil, &mistakenFile{err}
		}
		id := steps.Name(p)
		if with != suite && there {
			bundle = append(slices.Clone(bundle), played)
		}
		suite = with
		folders[id] = shellWord(value)
		if out[i] = id; joined {
			out[i] = flag + "=" + id
		}
	}
	return out, nil
}

// takeFolder lets a command that reads the protocol in a file take the folder of one (loadPacks).
func takeFolder(c *cobra.Command) {
	c.Flags().String("protocol", "", "`PROTOCOL` of the file, if it is a folder of your own")
}

// isFolder reports whether a protocol is named by its folder.
func isFolder(name string) bool {
	return strings.ContainsRune(name, os.PathSeparator) || name == "." || name == ".."
}

// folders are the folders of the protocols that the command line names by them, by id.
var folders = map[string]string{}

// spelled returns a protocol as a command line names it: by its folder if it has one.
func spelled(protocol string) string { return cmp.Or(folders[protocol], protocol) }

// inFolder says how a protocol that is unknown here is named if it is one of a folder.
func inFolder(protocol string) string {
	return fmt.Sprintf("a protocol of your own is named by its folder: --protocol ./%s", protocol)
}

// explaining is the command that says what a clause says, without the clause.
func explaining() string {
	words := []string{program, "explain"}
	for _, id := range slices.Sorted(maps.Keys(folders)) {
		words = append(words, "--protocol", folders[id])
	}
	return strings.Join(words, " ")
}

// mustConform checks, for a folder's protocol, that its server without a fault breaks nothing: otherwise a failure
// would prove nothing of a mutant.
func (o mutantsOptions) mustConform(ctx context.Context, c catalogue) error {
	if folders[c.protocol] == "" {
		return nil
	}
	sub := bundle.For(suite.Kinds(), c.protocol, c.role)
	res, err := runner.Run(ctx, runner.Options{Protocols: suite, Profile: sub.Profile, Launcher: sub.Launcher,
		Role: c.role, Drivers: sub.Profile.Drivers})
	if err != nil {
		return err
	}
	if res.Exit == verdict.ExitNonConformant {
		return usagef("the server of %s breaks clauses without any fault, so that its mutants prove nothing "+
			"(see parley run --protocol %[1]s)", folders[c.protocol])
	}
	return nil
}
