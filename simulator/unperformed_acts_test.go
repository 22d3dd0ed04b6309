package simulator_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator"
	"parley/steps"
	"parley/steps/protocols"
)

// line is a step of the features with its argument.
type line struct {
	text string
	arg  steps.StepArg
	acts bool // the features use it as Given or When: it may act, and judge the answer
}

// differs matches what may differ between two uses of one step.
var differs = regexp.MustCompile(`"[^"]*"|\{.*\}|\d+`)

// lines returns the steps of a protocol's features, once for each wording.
func lines(t *testing.T, p steps.Protocol) []line {
	t.Helper()
	found, err := godog.TestSuite{Options: &godog.Options{FS: p.Features(),
		Paths: []string{steps.Name(p)}}}.RetrieveFeatures()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	var all []line
	for _, f := range found {
		for _, pickle := range f.Pickles {
			for _, st := range pickle.Steps {
				kind := differs.ReplaceAllString(st.Text, "…")
				if _, seen := at[kind]; !seen {
					at[kind] = len(all)
					all = append(all, line{text: st.Text, arg: argument(st.Argument)})
				}
				one := &all[at[kind]]
				one.acts = one.acts || st.Type != messages.PickleStepType_OUTCOME ||
					strings.Contains(st.Text, " makes every call ") || strings.Contains(st.Text, " in each of ")
			}
		}
	}
	return all
}

func argument(a *messages.PickleStepArgument) (arg steps.StepArg) {
	if a != nil && a.DocString != nil {
		arg.Text = &a.DocString.Content
	}
	if a != nil && a.DataTable != nil {
		for _, row := range a.DataTable.Rows {
			var cells []string
			for _, cell := range row.Cells {
				cells = append(cells, cell.Value)
			}
			arg.Table = append(arg.Table, cells)
		}
	}
	return arg
}

// opening has a step of each protocol that connects.
var opening = map[string]string{"agent-select": "client A connects", "session-chat": "client A connects",
	"external-agent": "agent A connects", "session-runtime": "the bus is connected", "agent-client": "an open page"}

// TestOnlyActsAreAnswered: as the first line of a session, and after a connection that is refused, no step fails
// anything, none that only expects something passes, waits or is silent about the act that is missing.
func TestOnlyActsAreAnswered(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(refusing.Close)
	for _, p := range protocols.All.All {
		for _, role := range protocols.All.Roles(steps.Name(p)) {
			t.Run(steps.Name(p)+"/"+role, func(t *testing.T) {
				t.Parallel()
				b := bundled.All.For(protocols.Kinds(), steps.Name(p), role)
				for i, one := range lines(t, p) {
					if i%3 != 0 && !tier.All() { // each has a session of its own
						continue
					}
					s := begin(t, runner.Options{Protocols: protocols.All, Profile: b.Profile, Launcher: b.Launcher, Brain: b.Brain})
					judgesNothing(t, s, one, one.acts)
					ends(t, s, one)
				}
			})
			t.Run(steps.Name(p)+"/"+role+"/refused", func(t *testing.T) {
				t.Parallel()
				profile := *bundled.All.For(protocols.Kinds(), steps.Name(p), role).Profile
				profile.URL = refusing.URL
				all := lines(t, p)
				slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(rank(a), rank(b)) })
				s := begin(t, runner.Options{Protocols: protocols.All, Profile: &profile})
				_, _ = s.Do(t.Context(), opening[steps.Name(p)], steps.StepArg{})
				for _, one := range all {
					judgesNothing(t, s, one, false)
				}
				ends(t, s, all[0])
			})
		}
	}
}

// rank orders steps that only expect something before those that act.
func rank(l line) int {
	if l.acts {
		return 1
	}
	return 0
}

func begin(t *testing.T, o runner.Options) *simulator.Session {
	t.Helper()
	s, err := simulator.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// ends ends a session, whose last judgements fail nothing either.
func ends(t *testing.T, s *simulator.Session, after line) {
	t.Helper()
	for _, f := range s.Close().Failures {
		t.Errorf("the end after %q fails %s: expected %s, observed %s", after.text, f.Clause, f.Expected, f.Observed)
	}
}

// judgesNothing executes a step. It passes something only if it may.
func judgesNothing(t *testing.T, s *simulator.Session, one line, passes bool) {
	t.Helper()
	// What expects something does not wait. What acts may, for as long as the answer takes: then it judges nothing.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	got, err := s.Do(ctx, one.text, one.arg)
	for _, f := range got.Failures {
		t.Errorf("%q fails %s: expected %s, observed %s", one.text, f.Clause, f.Expected, f.Observed)
	}
	var notTested *steps.NotTestedError
	var notApplicable *steps.NotApplicableError
	var unreachable *steps.UnreachableError
	said := errors.As(got.Err, &notTested) || errors.As(got.Err, &notApplicable) || errors.As(got.Err, &unreachable)
	switch {
	case err != nil, got.Err != nil && !said:
		t.Errorf("%q: %v, %v", one.text, err, got.Err)
	case one.acts:
	case !said:
		t.Errorf("%q does not say which act is missing", one.text)
	case ctx.Err() != nil:
		t.Errorf("%q waits: %v", one.text, got.Err)
	}
	for _, j := range got.Outcomes {
		if j.Outcome == verdict.Passed && !passes {
			t.Errorf("%q passes %s", one.text, j.Clause)
		}
	}
}
