package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/driver/browser"
	"parley/protocol/agentclient"
	"parley/protocol/agentselect"
	"parley/protocol/externalagent"
	"parley/protocol/sessionchat"
	"parley/protocol/sessionruntime"
	"parley/runner"
	"parley/target"
)

// initOptions are the flags of parley init.
type initOptions struct {
	protocol, role, out string
	force               bool
	command             bool // the arguments are one, and no URL
}

func initCommand(s *streams) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init URL|FOLDER | init --protocol session-runtime -- COMMAND… | init --role agent -- COMMAND…",
		Short: "Probe a running server, a page or an agent, and write its profile",
		Long: `Probe a running server, and write a profile of it. A server that does not speak the protocol, wants credentials or says nothing is told
in one line: exit code 3, and nothing is written. Beside each thing that was found out stands what was seen; what cannot be
seen from outside is there as comments to fill in.

agent-select is tried at the paths of the default binding: the transports that it offers, how its events look, how a request
tells its connection, where a session's id is, and which optional features seem to be there. The probe opens connections,
creates sessions and switches their agents.

session-chat is tried at the default path and a few usual ones, or at that of a ws URL: one chat, one ping and one message of
no known type tell how its messages look, as far as their names can be understood. The chat makes one session.

session-runtime is tried in the same way: the probe sets sessions up, and is every party on their bus. Whether a fence is answered,
where the fields of messages are, and what a turn that is accepted, cancelled or not acknowledged is called, it takes from what
is published. Behind -- stands the command of an orchestrator that speaks over stdin and stdout: it is started once.

external-agent is tried in the same way: whether relay.join is answered, and a host is there or a relay alone, whether other
relay sessions have a host too and two agents can be in one, how tools are announced, and where error codes are. The probe
starts study sessions and ends them; it books nothing.

agent-client is a page: a URL, a folder with an index.html, or a file that ends in .html. It is opened in a browser, and its elements
are looked for: by the ids of the default binding, by what is written on buttons, and by the words in ids and classes. The probe
connects the page to a server of its own, which tells what it asks.

An agent connects to the harness. With --role agent the words behind -- are the command that starts it, in which {url} and
{session} stand for what it is told; it is started once, meets the bundled host, and loses its connection there. Without a
command the profile is that of an agent which connects by itself, and is to be filled in.`,
		Example: `  parley init http://localhost:3000
  parley init http://localhost:3000/api --out my.yaml
  parley init ./dist
  parley init --protocol agent-client http://localhost:5173
  parley init --protocol session-chat http://localhost:3000
  parley init --protocol session-chat ws://localhost:3000/my/socket
  parley init --protocol session-runtime http://localhost:3000
  parley init --protocol session-runtime -- python3 adapter.py
  parley init --protocol external-agent ws://localhost:3000/agent/ws
  parley init --protocol external-agent --role agent -- ./my-agent --url '{url}' --session '{session}'`,
		RunE: func(c *cobra.Command, args []string) error {
			o.command = c.ArgsLenAtDash() == 0
			if len(args) == 1 && !c.Flags().Changed("protocol") && target.IsPage(args[0]) {
				o.protocol = agentclient.Protocol // which is no server's
			}
			return initialise(c.Context(), args, o, s)
		},
	}
	c.Flags().StringVar(&o.protocol, "protocol", agentselect.Protocol, "`PROTOCOL` that the server speaks; of a folder or\nan .html file agent-client")
	c.Flags().StringVar(&o.role, "role", "", "`ROLE` of the target, where it is an agent; of a server it is found out")
	c.Flags().StringVar(&o.out, "out", "target.yaml", "`FILE` to write")
	c.Flags().BoolVar(&o.force, "force", false, "overwrite the file")
	return c
}

