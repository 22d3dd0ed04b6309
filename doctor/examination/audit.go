package examination

import (
	"slices"
	"strings"

	"parley/doctor"
	"parley/monitor"
	"parley/runner"
	"parley/steps"
	"parley/target"
	"parley/verdict"
)

// provoked reports whether a profile has another means for what the items are for that one comes after.
func provoked(it doctor.Item, p *target.Profile) bool { return it.Provoked != nil && it.Provoked(p) }

// audit is the suite, held against what a profile has.
type audit struct {
	profile  *target.Profile
	ledger   *verdict.Ledger
	asked    []asked
	monitors []monitor.Monitor // those that judge targets of the profile's role
}

// asked is a scenario of the suite as the doctor sees it.
type asked struct {
	runner.Planned
	doctor.Scenario
}

// newAudit takes the scenarios that the profile's drivers would run, and that judge targets of its role.
func newAudit(profile *target.Profile, p steps.Protocol) (*audit, error) {
	a := &audit{profile: profile}
	var err error
	if a.ledger, err = steps.LedgerOf(p); err != nil {
		return nil, err
	}
	scenarios, err := runner.Scenarios(p.Features(), p)
	if err != nil {
		return nil, err
	}
	texts, err := runner.Steps(p.Features(), p)
	if err != nil {
		return nil, err
	}
	for _, pl := range scenarios {
		sseOnly, wsOnly := slices.Contains(pl.Tags, "@sse"), slices.Contains(pl.Tags, "@ws")
		switch {
		case sseOnly && !slices.Contains(profile.Drivers, target.SSE), wsOnly && !slices.Contains(profile.Drivers, target.WS):
		case len(steps.Roles(p)) > 1 && !slices.Contains(pl.Tags, "@"+profile.Role):
		default:
			a.asked = append(a.asked, asked{pl, doctor.Scenario{Tags: pl.Tags, Steps: strings.Join(texts[pl.ID], "\n")}})
		}
	}
	for _, m := range p.Monitors() {
		if m.For(profile.Role) {
			a.monitors = append(a.monitors, m)
		}
	}
	return a, nil
}

// monitored reports whether a monitor judges a clause.
func (a *audit) monitored(clause string) bool {
	return slices.ContainsFunc(a.monitors, func(m monitor.Monitor) bool { return slices.Contains(m.Clauses, clause) })
}

// lacks are the keys of those items that a scenario needs.
func (a *audit) lacks(sc asked, missing []doctor.Item) []string {
	var keys []string
	for _, it := range missing {
		if it.Needed(sc.Scenario, a.profile) {
			keys = append(keys, it.Key)
		}
	}
	return keys
}

// scenariosWithout counts the scenarios that would not run without an item.
func (a *audit) scenariosWithout(it doctor.Item) int {
	n := 0
	for _, sc := range a.asked {
		if it.Needed(sc.Scenario, a.profile) {
			n++
		}
	}
	return n
}

// lost is what would not be tested for want of the same items.
type lost struct {
	want    string // the items that the scenario which lacks least lacks
	clauses []string
}

// losses lists the clauses that nothing would judge while items are missing. A monitor judges whatever is run, but for
// what only an item causes.
func (a *audit) losses(missing []doctor.Item) []lost {
	var out []lost
	for _, row := range a.tested(missing) {
		want, lostAll := a.wanted(row.ID, missing)
		if !lostAll {
			continue
		}
		i := slices.IndexFunc(out, func(l lost) bool { return l.want == want })
		if i < 0 {
			i = len(out)
			out = append(out, lost{want: want})
		}
		out[i].clauses = append(out[i].clauses, row.ID)
	}
	slices.SortStableFunc(out, func(a, b lost) int { return len(b.clauses) - len(a.clauses) })
	return out
}

// wanted reports whether every scenario that judges a clause lacks something, and what the one lacks that lacks least.
func (a *audit) wanted(clause string, missing []doctor.Item) (want string, all bool) {
	var least []string
	for _, sc := range a.asked {
		if !slices.Contains(sc.Clauses, clause) {
			continue
		}
		lacks := a.lacks(sc, missing)
		if len(lacks) == 0 {
			return "", false
		}
		if least == nil || len(lacks) < len(least) {
			least = lacks
		}
	}
	return strings.Join(least, " + "), least != nil
}

// tested are the clauses that the suite tests, apart from those that inform: they are at most observed; and from those
// that monitors judge, unless only a missing item causes what they are about.
func (a *audit) tested(missing []doctor.Item) []verdict.Row {
	var out []verdict.Row
	for _, row := range a.ledger.Rows() {
		caused := slices.ContainsFunc(missing, func(it doctor.Item) bool { return slices.Contains(it.Causes, row.ID) })
		if row.Tested() && row.Level != verdict.Info && (caused || !a.monitored(row.ID)) {
			out = append(out, row)
		}
	}
	return out
}
