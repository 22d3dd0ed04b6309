package proxy

import (
	"fmt"
	"slices"

	"parley/features/verdict"
	"parley/simulator/gate"
	"parley/steps"
	"parley/steps/monitor"
	"parley/target"
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
	Side     Side              // the side of its targets
	Together bool              // all connections are judged together, else each separately
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

// sideOf returns the side of the targets of a role: a page, like any target that dials, is a client. together: the
// connections belong to one target. Those of a page do, because its requests and its streams are separate connections.
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

// role is a Role with the data that its tapes need.
type role struct {
	Role
	*Codec
}

func newRole(r Role, o Options, ledger *verdict.Ledger, base string) *role {
	profile := *o.Profile
	profile.Role = r.Name
	return &role{Role: r, Codec: newCodec(o.Protocol, &profile, ledger, o.Strict, base)}
}
