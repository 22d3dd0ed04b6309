// Package doctor has the words in which a protocol says how a profile of one of its targets is examined before a run.
// A protocol that parley doctor is to know implements [Examinable]; package parley/doctor/examination examines.
//
// A [Guide] has a [Checkup] for each role of a target. A checkup is a list of items: keys of a profile, or parts of the
// protocol, that the suite depends on. An [Item] is examined in one of two ways:
//
//   - by a scenario of [Guide.Features] that has the item's tag. It takes the protocol's own steps, over the first
//     driver of the profile. Three more scenarios, tagged @preflight-1 to @preflight-3, are run over each driver,
//     and must take the steps by which the suite's own preflight shows how far a target comes;
//   - by a [Look], a function, where no scenario can show it.
//
// What is not declared, or does not work, is held against the scenarios of the suite: [Item.Needed] says which of them
// cannot be run without it, and so the doctor tells which clauses would not be tested.
//
// The package knows no protocol and does not import the runner, so that the packages of a protocol may import it.
package doctor

import (
	"context"
	"io/fs"
	"regexp"
	"slices"

	"parley/steps"
	"parley/target"
)

// Examinable is a protocol whose targets the doctor can examine. A steps.Protocol implements it beside its own methods.
type Examinable interface {
	// Doctor is what the doctor knows of the protocol.
	Doctor() Guide
}

// Guide is what the doctor knows of a protocol. It is read-only.
type Guide struct {
	// Checkups are what is looked at, by the role of the target.
	Checkups map[string]Checkup

	// Features has the doctor's scenarios, in the folder of the protocol's id. They do not belong to the suite: no run
	// has them, and they count in no digest. Each role has one scenario for each stage of the preflight, and one for each
	// tag of its items.
	Features fs.FS

	// About says in sentences what an examination does to a target, for the help of the command; "": nothing worth
	// telling.
	About string

	// Examples are command lines for the help of the command.
	Examples []string
}

// Of is the guide of a protocol; ok is false where it has none.
func Of(p steps.Protocol) (g Guide, ok bool) {
	e, ok := p.(Examinable)
	if !ok {
		return Guide{}, false
	}
	return e.Doctor(), true
}

// Checkup is what the doctor looks at in targets of one role.
type Checkup struct {
	// Items are looked at in this order: first those with a tag, in the order of their scenarios, then those with a Look.
	Items []Item

	// Advice is what to look at when a stage of the preflight fails, by its number: 1, 2 and 3.
	Advice map[int]string

	// Before looks at what must be there before the target is launched. An error ends the examination. It may be nil.
	Before func(ctx context.Context, e *Exam) error

	// First looks at the target before the scenarios are run. An error ends the examination. It may be nil.
	First func(ctx context.Context, e *Exam) error

	// Others gives the looks at items without a scenario, by their keys. It is called once the scenarios are done, where a
	// target of the protocol was met; end is called behind the last look. It may be nil.
	Others func(ctx context.Context, e *Exam) (looks map[string]Look, end func())
}

// Look looks at an item, and says in words what it saw. An error of type Wants says that it could not look; any other
// error, that the item does not work.
type Look func() (saw string, err error)

// Wants is the error of a Look that cannot look: what it lacks, as in "a connection".
type Wants string

func (w Wants) Error() string { return "it needs " + string(w) }

// Item is something that a profile may declare so that more can be tested, or a part of a protocol on which tests rest.
type Item struct {
	// Key names the item, by the key of the profile where there is one.
	Key string

	// Tag is that of its scenario among the doctor's features; "" where a Look looks at it.
	Tag string

	// Declared reports whether a profile has the item at all. What is not declared is not looked at.
	Declared func(p *target.Profile) bool

	// Needed says which scenarios of the suite cannot be run without it.
	Needed Need

	// After are the keys of items without which it cannot be looked at.
	After []string

	// Provoked reports whether a profile has another means for what the items in After are for. Nil: none has.
	Provoked func(p *target.Profile) bool

	// Causes are clauses that monitors judge, and that have nothing to judge without the item.
	Causes []string

	// CallsModel says that its scenario shows nothing unless the model stub was called: a target may have found another
	// model.
	CallsModel bool

	// Optional says that without it clauses are not applicable, rather than untested.
	Optional bool

	// Instead says that it stands in for another item, so that its absence is not told.
	Instead bool

	// Advice is what to look at when it fails.
	Advice string

	// Remark is added, in brackets, where it works; nil, or "" of it: nothing is.
	Remark func(p *target.Profile) string

	// Without is what its absence means where no scenario is lost by it; "": that no scenario needs it.
	Without string
}

// Need reports whether a scenario cannot be run against a profile's target without an item.
type Need func(s Scenario, p *target.Profile) bool

// Scenario is a scenario of the suite, as a Need sees it.
type Scenario struct {
	Tags  []string // each with its @
	Steps string   // their texts, a line each
}

// Takes is the need of scenarios that have a step which matches. In the pattern ^ and $ are the ends of a step.
func Takes(pattern string) Need {
	re := regexp.MustCompile(`(?m)` + pattern)
	return func(s Scenario, _ *target.Profile) bool { return re.MatchString(s.Steps) }
}

// OfTag is the need of scenarios with a tag.
func OfTag(tag string) Need {
	return func(s Scenario, _ *target.Profile) bool { return slices.Contains(s.Tags, tag) }
}

// AnyOf is the need of whatever has one of several needs.
func AnyOf(needs ...Need) Need {
	return func(s Scenario, p *target.Profile) bool {
		return slices.ContainsFunc(needs, func(need Need) bool { return need(s, p) })
	}
}

// Never is the need of nothing.
func Never(Scenario, *target.Profile) bool { return false }

// Always is for an Item that every profile has.
func Always(*target.Profile) bool { return true }

// Has is for an Item that is a capability.
func Has(capability string) func(*target.Profile) bool {
	return func(p *target.Profile) bool { return p.Has(capability) }
}

// Restartable is for an Item that depends on a restart of the target.
func Restartable(p *target.Profile) bool { return p.Command != nil || p.Hooks.Restart != "" }
