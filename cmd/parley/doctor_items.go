package main

import (
	"regexp"
	"slices"
	"strings"

	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// item is something that a profile may declare, so that more can be tested.
type item struct {
	key      string // of the profile
	tag      string // of its scenario in the doctor's own feature; "" where it is looked at otherwise
	declared func(*target.Profile) bool
	needed   func(asked, *target.Profile) bool // whether a scenario of the suite cannot be run without it
	after    []string                          // keys of items without which it cannot be looked at
	optional bool                              // without it clauses are not applicable, and not untested
	instead  bool                              // it stands in for another item, so its absence is not worth telling
	look     string                            // what to look at when it fails
	without  string                            // what its absence means where no scenario is lost by it; "" says just that
}

// asked is a scenario of the suite as the doctor sees it.
type asked struct {
	runner.Planned
	steps string // their texts, a line each
}

// takes makes the need of an item from the steps that cannot be taken without it.
func takes(pattern string) func(asked, *target.Profile) bool {
	re := regexp.MustCompile(`(?m)` + pattern)
	return func(a asked, _ *target.Profile) bool { return re.MatchString(a.steps) }
}

// unlessProvoked is takes for steps that a plain message of the profile can stand in for.
func unlessProvoked(pattern string, message func(target.Provoke) string) func(asked, *target.Profile) bool {
	steps := takes(pattern)
	return func(a asked, p *target.Profile) bool { return message(p.Provoke) == "" && steps(a, p) }
}

// ofTag makes the need of an item from a tag of the scenarios that cannot be run without it.
func ofTag(tag string) func(asked, *target.Profile) bool {
	return func(a asked, _ *target.Profile) bool { return slices.Contains(a.Tags, tag) }
}

func anyOf(needs ...func(asked, *target.Profile) bool) func(asked, *target.Profile) bool {
	return func(a asked, p *target.Profile) bool {
		return slices.ContainsFunc(needs, func(need func(asked, *target.Profile) bool) bool { return need(a, p) })
	}
}

func has(capability string) func(*target.Profile) bool {
	return func(p *target.Profile) bool { return p.Has(capability) }
}

// provokes tells whether plain messages stand in for the model stub in what an item is about.
func (it item) provokes(p *target.Profile) bool {
	return it.key == "tools.confirm" && p.Provoke.PendingConfirmation != "" || it.key == "tools.ask" && p.Provoke.PendingQuestion != ""
}

// audit is the suite, held against what a profile has.
type audit struct {
	profile *target.Profile
	book    *book
	asked   []asked
}

// newAudit takes the scenarios that the profile's drivers would run, and that judge targets of its role.
func newAudit(p *target.Profile, b *book, steps map[string][]string) *audit {
	a := &audit{profile: p, book: b.narrowed([]string{p.Role})}
	for _, pl := range a.book.scenarios {
		sseOnly, wsOnly := slices.Contains(pl.Tags, "@sse"), slices.Contains(pl.Tags, "@ws")
		if sseOnly && !slices.Contains(p.Drivers, target.SSE) || wsOnly && !slices.Contains(p.Drivers, target.WS) {
			continue
		}
		a.asked = append(a.asked, asked{pl, strings.Join(steps[pl.ID], "\n")})
	}
	return a
}

// lacks are the keys of those items that a scenario needs.
func (a *audit) lacks(sc asked, missing []item) []string {
	var keys []string
	for _, it := range missing {
		if it.needed(sc, a.profile) {
			keys = append(keys, it.key)
		}
	}
	return keys
}

// scenariosWithout counts the scenarios that would not run without an item.
func (a *audit) scenariosWithout(it item) int {
	n := 0
	for _, sc := range a.asked {
		if it.needed(sc, a.profile) {
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

// losses lists the clauses that nothing would judge while items are missing. A monitor judges whatever is run.
func (a *audit) losses(missing []item) []lost {
	var out []lost
	for _, row := range a.tested() {
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

// wanted tells whether every scenario that judges a clause lacks something, and what the one lacks that lacks least.
func (a *audit) wanted(clause string, missing []item) (want string, all bool) {
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

// tested are the clauses that the suite tests, apart from those that monitors judge, and from those that inform: they are at most observed.
func (a *audit) tested() []verdict.Row {
	var out []verdict.Row
	for _, row := range a.book.ledger.Rows() {
		if row.Tested() && row.Level != verdict.Info && len(a.book.monitorsOf(row.ID)) == 0 {
			out = append(out, row)
		}
	}
	return out
}
