package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/faultrule"
	scripting "parley/internal/script"
	"parley/internal/words"
	"parley/reference-server/launch"
	"parley/reports"
	"parley/runner"
	"parley/simulator"
	"parley/simulator/console"
	"parley/simulator/counterpart"
	"parley/simulator/fault"
	"parley/simulator/proxy"
	"parley/simulator/schemas"
	"parley/simulator/scripts"
	"parley/steps"
	"parley/target"
)

// model is the party that is no party of a protocol: the model that a server calls.
const model = "model"

// playParty plays a party for parley simulate.
func playParty(ctx context.Context, o console.PlayOptions) (console.Player, error) {
	target := bundle.Find(o.Protocol)
	if target == nil {
		return nil, knownProtocols([]string{o.Protocol})
	}
	c := counterpart.Options{Protocol: o.Protocol, As: o.As, Listen: o.Listen, Connect: o.Connect, TypeOf: target.TypeOf,
		Mind: counterpart.Mind(o.Mind), Mutant: o.Mutant, Unreachable: o.Warn}
	var err error
	if o.As != model { // who calls a model speaks to it in another protocol
		if c.Steps, err = suite.Find(o.Protocol); err != nil {
			return nil, err
		}
	}
	if o.Script != "" {
		s, err := scriptOf(o.Protocol, o.As, o.Script)
		if err != nil {
			return nil, &console.Error{Status: 400, Text: err.Error()}
		}
		if c.Script = s; c.Mind == "" {
			c.Mind = counterpart.Script
		}
	}
	if o.Faults != "" {
		set, err := faultrule.Parse("faults", []byte(o.Faults))
		if err != nil {
			return nil, &console.Error{Status: 400, Text: err.Error()}
		}
		c.Faults = fault.New(set, target.TypeOf)
	}
	client, err := bundledParty(target, &c)
	if err != nil {
		return nil, &console.Error{Status: 400, Text: err.Error()}
	}
	if connects := client || c.Script != nil && c.Script.Client() != ""; c.Connect != "" && !connects {
		return nil, &console.Error{Status: 400, Text: "connect: the " + o.As +
			" listens and connects to nothing (leave it out, or name your own server as upstream)"}
	}
	if o.To != "" {
		if err := checkReplacement(&c, o.To, client); err != nil {
			return nil, &console.Error{Status: 400, Text: err.Error()}
		}
		return playBetween(ctx, c, o)
	}
	if client && c.Connect == "" {
		return nil, &console.Error{Status: 400, Text: "connect: the " + o.As + " connects to your program (give its URL)"}
	}
	return openPlay(ctx, c)
}

// openPlay opens a play, whose errors are those of the options apart from that of the address.
func openPlay(ctx context.Context, c counterpart.Options) (console.Player, error) {
	p, err := counterpart.Open(ctx, c)
	var address *net.OpError
	switch {
	case errors.As(err, &address):
		return nil, describeListenError("--listen", c.Listen, err)
	case err != nil:
		return nil, &console.Error{Status: 400, Text: err.Error()}
	}
	return console.Counterpart(p, func(text string) (*scripting.Script, error) {
		return scriptOf(c.Protocol, c.As, text)
	}), nil
}

// playBetween has a play stand before somebody's server, with both sides judged: the program by the play, which knows
// what faults leave in doubt.
func playBetween(ctx context.Context, c counterpart.Options, o console.PlayOptions) (console.Player, error) {
	p, err := suite.Find(c.Protocol)
	if err != nil {
		return nil, err
	}
	var roles []proxy.Role
	if c.Steps != nil {
		if roles, err = proxy.RolesOf(p, nil); err != nil {
			return nil, err
		}
	}
	servers := slices.DeleteFunc(roles, func(r proxy.Role) bool { return r.Side != proxy.Server || len(r.Monitors) == 0 })
	b := &between{found: o.Found, o: proxy.Options{Protocol: p, Profile: namesAt(p.Kind(), o.To), Roles: servers,
		Listen: o.Listen, To: o.To}}
	return b.openPlay(ctx, c)
}

// checkReplacement checks that somebody's server can answer in place of the bundled one.
func checkReplacement(c *counterpart.Options, to string, client bool) error {
	u, err := url.Parse(to)
	switch {
	case err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme):
		return fmt.Errorf("to: %q is not the URL of a server (write it like http://localhost:3000)", to)
	case client:
		return errors.New("to: the " + c.As + " is not a server (leave it out)")
	case c.Mutant != "":
		return errors.New("mutant: your own server has none (leave mutant or to out)")
	}
	return nil
}

