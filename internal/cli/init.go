package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parley/internal/jsonform"
	"parley/internal/words"
	"parley/runner"
	"parley/steps"
	"parley/steps/probe"
	"parley/target"
)

// initOptions are the flags of parley init.
type initOptions struct {
	protocol, role, out string
	language            string
	force, schema       bool
	link                linkOptions
	command             bool // the arguments are a command, not a URL
}

func initCommand(s *streams) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:     initUse(),
		Short:   "Probe a server, page or agent, and write its profile",
		Long:    initLong(),
		Example: initExamples(),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := parseLang(o.language)
			if err != nil {
				return err
			}
			s := s.printedIn(l)
			o.command = c.ArgsLenAtDash() == 0
			if o.schema {
				return writeProfileSchema(args, s.Out)
			}
			if len(args) == 1 && !o.command {
				args[0] = asURL(args[0])
			}
			if len(args) == 1 && o.protocol == "" {
				if kind, isPage := suite.Kinds().OfPage(args[0]); isPage {
					o.protocol = kind.Protocol // a page's protocol is not that of servers
				}
			}
			return runInit(c.Context(), args, o, s)
		},
	}
	protocols := "`PROTOCOL` that the server speaks, instead of the detected one"
	for _, kind := range suite.Kinds() {
		if kind.ForPage != nil {
			protocols += "; of a folder or an .html file " + kind.Protocol
		}
	}
	c.Flags().StringVar(&o.protocol, "protocol", "", protocols)
	c.Flags().StringVar(&o.role, "role", "", "`ROLE` of the target if it is an agent; that of a server is detected")
	c.Flags().StringVarP(&o.out, "output", "o", usualProfile, "`FILE` to write")
	declareLangOf(c.Flags(), &o.language, "what is found: en or zh; the profile and errors are in English")
	o.link.declareFlags(c.Flags())
	c.Flags().BoolVar(&o.force, "force", false, "overwrite the file")
	c.Flags().BoolVar(&o.schema, "schema", false, "print the JSON Schema of profiles, for editors, and probe nothing")
	return c
}

// initUse shows what init takes: a URL, a command, or another argument that a protocol defines.
func initUse() string {
	use := "init URL"
	if slices.ContainsFunc(suite.Kinds(), func(k target.Kind) bool { return k.ForPage != nil }) {
		use += "|FOLDER"
	}
	for _, kind := range suite.Kinds() {
		if slices.Contains(kind.Drivers, target.Stdio) {
			use += " | init --protocol " + kind.Protocol + " -- COMMAND…"
		}
	}
	for _, kind := range suite.Kinds() {
		for _, role := range kind.Roles {
			if slices.Contains(kind.Dials, role) {
				use += " | init --role " + role + " -- COMMAND…"
			}
		}
	}
	return use
}

// initLong is the help of init: a general paragraph, and what each protocol says of its probe.
func initLong() string {
	parts := []string{`Probe a running server and write a profile of it. Without --protocol, init looks at the usual places
of every protocol, and prints a line about each. Each finding stands beside the observation that led to it;
what cannot be observed from outside is written as comments to fill in.

Exit codes: 0 the profile is written · 2 wrong usage, or several protocols fit (choose by --protocol) · 3 nothing is
written, and one line says why: nobody listens, no protocol is recognised, the server wants credentials or another
certificate, or it does not answer (known after 7 seconds).`}
	for _, guide := range probeGuides() {
		parts = append(parts, guide.Text)
	}
	return strings.Join(parts, "\n\n")
}

// initExamples returns the examples of all protocols.
func initExamples() string {
	var lines []string
	for _, guide := range probeGuides() {
		for _, line := range guide.Examples {
			lines = append(lines, "  "+line)
		}
	}
	return strings.Join(lines, "\n")
}

// probeGuides returns what the protocols say of their probes, in the order of the suite.
func probeGuides() []probe.Guide {
	var all []probe.Guide
	for _, p := range suite.All {
		if probing, ok := p.(probe.Probing); ok {
			all = append(all, probing.Init())
		}
	}
	return all
}

// runInit probes a target and writes what it found.
func runInit(ctx context.Context, args []string, o initOptions, s *streams) error {
	seek := o.protocol == "" && o.role == "" && len(args) == 1 && (!o.command || strings.Contains(args[0], "://")) &&
		len(suite.All) > 1
	if o.protocol == "" {
		o.protocol = o.onlyProtocol()
	}
	if err := o.rejectExisting(); err != nil && seek {
		return err
	}
	if seek {
		var err error
		if o.protocol, args[0], err = o.link.findProtocol(ctx, args[0], s); err != nil {
			return interruptedOr(ctx, err)
		}
	}
	protocol, err := suite.Find(o.protocol)
	if err != nil {
		return knownProtocols([]string{o.protocol})
	}
	given, err := o.givenTarget(protocol, args)
	if err != nil {
		return err
	}
	if err := o.rejectExisting(); err != nil {
		return err
	}
	given.Prepare, given.Head = o.link.applyTo, o.link.profileLines(o.out)
	given.Say = func(text string) { fmt.Fprintln(s.Err, escapeControl(text)) }
	given.Recognise = func(ctx context.Context, p *target.Profile, base string) error {
		return runner.Recognise(ctx, suite, p, base)
	}
	given.Explain = func(ctx context.Context, p *target.Profile, base string) error {
		return runner.Explain(ctx, suite, p, base)
	}
	text, err := probe.Profile(ctx, given)
	if err != nil || ctx.Err() != nil {
		return interruptedOr(ctx, err)
	}
	if err := writeProfile(o, text); err != nil {
		return err
	}
	named := ""
	if folder := folders[o.protocol]; folder != "" {
		named = "--protocol " + folder + " "
	}
	_, err = fmt.Fprintf(s.Out, "%s is written; next: parley doctor %s--target %s\n", o.out, named, shellWord(o.out))
	return err
}

