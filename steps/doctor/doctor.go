// Package doctor defines how a protocol describes the examination of a target's profile before a run. A protocol that
// parley doctor supports implements [Examinable]; package parley/runner/examination runs the examination.
//
// A [Guide] has a [Checkup] for each role of a target. A checkup is a list of items: profile keys or parts of the
// protocol that the suite depends on. An [Item] is examined in one of two ways:
//
//   - by a scenario of [Guide.Features] with the item's tag. It uses the protocol's own steps, over the profile's
//     first driver. Three more scenarios, tagged @preflight-1 to @preflight-3, run over each driver. They must use
//     the steps of the suite's own preflight stages;
//   - by a [Look], a function, where no scenario can examine it.
//
// An item that is not declared, or does not work, is checked against the suite's scenarios: [Item.Needed] says which
// scenarios cannot run without it. From this the doctor reports which clauses would not be tested.
//
// The package knows no protocol and does not import the runner, so that protocol packages can import it.
package doctor

import (
	"context"
	"io/fs"
	"regexp"
	"slices"

	"parley/steps"
	"parley/target"
)

// Examinable is a protocol whose targets the doctor can examine. It extends steps.Protocol.
type Examinable interface {
	// Doctor returns the protocol's guide.
	Doctor() Guide
}

// Guide describes how targets of a protocol are examined. It is read-only.
type Guide struct {
	// Checkups are the checkups by role of the target.
	Checkups map[string]Checkup

	// Features has the doctor's scenarios, in a folder named after the protocol's id. They are not part of the suite: no
	// run includes them, and no digest covers them. Each role has one scenario per preflight stage and one per item tag.
	Features fs.FS

	// About describes in sentences what an examination does to a target, for the command's help. It may be empty.
	About string

	// Examples are command lines for the command's help.
	Examples []string
}

// Of returns the guide of a protocol; ok is false if it has none.
func Of(p steps.Protocol) (g Guide, ok bool) {
	e, ok := p.(Examinable)
	if !ok {
		return Guide{}, false
	}
	return e.Doctor(), true
}

// Checkup is what the doctor examines in targets of one role.
type Checkup struct {
	// Items are examined in this order: first those with a tag, in scenario order, then those with a Look.
	Items []Item

	// Advice says what to check when a preflight stage fails, by stage number: 1, 2 and 3.
	Advice map[int]string

	// Before checks the prerequisites of launching the target. An error ends the examination. It may be nil.
	Before func(ctx context.Context, e *Exam) error

	// First examines the target before the scenarios run. An error ends the examination. It may be nil.
	First func(ctx context.Context, e *Exam) error

	// Others returns the looks for items without a scenario, by item key. It is called after the scenarios, if the target
	// speaks the protocol; end is called after the last look. It may be nil.
	Others func(ctx context.Context, e *Exam) (looks map[string]Look, end func())
}

// Look examines an item and describes what it saw. An error of type Wants means that the item could not be examined;
// any other error means that it does not work.
type Look func() (saw string, err error)

// Wants is the error of a Look that could not run. It names what is missing, as in "a connection".
type Wants string

func (w Wants) Error() string { return "it needs " + string(w) }

// Item is something a profile may declare so that more can be tested, or a part of a protocol that tests depend on.
type Item struct {
	// Key names the item: the profile key, if there is one.
	Key string

	// Tag is the tag of the item's scenario in the doctor's features; "" if a Look examines it.
	Tag string

	// Declared reports whether a profile declares the item. Undeclared items are not examined.
	Declared func(p *target.Profile) bool

	// Needed reports which scenarios of the suite cannot run without the item.
	Needed Need

	// After has the keys of the items that this item depends on.
	After []string

	// Provoked reports whether a profile has a substitute for the items in After. Nil means no profile has one.
	Provoked func(p *target.Profile) bool

	// Causes are clauses judged by monitors that have nothing to judge without the item.
	Causes []string

	// CallsModel says that the item's scenario shows something only if the model stub was called: a target may use
	// another model.
	CallsModel bool

	// Optional says that clauses are not applicable, rather than untested, without the item.
	Optional bool

	// Instead says that the item stands in for another one, so its absence is not reported.
	Instead bool

	// Replaced reports whether another item stands in for this one in a profile, so that its absence is not reported.
	// Needed must then find no scenario. Nil means never.
	Replaced func(p *target.Profile) bool

	// Advice says what to check when the item fails.
	Advice string

	// Remark returns a remark shown in parentheses when the item works; nil or "" means none.
	Remark func(p *target.Profile) string

	// Without says what the item's absence means if no scenario needs it. "" reports only that no scenario needs it.
	Without string
}

// Need reports whether a scenario cannot run against a profile's target without an item.
type Need func(s Scenario, p *target.Profile) bool

// Scenario is a scenario of the suite, as a Need sees it.
type Scenario struct {
	Tags  []string // each with its @
	Steps string   // the step texts, one per line
}

// Takes is the need of scenarios with a step that matches the pattern. ^ and $ match at the ends of a step.
func Takes(pattern string) Need {
	re := regexp.MustCompile(`(?m)` + pattern)
	return func(s Scenario, _ *target.Profile) bool { return re.MatchString(s.Steps) }
}

// OfTag is the need of scenarios with the given tag.
func OfTag(tag string) Need {
	return func(s Scenario, _ *target.Profile) bool { return slices.Contains(s.Tags, tag) }
}

// AnyOf is the need of scenarios that have at least one of the given needs.
func AnyOf(needs ...Need) Need {
	return func(s Scenario, p *target.Profile) bool {
		return slices.ContainsFunc(needs, func(need Need) bool { return need(s, p) })
	}
}

// Never is a Need that no scenario has.
func Never(Scenario, *target.Profile) bool { return false }

// Always is the Declared func of an item that every profile has.
func Always(*target.Profile) bool { return true }

// Has returns the Declared func of an item that is a capability.
func Has(capability string) func(*target.Profile) bool {
	return func(p *target.Profile) bool { return p.Has(capability) }
}

// Restartable is the Declared func of an item that depends on restarting the target.
func Restartable(p *target.Profile) bool { return p.Command != nil || p.Hooks.Restart != "" }
