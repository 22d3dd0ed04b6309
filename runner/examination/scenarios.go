package examination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/internal/llm"
	"parley/internal/words"
	"parley/reports"
	"parley/runner"
	"parley/steps"
	"parley/steps/doctor"
)

// runScenarios runs the doctor's features over one driver: the preflight over each, everything else over the first.
func (x *examination) runScenarios(ctx context.Context, driver string, first bool) error {
	selected := []string{"@preflight-1"}
	if first {
		selected = append(selected, x.selectItems()...)
	}
	w := &observer{examination: x, first: first, driver: driver, called: make(chan struct{})}
	if x.brain != nil {
		stop := w.awaitModelCall(ctx)
		defer stop()
	}
	o := runner.Options{Protocols: x.o.Protocols, Profile: x.Profile, Role: x.Profile.Role,
		Launcher: &sharedLauncher{Launcher: x.Launcher, running: x.Running, modelURL: x.modelURL},
		Brain:    x.brain, Drivers: []string{driver}, Tags: strings.Join(selected, " or "), Concurrency: 1,
		FS: x.guide.Features, Observer: w, Person: x.o.Person}
	if x.Browser != nil {
		o.Browser = x.Browser
	}
	res, err := runner.Run(ctx, o)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return context.Canceled
	case res.Exit == verdict.ExitHarness:
		x.broken = true
		return nil
	case res.Exit == verdict.ExitUnreachable: // another driver may reach the target
		return nil
	}
	x.met = true
	return nil
}

// selectItems returns the tags of the items that a scenario can examine. It reports why the others cannot be examined.
func (x *examination) selectItems() []string {
	var tags []string
	for _, it := range x.Checkup.Items {
		if it.Declared(x.Profile) && it.Tag != "" {
			if missing := x.undeclaredKey(it); missing != "" {
				x.AddLine(doctor.NotChecked, it.Key, "it needs %s", missing)
				x.state[it.Key] = doctor.NotChecked
				continue
			}
			tags = append(tags, it.Tag)
		}
	}
	return tags
}

// undeclaredKey returns the key of the first dependency of an item that the profile does not declare, or "".
func (x *examination) undeclaredKey(it doctor.Item) string {
	if hasSubstitute(it, x.Profile) {
		return ""
	}
	for _, key := range it.After {
		if !x.findItem(key).Declared(x.Profile) {
			return key
		}
	}
	return ""
}

// describeLoss describes what is lost because an item is not declared.
func (x *examination) describeLoss(it doctor.Item) string {
	what := "not tested"
	if it.Optional {
		what = "not applicable"
	}
	n := x.audit.scenariosWithout(it)
	if n == 0 && it.Without != "" {
		return it.Without
	}
	if n == 0 {
		return "no scenario of " + titleWithRole(x.Protocol, x.Profile.Role) + " needs it"
	}
	var clauses []string
	for _, l := range x.audit.listLosses([]doctor.Item{it}) {
		clauses = append(clauses, l.clauses...)
	}
	switch {
	case len(clauses) == 0:
		return fmt.Sprintf("not run without it: %s; other scenarios judge their clauses too", words.Counted(n, "scenario"))
	case len(clauses) > 8:
		return fmt.Sprintf("%s without it: %s", what, words.Counted(len(clauses), "clause"))
	}
	return what + " without it: " + strings.Join(clauses, ", ")
}

// observer follows the scenarios and reports on each.
type observer struct {
	*examination
	driver string
	first  bool
	mu     sync.Mutex
	called chan struct{} // closed once the model stub is called
}

// Planned implements runner.Observer.
func (w *observer) Planned(int) {}

// ScenarioDone implements runner.Observer.
func (w *observer) ScenarioDone(sc reports.Scenario) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.plan[sc.ID]
	i := slices.IndexFunc(w.Checkup.Items, func(it doctor.Item) bool { return slices.Contains(p.Tags, it.Tag) })
	if p.Stage > 0 {
		w.observePreflight(p, sc)
		return
	}
	if i < 0 {
		return
	}
	it := w.Checkup.Items[i]
	status, text := scenarioStatus(sc)
	switch missing := w.missingKey(it); {
	case isGated(sc):
		status, text = doctor.NotChecked, "it needs "+w.stageNames()
	case missing != "":
		status, text = doctor.NotChecked, "it needs "+missing
	case it.CallsModel:
		status, text = w.checkModelReached(status, text)
	}
	if status == doctor.Failed {
		text += " (look at " + it.Advice + ")"
	}
	w.Greeted = w.Greeted || w.first && !isGated(sc)
	if status == doctor.OK && it.Remark != nil {
		if more := it.Remark(w.Profile); more != "" {
			text += " (" + more + ")"
		}
	}
	w.state[it.Key] = status
	w.AddLine(status, it.Key, "%s", text)
}

