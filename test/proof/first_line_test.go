package proof_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"

	"parley/features/verdict"
	"parley/reference-server/bundled"
	"parley/steps"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// actThemselves are steps after Then that act before they judge.
var actThemselves = []string{"agent A is still served",
	`agent A makes every call of the booking, and each is refused with "SESSION_NOT_ACTIVE"`}

// TestFirstLine checks that a step which judges shows nothing, kept or broken, as the only line of a scenario: nothing
// was done, so nothing is owed.
func TestFirstLine(t *testing.T) {
	for _, protocol := range bundled.All.Protocols() {
		for _, role := range protocols.All.Roles(protocol) {
			t.Run(protocol+" "+role, func(t *testing.T) {
				suitetest.AwaitTurnOn(t, protocol)
				o := suitetest.Bundled(protocol, role)
				feature, lines := firstLines(t, protocol, role)
				o.FS, o.AllowIncomplete = fstest.MapFS{protocol + "/0_first.feature": {Data: []byte(feature)}}, true
				o.Drivers = o.Profile.Drivers[:1]
				res := suitetest.Judge(t, o)
				if got := len(res.Runs[0].Scenarios); got != lines || lines == 0 {
					t.Errorf("%d scenarios of %d", got, lines)
				}
				for _, sc := range res.Runs[0].Scenarios {
					if slices.Contains(actThemselves, sc.Steps[0].Text) {
						continue
					}
					for _, c := range sc.Clauses {
						if c.Outcome != verdict.NotTested && c.Outcome != verdict.NotApplicable {
							t.Errorf("%s: %s is %s: %s", sc.Steps[0].Text, c.Clause, c.Outcome, c.Reason)
						}
					}
				}
			})
		}
	}
}

// firstLines writes a feature of one scenario for each step after Then in a role's features that judges, and returns
// how many.
func firstLines(t *testing.T, protocol, role string) (feature string, n int) {
	t.Helper()
	p := protocols.Get(protocol)
	judges, err := steps.JudgesOf(p)
	if err != nil {
		t.Fatal(err)
	}
	all, err := (&godog.TestSuite{Options: &godog.Options{FS: p.Features(), Paths: []string{protocol}}}).RetrieveFeatures()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "@%s @%s\nFeature: first lines\n", protocol, role)
	expressions, done := steps.Expressions(p), map[string]bool{}
	for _, f := range all {
		for _, pickle := range f.Pickles {
			if len(steps.Roles(p)) > 1 && !slices.ContainsFunc(pickle.Tags,
				func(tag *messages.PickleTag) bool { return tag.Name == "@"+role }) {
				continue
			}
			for _, step := range pickle.Steps {
				expr := steps.ExpressionOf(expressions, step.Text)
				tags := clausesOf(judges, expr)
				if step.Type != messages.PickleStepType_OUTCOME || done[expr] || len(tags) == 0 {
					continue
				}
				done[expr] = true
				fmt.Fprintf(&b, "\n  %s\n  Scenario: line %d\n    Then %s\n%s", strings.Join(tags, " "), len(done), step.Text,
					argument(step.Argument))
			}
		}
	}
	return b.String(), len(done)
}

// clausesOf returns the clauses that a step judges, as sorted tags.
func clausesOf(judges steps.Judges, expr string) (tags []string) {
	for _, id := range slices.Sorted(maps.Keys(judges)) {
		if slices.Contains(judges[id], expr) {
			tags = append(tags, "@"+id)
		}
	}
	return tags
}

// argument writes the argument of a step.
func argument(a *messages.PickleStepArgument) string {
	var b strings.Builder
	switch {
	case a == nil:
	case a.DocString != nil:
		fmt.Fprintf(&b, "\"\"\"\n%s\n\"\"\"\n", a.DocString.Content)
	case a.DataTable != nil:
		for _, row := range a.DataTable.Rows {
			for _, c := range row.Cells {
				b.WriteString("| " + c.Value + " ")
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}