// bundledParty has the bundled target answer, if there is one for the party, and reports whether the party is a client.
func bundledParty(target *launch.Target, c *counterpart.Options) (client bool, err error) {
	all := target.Parties()
	i := slices.IndexFunc(all, func(p launch.Party) bool { return p.As == c.As })
	if i < 0 {
		if known := partiesOf(target.Protocol); !slices.Contains(known, c.As) {
			return false, fmt.Errorf("%s has no party %q to play (%s)", target.Protocol, c.As,
				words.Suggest(c.As, known, "there are: "+strings.Join(known, ", ")))
		}
		if c.Script == nil {
			return false, errors.New("script: no bundled target plays the " + c.As + ", but a script does (name " +
				strings.Join(scriptsFor(c.Protocol, c.As), " or ") + ", or give your own)")
		}
		return c.Script.Client() != "", nil
	}
	party := all[i]
	c.Start = func(ctx context.Context, mutant, at string) (counterpart.Peer, error) {
		if ids := faultsOf(party); mutant != "" && !slices.Contains(ids, mutant) {
			return counterpart.Peer{}, fmt.Errorf("the %s of %s has no mutant %q%s", party.As, target.Protocol, mutant,
				suggestWord(mutant, ids, "parley mutants --list --protocol "+target.Protocol+" lists them"))
		}
		base, stop, err := party.Start(ctx, mutant, at)
		return counterpart.Peer{URL: base, Stop: stop}, err
	}
	return party.Client, nil
}

// faultsOf lists the mutants of a party.
func faultsOf(party launch.Party) (ids []string) {
	if party.Mutants == nil {
		return nil
	}
	for _, m := range party.Mutants() {
		ids = append(ids, m.ID)
	}
	return ids
}

// partiesOf lists the parties of a protocol that can be played: by a bundled target, or by a ready script.
func partiesOf(protocol string) []string {
	var out []string
	for _, p := range bundle.Find(protocol).Parties() {
		out = append(out, p.As)
	}
	for _, s := range scripts.List(protocol) {
		if !slices.Contains(out, s.As) {
			out = append(out, s.As)
		}
	}
	return out
}

// scriptsFor names the ready scripts of a party.
func scriptsFor(protocol, as string) (out []string) {
	for _, s := range scripts.List(protocol) {
		if s.As == as {
			out = append(out, s.Name)
		}
	}
	return out
}

// scriptOf reads a script for a party: the name of a ready one, or the text of one.
func scriptOf(protocol, as, text string) (*scripting.Script, error) {
	if strings.Contains(text, "\n") {
		return scripting.Parse("script", []byte(text))
	}
	if s, err := scripts.Get(protocol, text); err == nil {
		return s, nil
	}
	names := scriptsFor(protocol, as)
	otherwise := "there is none: write a file"
	if len(names) > 0 {
		otherwise = "there are " + strings.Join(names, ", ")
	}
	return nil, fmt.Errorf("there is no ready script %q of the %s of %s (%s)", text, as, protocol,
		words.Suggest(text, names, otherwise))
}

func offeredScripts(protocol string) ([]console.Script, error) {
	if err := knownProtocols(givenList(protocol)); err != nil {
		return nil, err
	}
	var out []console.Script
	for _, s := range scripts.List(protocol) {
		text, err := scripts.Text(s.Protocol, s.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, console.Script{Name: s.Name, Protocol: s.Protocol, As: s.As, Title: s.Title, Source: string(text)})
	}
	return out, nil
}

// offeredSchemas lists the schemas of a protocol's messages.
func offeredSchemas(protocol string) ([]console.Schema, error) {
	if err := knownProtocols(givenList(protocol)); err != nil {
		return nil, err
	}
	var out []console.Schema
	for _, s := range schemas.List(protocol) {
		out = append(out, console.Schema{Type: s.Type, From: s.From, Schema: s.Schema, Method: s.Method, Path: s.Path})
	}
	return out, nil
}

// typeOf returns the type of a message of a protocol.
func typeOf(protocol string, body []byte) string {
	if t := bundle.Find(protocol); t != nil {
		return t.TypeOf(body)
	}
	return ""
}

// consoleOptions are the options of the console: what it can open, and what it knows.
func (o simulateOptions) consoleOptions() console.Options {
	return console.Options{
		Program: program + " " + suite.Version,
		Hosts:   serverNames(o.addr), AnyHost: o.token != "", Exposed: o.remote || o.token != "" && o.cert != "",
		Open: func(ctx context.Context, t console.TestOptions) (*simulator.Session, error) {
			opts, err := o.testOptions(t)
			if err != nil {
				return nil, err
			}
			return simulator.Open(ctx, opts)
		},
		Run: func(ctx context.Context, t console.TestOptions, out string, tell runner.Observer) (*reports.Results, error) {
			opts, err := o.testOptions(t)
			if err != nil {
				return nil, err
			}
			if err := runner.PrepareOut(out); err != nil {
				return nil, err
			}
			opts.Out, opts.Observer, opts.Again = out, tell, program+" run"
			return runner.Run(ctx, opts)
		},
		Again: repeatClause,
		Play:  playParty, TypeOf: typeOf, Endpoints: endpointsAt, Scripts: offeredScripts, Schemas: offeredSchemas,
		Protocols: offeredProtocols, Clauses: offeredClauses, Mutants: offeredMutants,
	}
}

// endpointsAt returns where a program connects to a party of a protocol at a base URL: over each driver the place where
// such a party usually is. A model is at the base URL.
func endpointsAt(protocol, as, base string) []string {
	p, err := suite.Find(protocol)
	if err != nil || as == model {
		return []string{base}
	}
	return endpointsOf(p, p.Kind().New(), base)
}