// initialise probes a target and writes what it found.
func initialise(ctx context.Context, args []string, o initOptions, s *streams) error {
	if err := knownProtocols([]string{o.protocol}); err != nil {
		return err
	}
	role, err := oneRole(o.protocol, given(o.role))
	switch {
	case err != nil:
		return err
	case role != "" && role != externalagent.Agent:
		return usagef("--role %s: of a server the role is found out (leave it out)", role)
	case o.spoken(args):
	case role == "" && len(args) != 1:
		return usagef("init: which server? (%s)", o.wanted())
	}
	if _, err := os.Stat(o.out); err == nil && !o.force {
		return usagef("--out: %s exists (name another file, or overwrite it with --force)", o.out)
	}
	n := notebook{say: func(format string, args ...any) { fmt.Fprintf(s.Err, format+"\n", args...) }, seen: map[string][]string{}}
	find := initServer
	switch {
	case role == externalagent.Agent:
		find = initAgent
	case o.spoken(args):
		find = initSpoken
	}
	text, err := find(ctx, n, args, o)
	switch {
	case ctx.Err() != nil:
		return context.Canceled
	case err != nil:
		return err
	}
	if err := keep(o, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s is written; next: parley doctor --target %s\n", o.out, shellWord(o.out))
	return err
}

// wanted says what to give to be probed.
func (o initOptions) wanted() string {
	text := "give one URL, such as parley init http://localhost:3000"
	if o.protocol == agentclient.Protocol {
		return "give one page: a URL, a folder or a file, such as parley init ./dist"
	}
	if o.protocol == sessionruntime.Protocol {
		text += "; or behind -- the command of one that speaks over stdin and stdout"
	}
	return text
}

// spoken tells whether the arguments are the command of a target that speaks over its stdin and stdout.
func (o initOptions) spoken(args []string) bool {
	return o.command && o.protocol == sessionruntime.Protocol && len(args) > 0 && !strings.Contains(args[0], "://")
}

// initServer probes a running server, and gives the text of its profile.
func initServer(ctx context.Context, n notebook, args []string, o initOptions) (string, error) {
	ask, ok := probes[o.protocol]
	if !ok {
		return "", usagef("--protocol %s: init knows no server of it yet", o.protocol)
	}
	profile, err := o.profileOf(args[0])
	if err == nil {
		err = missingBrowser(profile)
	}
	if err != nil {
		return "", err
	}
	firstLook(&profile.Limits)
	running, err := target.NewLauncher(profile).Launch(ctx, target.LaunchOptions{})
	if err != nil {
		return "", err
	}
	defer func() { _ = running.Stop(context.WithoutCancel(ctx)) }()
	if err := runner.Recognise(ctx, profile, running.BaseURL()); err != nil {
		return "", err
	}
	met := profile.Protocol == agentclient.Protocol // a page speaks by itself
	if !met {
		n = n.patient(&met)
	}
	text, err := ask(ctx, n, profile, running, strings.HasPrefix(args[0], "ws"))
	if err == nil && !met && ctx.Err() == nil {
		return "", runner.Explain(ctx, profile, running.BaseURL())
	}
	return text, err
}

// patient is a notebook that says nothing until the target has shown that it speaks the protocol, and then all at once: of one
// that does not, what was tried is of no use.
func (n notebook) patient(met *bool) notebook {
	say := n.say
	var waiting []string
	n.say = func(format string, args ...any) {
		if *met {
			say(format, args...)
			return
		}
		waiting = append(waiting, fmt.Sprintf(format, args...))
	}
	n.met = func() {
		if *met {
			return
		}
		*met = true
		for _, text := range waiting {
			say("%s", text)
		}
	}
	return n
}

// firstLook makes those limits that are the defaults the shorter ones of a first look: much is tried that a target need not have,
// one thing after the other, and no verdict hangs on what it leaves out.
func firstLook(l *target.Limits) {
	standard := target.DefaultLimits()
	for limit, is := range map[*target.Duration]struct {
		standard target.Duration
		shorter  time.Duration
	}{&l.Event: {standard.Event, 4 * time.Second}, &l.Turn: {standard.Turn, 10 * time.Second}, &l.HTTP: {standard.HTTP, 5 * time.Second}, &l.Open: {standard.Open, 5 * time.Second}} {
		if *limit == is.standard {
			limit.Duration = is.shorter
		}
	}
}

// profileOf is the default profile of what is at a URL, or of a page. The folder of a page is relative to the file that is written.
func (o initOptions) profileOf(name string) (*target.Profile, error) {
	switch page := target.IsPage(name); {
	case page && o.protocol != agentclient.Protocol:
		return nil, usagef("--protocol %s: %s is a page (leave --protocol out, or give the URL of a server)", o.protocol, name)
	case !page && o.protocol != agentclient.Protocol:
		return target.ForURLOf(o.protocol, name)
	}
	p, err := target.ForPage(name)
	if err != nil || p.AgentClient.Folder == "" {
		return p, err
	}
	out, err := filepath.Abs(o.out)
	if err != nil {
		return nil, err
	}
	p.Dir = filepath.Dir(out)
	if rel, err := filepath.Rel(p.Dir, p.AgentClient.Folder); err == nil {
		p.AgentClient.Folder = filepath.ToSlash(rel)
	}
	return p, nil
}

// initSpoken probes the orchestrator that a command starts, and gives the text of its profile.
func initSpoken(ctx context.Context, n notebook, command []string, o initOptions) (string, error) {
	p, out, here, err := started(command, o)
	if err != nil {
		return "", err
	}
	p.Drivers = []string{target.Stdio}
	running, err := target.NewLauncher(p).Launch(ctx, target.LaunchOptions{})
	if err != nil {
		return "", err
	}
	defer func() { _ = running.Stop(context.WithoutCancel(ctx)) }()
	probe := &busProbe{notebook: n, profile: p, run: running}
	probe.spoken(ctx)
	return busDraft(p, out, here, n.seen), nil
}

// started is the profile of what a command starts, which may be empty; where that is to be written; and where the command was
// given.
func started(command []string, o initOptions) (p *target.Profile, out, here string, err error) {
	if here, err = os.Getwd(); err != nil {
		return nil, "", "", err
	}
	if out, err = filepath.Abs(o.out); err != nil {
		return nil, "", "", err
	}
	p = target.DefaultFor(o.protocol)
	firstLook(&p.Limits)
	p.Dir = here
	if len(command) > 0 {
		p.Name = strings.TrimSuffix(filepath.Base(command[0]), filepath.Ext(command[0]))
		p.Command = &target.Command{Run: command, Stop: target.Duration{Duration: 2 * time.Second}}
	}
	return p, out, here, nil
}

// initAgent probes the agent that a command starts, and gives the text of its profile; without a command there is nothing to
// probe.
func initAgent(ctx context.Context, n notebook, command []string, o initOptions) (string, error) {
	p, out, here, err := started(command, o)
	if err != nil {
		return "", err
	}
	p.Role = externalagent.Agent
	if len(command) == 0 {
		p.Name = "my agent"
		p.ExternalAgent.Agent.Listen = "127.0.0.1:8080"
		return agentDraft(p, out, here, n.seen), nil
	}
	running, err := target.NewLauncher(p).Launch(ctx, target.LaunchOptions{})
	if err != nil {
		return "", err
	}
	defer func() { _ = running.Stop(context.WithoutCancel(ctx)) }()
	probe := &agentProbe{notebook: n, profile: p, run: running}
	if err := probe.all(ctx); err != nil {
		return "", err
	}
	return agentDraft(p, out, here, n.seen), nil
}

// probes ask a server everything, and give the text of its profile. exact: the URL says where the socket is.
var probes = map[string]func(ctx context.Context, n notebook, p *target.Profile, run target.Running, exact bool) (string, error){
	agentselect.Protocol: func(ctx context.Context, n notebook, profile *target.Profile, run target.Running, _ bool) (string, error) {
		p := &probe{notebook: n, profile: profile, run: run}
		p.all(ctx)
		return draft(p.profile, p.seen), nil
	},
	agentclient.Protocol: func(ctx context.Context, n notebook, profile *target.Profile, run target.Running, _ bool) (string, error) {
		d := browser.New(browser.Options{Command: profile.BrowserProgram()})
		defer d.Close()
		p := &pageProbe{notebook: n, profile: profile, base: run.BaseURL(), browser: d}
		if err := p.all(ctx); err != nil {
			return "", err
		}
		return pageDraft(profile, p.found, p.seen), nil
	},
	sessionchat.Protocol: func(ctx context.Context, n notebook, profile *target.Profile, run target.Running, exact bool) (string, error) {
		p := &chatProbe{notebook: n, profile: profile, run: run}
		return chatDraft(profile, p.all(ctx, exact), p.seen), nil
	},
	sessionruntime.Protocol: func(ctx context.Context, n notebook, profile *target.Profile, run target.Running, exact bool) (string, error) {
		p := &busProbe{notebook: n, profile: profile, run: run}
		p.all(ctx, exact)
		return busDraft(profile, "", "", p.seen), nil
	},
	externalagent.Protocol: func(ctx context.Context, n notebook, profile *target.Profile, run target.Running, exact bool) (string, error) {
		p := &bookingProbe{notebook: n, profile: profile, run: run}
		p.all(ctx, exact)
		return bookingDraft(profile, p.seen), nil
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
