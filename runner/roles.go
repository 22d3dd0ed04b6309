package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/steps"
)

// roleOf settles the role of a run's target.
func roleOf(p steps.Protocol, o Options) (string, error) {
	known := steps.Roles(p)
	role := cmp.Or(o.Role, o.Profile.Role, known[0])
	if !slices.Contains(known, role) {
		return "", &UsageError{Msg: fmt.Sprintf("%s has no role %q (known: %s)", steps.Name(p), role,
			strings.Join(known, ", "))}
	}
	return role, nil
}

// isJudged reports whether a clause is judged of targets of the run's role.
func (r *run) isJudged(id string) bool {
	return len(steps.Roles(r.protocol)) == 1 || slices.Contains(r.concerned[id], r.role)
}

// roleName stands in the names of transcripts before the scenario's id: that of the role, where there are several.
func (r *run) roleName() string {
	if len(steps.Roles(r.protocol)) == 1 {
		return ""
	}
	return r.role + "-"
}

// forRole leaves the scenarios that judge targets of a role.
func forRole(p steps.Protocol, role string, all []Planned) []Planned {
	if len(steps.Roles(p)) == 1 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(pl Planned) bool { return !pl.has("@" + role) })
}

// concerned tells of each clause which roles of targets it is judged of.
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
