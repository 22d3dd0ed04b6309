package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"parley/target"
)

// initOptions are the flags of parley init.
type initOptions struct {
	out   string
	force bool
}

func initCommand(s *streams) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init URL",
		Short: "Probe a running server, and write its profile",
		Long: `Probe a running agent-select server at the paths of the default binding, and write a profile: the transports that it
offers, how its events look, how a request tells its connection, where a session's id is, and which optional features seem
to be there. Beside each stands what was seen. What cannot be seen from outside is there as comments to fill in.

The probe opens connections, creates sessions and switches their agents. It changes nothing else.`,
		Example: `  parley init http://localhost:3000
  parley init http://localhost:3000/api --out my.yaml`,
		RunE: func(c *cobra.Command, args []string) error { return initialise(c.Context(), args, o, s) },
	}
	c.Flags().StringVar(&o.out, "out", "target.yaml", "`FILE` to write")
	c.Flags().BoolVar(&o.force, "force", false, "overwrite the file")
	return c
}

// initialise probes a server and writes what it found.
func initialise(ctx context.Context, args []string, o initOptions, s *streams) error {
	if len(args) != 1 {
		return usagef("init: which server? (give one URL, such as parley init http://localhost:3000)")
	}
	if _, err := os.Stat(o.out); err == nil && !o.force {
		return usagef("--out: %s exists (name another file, or overwrite it with --force)", o.out)
	}
	profile, err := target.ForURL(args[0])
	if err != nil {
		return err
	}
	running, err := target.NewLauncher(profile).Launch(ctx, target.LaunchOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = running.Stop(context.WithoutCancel(ctx)) }()

	p := &probe{profile: profile, run: running, seen: map[string][]string{},
		say: func(format string, args ...any) { fmt.Fprintf(s.Err, format+"\n", args...) }}
	p.all(ctx)
	if ctx.Err() != nil {
		return context.Canceled
	}
	if err := keep(o, draft(p.profile, p.seen)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s is written; next: parley doctor --target %s\n", o.out, shellWord(o.out))
	return err
}

// keep writes a profile that can be read, and no other.
func keep(o initOptions, text string) error {
	if _, err := target.Parse([]byte(text), o.out, nil); err != nil {
		return fmt.Errorf("what was found out makes no profile: %v\n%s", err, text)
	}
	write := func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	if o.force {
		if err := writeFile(o.out, write); err != nil {
			return usagef("--out: %v", err)
		}
		return nil
	}
	f, err := os.OpenFile(o.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // nobody may have made it meanwhile
	if err != nil {
		return usagef("--out: %v", err)
	}
	return errors.Join(write(f), f.Close())
}