// missingKey returns the key of the first dependency of an item that does not work, or "".
func (w *observer) missingKey(it doctor.Item) string {
	if hasSubstitute(it, w.Profile) {
		return ""
	}
	for _, key := range it.After {
		if w.state[key] != doctor.OK {
			return key
		}
	}
	return ""
}

// checkModelReached fails the item unless a chat called the model stub: the target may have used another model.
func (w *observer) checkModelReached(status doctor.Status, text string) (doctor.Status, string) {
	late, cancel := deadline.WithLimit(context.Background(), w.Profile.Limits.Event.Duration)
	defer cancel()
	select {
	case <-w.called:
		if status == doctor.Failed {
			text += "; the stub was called"
		}
		return status, text
	case <-late.Done():
		if status == doctor.OK {
			text = "a chat was answered"
		}
		return doctor.Failed, text + "; the stub was never called"
	}
}

func (w *observer) observePreflight(p runner.Planned, sc reports.Scenario) {
	status, text := scenarioStatus(sc)
	switch {
	case status == doctor.OK:
		w.Greeted = w.Greeted || w.first && p.Stage == 3
	case isGated(sc), sc.Outcome == verdict.EnvError && p.Stage > 1:
		status, text = doctor.NotChecked, sc.Name
	case sc.Outcome == verdict.EnvError && !w.Profile.Dials(): // the reason says what to do
		text = sc.Reason
	case !strings.Contains(sc.Reason, steps.AsksForModel):
		text += " (look at " + w.Checkup.Advice[p.Stage] + ")"
	}
	w.AddLine(status, w.driver, "%s", text)
}

// scenarioStatus returns the status and text for a scenario's outcome.
func scenarioStatus(sc reports.Scenario) (status doctor.Status, text string) {
	switch sc.Outcome {
	case verdict.Passed:
		return doctor.OK, sc.Name
	case verdict.Failed, verdict.Warned:
		if len(sc.Failures) > 0 {
			f := sc.Failures[0]
			return doctor.Failed, fmt.Sprintf("%s: expected %s, observed %s", sc.Name, f.Expected, f.Observed)
		}
	}
	return doctor.Failed, sc.Name + ": " + sc.Reason
}

// isGated reports whether a scenario did not run because a preflight stage failed.
func isGated(sc reports.Scenario) bool { return strings.HasPrefix(sc.Reason, "preflight: ") }

// awaitModelCall closes called when the model stub is first called.
func (w *observer) awaitModelCall(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := w.brain.AwaitMatch(ctx, 1, func(llm.Request) bool { return true }); err == nil {
			close(w.called)
		}
	})
	return func() { cancel(); wg.Wait() }
}

// examineRest examines the items without a scenario and reports all undeclared ones.
func (x *examination) examineRest(ctx context.Context) {
	looks := map[string]doctor.Look{}
	if x.Checkup.Others != nil {
		var end func()
		looks, end = x.Checkup.Others(ctx, x.Exam)
		defer end()
	}
	for _, it := range x.Checkup.Items {
		switch look := looks[it.Key]; {
		case !it.Declared(x.Profile) && (it.Instead || it.Replaced != nil && it.Replaced(x.Profile)):
			x.state[it.Key] = doctor.NotDeclared
		case !it.Declared(x.Profile):
			x.state[it.Key] = doctor.NotDeclared
			x.AddLine(doctor.NotDeclared, it.Key, "%s", x.describeLoss(it))
		case look != nil:
			x.reportLook(it, look)
		}
	}
}

// reportLook runs an item's look and reports the result.
func (x *examination) reportLook(it doctor.Item, look doctor.Look) {
	good, err := look()
	var w doctor.Wants
	switch {
	case errors.As(err, &w):
		x.state[it.Key] = doctor.NotChecked
		x.AddLine(doctor.NotChecked, it.Key, "%v", err)
	case err != nil:
		x.state[it.Key] = doctor.Failed
		x.AddLine(doctor.Failed, it.Key, "%v (look at %s)", err, it.Advice)
	default:
		x.state[it.Key] = doctor.OK
		x.AddLine(doctor.OK, it.Key, "%s", good)
	}
}

// findItem returns the item with the given key.
func (x *examination) findItem(key string) doctor.Item {
	return x.Checkup.Items[slices.IndexFunc(x.Checkup.Items, func(it doctor.Item) bool { return it.Key == key })]
}
