package examination

import (
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/runner"
	"parley/steps"
	"parley/steps/doctor"
	"parley/steps/monitor"
	"parley/target"
)

// hasSubstitute reports whether a profile has a substitute for the items that it depends on.
func hasSubstitute(it doctor.Item, p *target.Profile) bool {
	return it.Provoked != nil && it.Provoked(p)
}

// audit compares the suite with what a profile declares.
type audit struct {
	profile   *target.Profile
	ledger    *verdict.Ledger
	scenarios []suiteScenario
	monitors  []monitor.Monitor // those that judge targets of the profile's role
}

// suiteScenario is a scenario of the suite as the doctor sees it.
type suiteScenario struct {
	runner.Planned
	doctor.Scenario
}

// newAudit selects the scenarios that the profile's drivers would run and that judge targets of its role.
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
			lines := strings.Join(texts[pl.ID], "\n")
			a.scenarios = append(a.scenarios, suiteScenario{pl, doctor.Scenario{Tags: pl.Tags, Steps: lines}})
		}
	}
	for _, m := range p.Monitors() {
		if m.For(profile.Role) {
			a.monitors = append(a.monitors, m)
		}
	}
	return a, nil
}

// isMonitored reports whether a monitor judges a clause.
func (a *audit) isMonitored(clause string) bool {
	return slices.ContainsFunc(a.monitors, func(m monitor.Monitor) bool { return slices.Contains(m.Clauses, clause) })
}

// missingKeys returns the keys of the missing items that a scenario needs.
func (a *audit) missingKeys(sc suiteScenario, missing []doctor.Item) []string {
	var keys []string
	for _, it := range missing {
		if it.Needed(sc.Scenario, a.profile) {
			keys = append(keys, it.Key)
		}
	}
	return keys
}

// scenariosWithout counts the scenarios that could not run without an item.
func (a *audit) scenariosWithout(it doctor.Item) int {
	n := 0
	for _, sc := range a.scenarios {
		if it.Needed(sc.Scenario, a.profile) {
			n++
		}
	}
	return n
}

// lost is a group of clauses that would not be tested because the same items are missing.
type lost struct {
	want    string // the items missing for the scenario that lacks the fewest
	clauses []string
}

// listLosses lists the clauses that nothing would judge while items are missing. Monitors judge any run, except for
// clauses that only a missing item can cause.
func (a *audit) listLosses(missing []doctor.Item) []lost {
	var out []lost
	for _, row := range a.testedClauses(missing) {
		want, lostAll := a.wantedItems(row.ID, missing)
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

// wantedItems reports whether every scenario that judges a clause lacks items, and which items are missing for the
// scenario that lacks the fewest.
func (a *audit) wantedItems(clause string, missing []doctor.Item) (want string, all bool) {
	var least []string
	for _, sc := range a.scenarios {
		if !slices.Contains(sc.Clauses, clause) {
			continue
		}
		lacks := a.missingKeys(sc, missing)
		if len(lacks) == 0 {
			return "", false
		}
		if least == nil || len(lacks) < len(least) {
			least = lacks
		}
	}
	return strings.Join(least, " + "), least != nil
}

// testedClauses returns the clauses that the suite tests. It omits informational clauses, which are at most observed,
// and clauses judged by monitors unless they depend on a missing item.
func (a *audit) testedClauses(missing []doctor.Item) []verdict.Row {
	var out []verdict.Row
	for _, row := range a.ledger.Rows() {
		caused := slices.ContainsFunc(missing, func(it doctor.Item) bool { return slices.Contains(it.Causes, row.ID) })
		if row.Tested() && row.Level != verdict.Info && (caused || !a.isMonitored(row.ID)) {
			out = append(out, row)
		}
	}
	return out
}
