package cli

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"parley/reports"
	"parley/runner"
	"parley/simulator"
	"parley/simulator/console"
	"parley/steps"
)

// console are the options of the console: what it can open, and what it knows.
func (o simulateOptions) console() console.Options {
	return console.Options{
		Hosts: names(o.addr), AnyHost: o.token != "", Exposed: o.insecure || o.token != "" && o.cert != "",
		Open: func(ctx context.Context, t console.TestOptions) (*simulator.Session, error) {
			opts, err := o.testing(t)
			if err != nil {
				return nil, err
			}
			return simulator.Open(ctx, opts)
		},
		Run: func(ctx context.Context, t console.TestOptions, out string, tell runner.Observer) (*reports.Results, error) {
			opts, err := o.testing(t)
			if err != nil {
				return nil, err
			}
			if err := runner.PrepareOut(out); err != nil {
				return nil, err
			}
			opts.Out, opts.Observer, opts.Again = out, tell, program+" run"
			return runner.Run(ctx, opts)
		},
		Play: playParty, TypeOf: typeOf, Scripts: offeredScripts, Schemas: offeredSchemas,
		Protocols: offeredProtocols, Clauses: offeredClauses, Mutants: offeredMutants,
	}
}

// testing are the options of a session with a target, which a request may have named. The request reaches files only
// below the working directory, besides the one that the command line names: a profile has commands.
func (o simulateOptions) testing(t console.TestOptions) (runner.Options, error) {
	u, err := url.Parse(t.Target)
	remote := err == nil && slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme)
	if t.Target != "" && t.Target != o.target && !remote && (strings.Contains(t.Target, ":") || !inside(t.Target)) {
		return runner.Options{}, usagef("target: %s is neither a URL nor a file below the working directory "+
			"(name it by parley simulate --target)", t.Target)
	}
	return connectOptions{protocol: t.Protocol, role: t.Role, driver: t.Driver, strict: t.Strict}.session(t.Target)
}

// inside reports whether a path leads to a file below the working directory.
func inside(name string) bool {
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
		out = append(out, console.Protocol{ID: k.Protocol, Roles: k.Roles, As: partiesOf(k.Protocol), Drivers: k.Drivers})
	}
	return out
}

// offeredClauses lists the clauses of a protocol; "" stands for all protocols.
func offeredClauses(protocol string) ([]console.Clause, error) {
	books, err := offered(protocol)
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

// offered returns the named protocol, or all.
func offered(protocol string) ([]steps.Protocol, error) {
	if err := knownProtocols(given(protocol)); err != nil {
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
	ps, err := offered(protocol)
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
