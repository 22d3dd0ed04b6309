package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"parley/protocol/agentselect"
	"parley/protocol/sessionchat"
	"parley/target"
)

// initOptions are the flags of parley init.
type initOptions struct {
	protocol, out string
	force         bool
}

func initCommand(s *streams) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init URL",
		Short: "Probe a running server, and write its profile",
		Long: `Probe a running server, and write a profile of it. Beside each thing that was found out stands what was seen; what cannot be
seen from outside is there as comments to fill in.

agent-select is tried at the paths of the default binding: the transports that it offers, how its events look, how a request
tells its connection, where a session's id is, and which optional features seem to be there. The probe opens connections,
creates sessions and switches their agents.

session-chat is tried at the default path and a few usual ones, or at that of a ws URL: one chat, one ping and one message of
no known type tell how its messages look, as far as their names can be understood. The chat makes one session.`,
		Example: `  parley init http://localhost:3000
  parley init http://localhost:3000/api --out my.yaml
  parley init --protocol session-chat http://localhost:3000
  parley init --protocol session-chat ws://localhost:3000/my/socket`,
		RunE: func(c *cobra.Command, args []string) error { return initialise(c.Context(), args, o, s) },
	}
	c.Flags().StringVar(&o.protocol, "protocol", agentselect.Protocol, "`PROTOCOL` that the server speaks")
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
	if err := knownProtocols([]string{o.protocol}); err != nil {
		return err
	}
	profile, err := target.ForURLOf(o.protocol, args[0])
	if err != nil {
		return err
	}
	running, err := target.NewLauncher(profile).Launch(ctx, target.LaunchOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = running.Stop(context.WithoutCancel(ctx)) }()

	ask, ok := probes[o.protocol]
	if !ok {
		return usagef("--protocol %s: init knows no server of it yet", o.protocol)
	}
	n := notebook{func(format string, args ...any) { fmt.Fprintf(s.Err, format+"\n", args...) }, map[string][]string{}}
	text := ask(ctx, n, profile, running, strings.HasPrefix(args[0], "ws"))
	if ctx.Err() != nil {
		return context.Canceled
	}
	if err := keep(o, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s is written; next: parley doctor --target %s\n", o.out, shellWord(o.out))
	return err
}

// probes ask a server everything, and give the text of its profile. exact: the URL says where the socket is.
var probes = map[string]func(ctx context.Context, n notebook, p *target.Profile, run target.Running, exact bool) string{
	agentselect.Protocol: func(ctx context.Context, n notebook, profile *target.Profile, run target.Running, _ bool) string {
		p := &probe{notebook: n, profile: profile, run: run}
		p.all(ctx)
		return draft(p.profile, p.seen)
	},
	sessionchat.Protocol: func(ctx context.Context, n notebook, profile *target.Profile, run target.Running, exact bool) string {
		p := &chatProbe{notebook: n, profile: profile, run: run}
		return chatDraft(profile, p.all(ctx, exact), p.seen)
	},
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