// rejectExisting rejects a file that exists.
func (o initOptions) rejectExisting() error {
	if _, err := os.Stat(o.out); err == nil && !o.force {
		return usagef("--output: %s exists (name another file, or overwrite it with --force)", o.out)
	}
	return nil
}

// interruptedOr returns an error, or that of an interrupt if there was one.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Canceled
	}
	return err
}

// givenTarget interprets what to probe: a URL, a page, a command, or nothing if the target connects by itself.
func (o initOptions) givenTarget(protocol steps.Protocol, args []string) (probe.Options, error) {
	kind := protocol.Kind()
	p := probe.Options{Protocol: protocol, File: o.out}
	role, err := oneRole(o.protocol, givenList(o.role))
	switch _, probing := protocol.(probe.Probing); {
	case err != nil:
		return p, err
	case role != "" && !slices.Contains(kind.Dials, role):
		return p, usagef("--role %s: init detects the role of a server (leave it out)", role)
	case role == "" && !o.isPipeCommand(kind, args) && len(args) == 0:
		return p, usagef("init: no server given (%s)", wantedArgument(kind))
	case role == "" && o.command && !o.isPipeCommand(kind, args):
		return p, usagef("init: whose command is after --? (%s)", rolesOfCommands())
	case role == "" && !o.isPipeCommand(kind, args) && len(args) > 1:
		return p, usagef("init: one server is probed, but %d arguments are given (%s)", len(args), wantedArgument(kind))
	case !probing:
		return p, usagef("--protocol %s: init has no probe for it (write the profile by hand)", o.protocol)
	case (role != "" || o.isPipeCommand(kind, args)) && o.link.firstGiven() != "":
		return p, usagef("%s: init opens no connection to such a target (leave it out)", o.link.firstGiven())
	case role != "" || o.isPipeCommand(kind, args):
		p.Role, p.Command = role, args
		if server := bundle.For(suite.Kinds(), o.protocol, ""); server != nil {
			p.Counterpart = server.Launcher
		}
		return p, nil
	}
	p.URL = args[0]
	if _, isPage := suite.Kinds().OfPage(p.URL); isPage && kind.ForPage == nil {
		return p, usagef("--protocol %s: %s is a page (leave --protocol out, or give the URL of a server)", o.protocol, p.URL)
	}
	return p, nil
}

// rolesOfCommands says which flags a command after -- needs.
func rolesOfCommands() string {
	var ways []string
	for _, kind := range suite.Kinds() {
		if slices.Contains(kind.Drivers, target.Stdio) {
			ways = append(ways, "--protocol "+kind.Protocol+" for one that speaks over stdin and stdout")
		}
		for _, role := range kind.Roles {
			if slices.Contains(kind.Dials, role) {
				ways = append(ways, "--protocol "+kind.Protocol+" --role "+role+" for one that connects to the harness")
			}
		}
	}
	return "give " + words.Either(ways)
}

// wantedArgument says which argument a probe needs.
func wantedArgument(kind target.Kind) string {
	switch {
	case kind.ForPage != nil:
		return "give one page: a URL, a folder or a file, such as parley init ./dist"
	case slices.Contains(kind.Drivers, target.Stdio):
		return "give one URL, such as parley init http://localhost:3000; or, after --, the command of one that speaks over " +
			"stdin and stdout"
	}
	return "give one URL, such as parley init http://localhost:3000"
}

// isPipeCommand reports whether the arguments are the command of a target that uses stdin and stdout.
func (o initOptions) isPipeCommand(kind target.Kind, args []string) bool {
	return o.command && slices.Contains(kind.Drivers, target.Stdio) && len(args) > 0 && !strings.Contains(args[0], "://")
}

// writeProfile writes a profile after checking that it can be read.
func writeProfile(o initOptions, text string) error {
	set := func(string) (string, bool) { return "set", true } // only the file is checked, not today's environment
	if _, err := suite.Kinds().Parse([]byte(text), o.out, set); err != nil {
		return fmt.Errorf("the findings do not make a valid profile: %v\n%s", err, text)
	}
	write := func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	if o.force {
		if err := writeFile(o.out, write); err != nil {
			return usagef("--output: %v", err)
		}
		return nil
	}
	f, err := os.OpenFile(o.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // fails if the file exists by now
	if err != nil {
		return usagef("--output: %v", err)
	}
	return errors.Join(write(f), f.Close())
}

// onlyProtocol returns the protocol of what needs no look, because only one protocol has such targets: a command, a
// role. It is the first protocol if there are several.
func (o initOptions) onlyProtocol() string {
	var fit []string
	for _, kind := range suite.Kinds() {
		if o.role != "" && slices.Contains(kind.Roles, o.role) && slices.Contains(kind.Dials, o.role) ||
			o.role == "" && o.command && slices.Contains(kind.Drivers, target.Stdio) {
			fit = append(fit, kind.Protocol)
		}
	}
	if len(fit) == 1 {
		return fit[0]
	}
	return suite.Kinds()[0].Protocol
}

// writeProfileSchema prints the JSON Schema of profiles.
func writeProfileSchema(args []string, w io.Writer) error {
	if len(args) > 0 {
		return usagef("init: --schema probes nothing, found %q (leave it out)", args[0])
	}
	return jsonform.WriteLine(w, suite.Kinds().Schema(), json.Deterministic(true), jsontext.WithIndent(" "))
}
