package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/steps"
)

// roleOf determines the role of a run's target.
func roleOf(p steps.Protocol, o Options) (string, error) {
	known := steps.Roles(p)
	role := cmp.Or(o.Role, o.Profile.Role, known[0])
	if !slices.Contains(known, role) {
		return "", &UsageError{Msg: fmt.Sprintf("%s has no role %q (known: %s)", steps.Name(p), role,
			strings.Join(known, ", "))}
	}
	return role, nil
}

// isJudged reports whether a clause applies to targets of the run's role.
func (r *run) isJudged(id string) bool {
	return len(steps.Roles(r.protocol)) == 1 || slices.Contains(r.concerned[id], r.role)
}

// roleName is the prefix of scenario ids in transcript names: the role, if the protocol has several.
func (r *run) roleName() string {
	if len(steps.Roles(r.protocol)) == 1 {
		return ""
	}
	return r.role + "-"
}

// forRole returns the scenarios that apply to targets of a role.
func forRole(p steps.Protocol, role string, all []Planned) []Planned {
	if len(steps.Roles(p)) == 1 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(pl Planned) bool { return !pl.has("@" + role) })
}

// concerned returns for each clause the roles of the targets to which it applies.
func concerned(p steps.Protocol, all []Planned) map[string][]string {
	out := map[string][]string{}
	for _, role := range steps.Roles(p) {
		of := map[string]bool{}
		for _, pl := range forRole(p, role, all) {
			for _, id := range pl.Clauses {
				of[id] = true
			}
		}
		for _, m := range p.Monitors() {
			if !m.For(role) {
				continue
			}
			for _, id := range m.Clauses {
				of[id] = true
			}
		}
		for id := range of {
			out[id] = append(out[id], role)
		}
	}
	return out
}
