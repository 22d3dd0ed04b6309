package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/internal/input"
	"parley/simulator/load"
	"parley/target"
)

// Spread is what spreads loads over several processes. Package spread does; it is not imported here, so that only the
// program parley-load contains it.
type Spread struct {
	Name          string // of the program
	Long, Example string // of the load, beside those of parley load
	Worker        string // describes the worker command
	WorkerExample string

	// Child runs this process as a worker that a coordinator has started it for, and exits; otherwise it returns.
	Child func(shop load.Workshop)

	// Flags adds flags to the load command, and returns what gives a load its crew; end ends the crew.
	Flags func(f *pflag.FlagSet) func(o *load.Options, tell func(line string)) (end func(), err error)

	// Join adds flags to the worker command, and returns what carries out one task.
	Join func(f *pflag.FlagSet) func(ctx context.Context, shop load.Workshop, tell func(line string)) error
}

// MainLoad runs the command line of a program that only puts servers under load, and exits with the exit code.
func MainLoad(parts Parts, sp Spread) {
	begin(parts)
	sp.Child(workshop())
	s := terminal()
	s.name = sp.Name
	os.Exit(execute(os.Args[1:], s, sp.root))
}

// workshop is what workers of this program have.
func workshop() load.Workshop {
	return load.Workshop{Protocols: suite, Bundled: func(protocol string) *target.Profile {
		if sub := bundle.Separate(suite.Kinds(), protocol, "", "", 0); sub != nil {
			return sub.Profile
		}
		return nil
	}}
}

// root is the load command, with the worker command below it.
func (sp Spread) root(s *streams) *cobra.Command {
	o := &loadOptions{}
	root := loadCommandOf(o, s)
	root.Use, root.Short = sp.Name+" [TARGET]", "Put a server under the load of sessions in several processes"
	root.Long, root.Example = sp.Long, sp.Example
	root.SilenceErrors, root.SilenceUsage, root.DisableFlagsInUseLine = true, true, true
	root.Version = suite.Version
	o.spread = sp.Flags(root.Flags())
	worker := &cobra.Command{Use: "worker", Short: "Carry out a part of a load that somebody else begins", Long: sp.Worker,
		Example: sp.WorkerExample, Args: noArgs}
	join := sp.Join(worker.Flags())
	worker.RunE = func(c *cobra.Command, _ []string) error {
		view := &loadView{s: s}
		return join(c.Context(), workshop(), view.tell)
	}
	root.AddCommand(worker)
	return settled(root, s)
}

// sourceOf returns where workers find the profile of a target, to which the flags of l have been applied.
func sourceOf(sub *subject, name string, l linkOptions) (load.Source, error) {
	p := sub.profile
	var out load.Source
	if len(l.headers) > 0 {
		out.Headers = p.Headers
	}
	if l.tlsFlag() != "" {
		t := l.tls()
		for _, path := range []*string{&t.CA, &t.Cert, &t.Key} {
			if abs, err := filepath.Abs(*path); err == nil && *path != "" {
				*path = abs
			}
		}
		out.TLS = &t
	}
	if sub.bare {
		out.Protocol, out.URL = p.Protocol, name
		return out, nil
	}
	out.Name, out.Dir, out.Env = p.Path, p.Dir, map[string]string{}
	var err error
	if out.YAML, err = input.Read(p.Path, load.MaxSource); err != nil {
		return out, usagef("%s: %v (its workers get a copy of it)", p.Path, err)
	}
	_, err = suite.Kinds().ParseIn(out.YAML, out.Name, out.Dir, func(name string) (string, bool) {
		value, ok := os.LookupEnv(name)
		if ok {
			out.Env[name] = value
		}
		return value, ok
	})
	return out, err
}