// endpointsOf returns where clients connect to a server at a base URL, by its profile: over each driver the place that
// this names, or where such a server usually is.
func endpointsOf(p steps.Protocol, profile *target.Profile, base string) []string {
	rec, ok := p.(steps.Recognisable)
	if !ok {
		return []string{base}
	}
	var out []string
	seen := map[string]bool{}
	for _, place := range rec.UsualPlaces() {
		if seen[place.Driver] {
			continue
		}
		seen[place.Driver] = true
		at := base + cmp.Or(profile.PathOver(place.Driver), place.Path)
		if place.Driver == target.WS {
			at = "ws" + strings.TrimPrefix(at, "http")
		}
		out = append(out, at)
	}
	if len(out) == 0 {
		return []string{base}
	}
	return out
}

// testOptions are the options of a session with a target, which a request may have named. The request reaches files
// only below the working directory, besides the one that the command line names: a profile has commands.
func (o simulateOptions) testOptions(t console.TestOptions) (runner.Options, error) {
	u, err := url.Parse(t.Target)
	remote := err == nil && slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme)
	if t.Target != "" && t.Target != o.target && !remote && (strings.Contains(t.Target, ":") || !isInside(t.Target)) {
		return runner.Options{}, usagef("target: %s is neither a URL nor a file below the working directory "+
			"(start parley simulate with it)", t.Target)
	}
	return connectOptions{protocol: t.Protocol, role: t.Role, driver: t.Driver,
		strict: t.Strict}.sessionOptions(t.Target)
}

// isInside reports whether a path leads to a file below the working directory.
func isInside(name string) bool {
	if !filepath.IsLocal(name) {
		return false
	}
	here, err := filepath.EvalSymlinks(".")
	if err != nil {
		return false
	}
	there, err := filepath.EvalSymlinks(name)
	if err != nil { // it does not exist: opening it says so
		return true
	}
	rel, err := filepath.Rel(here, there)
	return err == nil && filepath.IsLocal(rel)
}

func offeredProtocols() []console.Protocol {
	var out []console.Protocol
	for _, k := range suite.Kinds() {
		one := console.Protocol{ID: k.Protocol, Roles: k.Roles, As: partiesOf(k.Protocol), Drivers: k.Drivers}
		for _, as := range one.As {
			client, scripted := actsAs(k.Protocol, as)
			if client {
				one.Clients = append(one.Clients, as)
			}
			if scripted {
				one.Scripts = append(one.Scripts, as)
			}
		}
		out = append(out, one)
	}
	return out
}

// actsAs reports whether a party connects to the program, and whether only a script plays it.
func actsAs(protocol, as string) (client, scripted bool) {
	all := bundle.Find(protocol).Parties()
	if i := slices.IndexFunc(all, func(p launch.Party) bool { return p.As == as }); i >= 0 {
		return all[i].Client, false
	}
	for _, name := range scriptsFor(protocol, as) {
		if s, err := scripts.Get(protocol, name); err == nil {
			return s.Client() != "", true
		}
	}
	return false, true
}

// offeredClauses lists the clauses of a protocol; "" stands for all protocols.
func offeredClauses(protocol string) ([]console.Clause, error) {
	books, err := namedOrAll(protocol)
	if err != nil {
		return nil, err
	}
	var out []console.Clause
	for _, p := range books {
		ledger, err := steps.LedgerOf(p)
		if err != nil {
			return nil, err
		}
		for _, r := range ledger.Rows() {
			out = append(out, console.Clause{ID: r.ID, Level: string(r.Level), Section: r.Section, Text: r.Text,
				Source: r.Source, Status: r.Status, Reason: r.Reason})
		}
	}
	return out, nil
}

// namedOrAll returns the named protocol, or all.
func namedOrAll(protocol string) ([]steps.Protocol, error) {
	if err := knownProtocols(givenList(protocol)); err != nil {
		return nil, err
	}
	var out []steps.Protocol
	for _, name := range suite.Names() {
		if protocol != "" && name != protocol {
			continue
		}
		p, err := suite.Find(name)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// offeredMutants lists the mutants of a protocol and role, "" for all, in which each word of q stands.
func offeredMutants(protocol, role, q string) ([]console.Mutant, error) {
	ps, err := namedOrAll(protocol)
	if err != nil {
		return nil, err
	}
	var out []console.Mutant
	words := strings.Fields(strings.ToLower(q))
	for _, p := range ps {
		for _, r := range steps.Roles(p) {
			if role != "" && r != role {
				continue
			}
			for _, m := range bundle.Mutants(suite.Kinds(), steps.Name(p), r) {
				text := strings.ToLower(m.ID + " " + m.Why + " " + strings.Join(m.Clauses, " "))
				if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
					out = append(out, console.Mutant{ID: m.ID, Role: r, Why: m.Why, Clauses: append([]string{}, m.Clauses...)})
				}
			}
		}
	}
	return out, nil
}
