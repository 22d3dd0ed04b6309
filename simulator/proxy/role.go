package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/driver"
	"parley/monitor"
	"parley/simulator/gate"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	"parley/verdict"
)

// Side is a side of the traffic.
type Side = gate.Side

// The sides.
const (
	Client = gate.Client
	Server = gate.Server
)

// Role is a role in which one side is judged.
type Role struct {
	Name     string            // of the protocol
	Side     Side              // where its targets are
	Together bool              // all connections are judged together, else each alone
	Monitors []monitor.Monitor // that judge it
}

// Clauses returns the ids of the clauses that the role's monitors judge, sorted.
func (r Role) Clauses() []string {
	var all []string
	for _, m := range r.Monitors {
		all = append(all, m.Clauses...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// RolesOf returns the roles in which the traffic of a protocol can be judged: those named, or, for none, the first role
// of each side. The error names an unknown role.
func RolesOf(p steps.Protocol, named []string) ([]Role, error) {
	kind := p.Kind()
	var out []Role
	for _, name := range named {
		if !slices.Contains(kind.Roles, name) {
			return nil, fmt.Errorf("%s has no role %q", kind.Protocol, name)
		}
	}
	has := [2]bool{}
	for _, name := range kind.Roles {
		side, together := sideOf(kind, name)
		if len(named) > 0 && !slices.Contains(named, name) || len(named) == 0 && has[side] {
			continue
		}
		has[side] = true
		if a, ok := p.(steps.Apart); ok && a.Apart(name) {
			together = false
		}
		out = append(out, Role{Name: name, Side: side, Together: together, Monitors: steps.PassiveMonitorsOf(p, name)})
	}
	return out, nil
}

// sideOf returns the side of the targets of a role: a page, and whoever dials, is a client. Together: the connections
// belong to one target. Those of a page do, because its requests and its streams are connections apart.
func sideOf(kind target.Kind, role string) (side Side, together bool) {
	p := kind.New()
	p.Role = role
	switch {
	case p.Dials():
		return Client, false
	case slices.Equal(kind.Drivers, []string{target.Browser}):
		return Client, true
	}
	return Server, true
}

// role is a Role with what its tapes need.
type role struct {
	Role
	protocol steps.Protocol
	env      *steps.Env
	envs     map[string]*steps.Env // by the driver that would have recorded it
	base     string                // of the target
}

func newRole(r Role, o Options, ledger *verdict.Ledger, base string) *role {
	out := &role{Role: r, protocol: o.Protocol, base: base, envs: map[string]*steps.Env{}}
	profile := *o.Profile
	profile.Role = r.Name
	for _, name := range o.Protocol.Kind().Drivers {
		out.envs[name] = &steps.Env{Profile: &profile, Role: r.Name, Driver: unused(name), Ledger: ledger, Strict: o.Strict,
			Redact: transcript.NewRedactor()}
		if out.env == nil {
			out.env = out.envs[name]
		}
	}
	return out
}

// decoder returns a decoder of records, which has the state of one tape.
func (r *role) decoder() func(*transcript.Record) {
	by := map[string]func(*transcript.Record){}
	for name, env := range r.envs {
		by[name] = r.protocol.Bind(env, observed(r.base))
	}
	pick := func(names ...string) func(*transcript.Record) {
		for _, name := range names {
			if by[name] != nil {
				return by[name]
			}
		}
		return func(*transcript.Record) {}
	}
	frames := pick(target.WS, target.Stdio, target.SSE, target.Browser)
	others := pick(target.SSE, target.Browser, target.WS, target.Stdio)
	return func(rec *transcript.Record) {
		if rec.Kind == transcript.Frame {
			frames(rec)
			return
		}
		others(rec)
	}
}

// unused is a driver of which only the name counts.
type unused string

// Name implements driver.Driver.
func (u unused) Name() string { return string(u) }

// Open implements driver.Driver.
func (u unused) Open(context.Context, driver.OpenOptions, driver.Sink) (driver.Conn, error) {
	return nil, errors.New("the proxy opens no connection of its own")
}

// observed is a target.Running that the harness leaves alone. It is the target's base URL.
type observed string

// BaseURL implements target.Running.
func (o observed) BaseURL() string { return string(o) }

// Hook implements target.Running.
func (o observed) Hook(_ context.Context, name string, _ target.CustomAgent) error {
	return &target.NotDeclaredError{Key: "hooks." + name}
}

// ConfigBytes implements target.Running.
func (o observed) ConfigBytes() ([]byte, error) {
	return nil, &target.NotDeclaredError{Key: "configuration of a target behind the proxy"}
}

// Restart implements target.Running.
func (o observed) Restart(context.Context, bool) error {
	return &target.NotDeclaredError{Key: "way to restart a target behind the proxy"}
}

// Stderr implements target.Running.
func (o observed) Stderr() string { return "" }

// Stop implements target.Running.
func (o observed) Stop(context.Context) error { return nil }
