package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"parley/internal/stall"
	"parley/model"
	"parley/reports"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// scenarios runs the doctor's feature over one driver: preflight over each, everything else over the first.
func (d *exam) scenarios(ctx context.Context, driver string, first bool) error {
	selected := []string{"@preflight-1"}
	if first {
		selected = append(selected, d.selected()...)
	}
	w := &ward{exam: d, first: first, driver: driver, called: make(chan struct{})}
	if d.brain != nil {
		stop := w.listen(ctx)
		defer stop()
	}
	o := runner.Options{Profile: d.profile, Role: d.profile.Role,
		Launcher: &lent{Launcher: d.launcher, running: d.running, modelURL: d.modelURL},
		Brain:    d.brain, Drivers: []string{driver}, Tags: strings.Join(selected, " or "), Concurrency: 1, FS: d.fs, Observer: w}
	if d.browser != nil {
		o.Browser = d.browser
	}
	res, err := runner.Run(ctx, o)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return context.Canceled
	case res.Exit == verdict.ExitHarness:
		return exitError{res.Exit}
	case res.Exit == verdict.ExitUnreachable: // another driver may do
		return nil
	}
	d.met = true
	return nil
}

// selected are the tags of the items that can be looked at by a scenario; of the others it tells why not.
func (d *exam) selected() []string {
	var tags []string
	for _, it := range d.items {
		if it.declared(d.profile) && it.tag != "" {
			if missing := d.undeclared(it); missing != "" {
				d.tell(notChecked, it.key, "it needs %s", missing)
				d.state[it.key] = notChecked
				continue
			}
			tags = append(tags, it.tag)
		}
	}
	return tags
}

// undeclared is the first item that another one hangs on and that the profile does not declare.
func (d *exam) undeclared(it item) string {
	if it.provokes(d.profile) {
		return ""
	}
	for _, key := range it.after {
		if !d.item(key).declared(d.profile) {
			return key
		}
	}
	return ""
}

// without says what is lost by an item that is not declared.
func (d *exam) without(it item) string {
	what := "not tested"
	if it.optional {
		what = "not applicable"
	}
	n := d.audit.scenariosWithout(it)
	if n == 0 && it.without != "" {
		return it.without
	}
	if n == 0 {
		return "no scenario of " + titled(d.profile.Protocol, d.profile.Role) + " needs it"
	}
	var clauses []string
	for _, l := range d.audit.losses([]item{it}) {
		clauses = append(clauses, l.clauses...)
	}
	switch {
	case len(clauses) == 0:
		return fmt.Sprintf("not run without it: %s, whose clauses others judge too", counted(n, "scenario"))
	case len(clauses) > 8:
		return fmt.Sprintf("%s without it: %s", what, counted(len(clauses), "clause"))
	}
	return what + " without it: " + strings.Join(clauses, ", ")
}

// ward follows the scenarios and tells of each.
type ward struct {
	*exam
	driver string
	first  bool
	mu     sync.Mutex
	called chan struct{} // closed once the model stub is called
}

// Planned implements runner.Observer.
func (w *ward) Planned(int) {}

// ScenarioDone implements runner.Observer.
func (w *ward) ScenarioDone(sc reports.Scenario) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.plan[sc.ID]
	i := slices.IndexFunc(w.items, func(it item) bool { return slices.Contains(p.Tags, it.tag) })
	if p.Stage > 0 {
		w.preflight(p, sc)
		return
	}
	if i < 0 {
		return
	}
	it := w.items[i]
	status, text := judged(sc)
	switch missing := w.broken(it); {
	case gated(sc):
		status, text = notChecked, "it needs "+w.stages()
	case missing != "":
		status, text = notChecked, "it needs "+missing
	case it.key == "model":
		status, text = w.reached(status, text)
	}
	if status == failed {
		text += " (look at " + it.look + ")"
	}
	w.greeted = w.greeted || w.first && !gated(sc)
	if status == ok && it.key == "hooks.add-agent" && w.profile.Hooks.RemoveAgent == "" {
		text += " (parley_doctor is left behind: there is no hooks.remove-agent)"
	}
	w.state[it.key] = status
	w.tell(status, it.key, "%s", text)
}

// broken is the first item that another one hangs on and that does not work.
func (w *ward) broken(it item) string {
	if it.provokes(w.profile) {
		return ""
	}
	for _, key := range it.after {
		if w.state[key] != ok {
			return key
		}
	}
	return ""
}

// reached tells whether a chat has reached the model stub: a target may have found another model to answer it.
func (w *ward) reached(status, text string) (string, string) {
	late, cancel := stall.WithLimit(context.Background(), w.profile.Limits.Event.Duration)
	defer cancel()
	select {
	case <-w.called:
		if status == failed {
			text += "; the stub was called"
		}
		return status, text
	case <-late.Done():
		if status == ok {
			text = "a chat was answered"
		}
		return failed, text + "; the stub was never called"
	}
}

func (w *ward) preflight(p runner.Planned, sc reports.Scenario) {
	status, text := judged(sc)
	switch {
	case status == ok:
		w.greeted = w.greeted || w.first && p.Stage == 3
	case gated(sc), sc.Outcome == verdict.EnvError && p.Stage > 1:
		status, text = notChecked, sc.Name
	case sc.Outcome == verdict.EnvError && !w.profile.Dials(): // which says what to do
		text = sc.Reason
	default:
		text += " (look at " + w.look[p.Stage] + ")"
	}
	w.tell(status, w.driver, "%s", text)
}

// judged is what a scenario says of what it is about.
func judged(sc reports.Scenario) (status, text string) {
	switch sc.Outcome {
	case verdict.Passed:
		return ok, sc.Name
	case verdict.Failed, verdict.Warned:
		if len(sc.Failures) > 0 {
			return failed, fmt.Sprintf("%s: expected %s, observed %s", sc.Name, sc.Failures[0].Expected, sc.Failures[0].Observed)
		}
	}
	return failed, sc.Name + ": " + sc.Reason
}

// gated tells that a scenario did not run because a stage of the preflight had not come through.
func gated(sc reports.Scenario) bool { return strings.HasPrefix(sc.Reason, "preflight: ") }

// listen notes whether the model stub is called at all.
func (w *ward) listen(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := w.brain.AwaitMatch(ctx, 1, func(model.Request) bool { return true }); err == nil {
			close(w.called)
		}
	})
	return func() { cancel(); wg.Wait() }
}

// rest looks at what no scenario shows, and tells of all that is not declared.
func (d *exam) rest(ctx context.Context) {
	looks := map[string]look{}
	if d.others != nil {
		var end func()
		looks, end = d.others(ctx, d)
		defer end()
	}
	for _, it := range d.items {
		switch look := looks[it.key]; {
		case !it.declared(d.profile) && it.instead:
			d.state[it.key] = notDeclared
		case !it.declared(d.profile):
			d.state[it.key] = notDeclared
			d.tell(notDeclared, it.key, "%s", d.without(it))
		case look != nil:
			d.found(it, look)
		}
	}
}

// wants is why an item cannot be looked at.
type wants string

func (w wants) Error() string { return "it needs " + string(w) }

// found tells what came of a look at an item.
func (d *exam) found(it item, look look) {
	good, err := look()
	var w wants
	switch {
	case errors.As(err, &w):
		d.state[it.key] = notChecked
		d.tell(notChecked, it.key, "%v", err)
	case err != nil:
		d.state[it.key] = failed
		d.tell(failed, it.key, "%v (look at %s)", err, it.look)
	default:
		d.state[it.key] = ok
		d.tell(ok, it.key, "%s", good)
	}
}

// item finds an item by its key.
func (d *exam) item(key string) item {
	return d.items[slices.IndexFunc(d.items, func(it item) bool { return it.key == key })]
}

// lent lends a target that runs already to a run, which may launch others of its own beside it.
type lent struct {
	target.Launcher
	running  target.Running
	modelURL string
	given    atomic.Bool
}

// Launch implements target.Launcher.
func (l *lent) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	if !l.given.Swap(true) {
		return kept{l.running}, nil
	}
	o.ModelURL = l.modelURL
	return l.Launcher.Launch(ctx, o)
}

// kept is a target that a run does not stop: it belongs to who lent it. It offers what only some targets can as well.
type kept struct{ target.Running }

// Stop implements target.Running.
func (kept) Stop(context.Context) error { return nil }

// Say implements target.Speaker.
func (k kept) Say(ctx context.Context, relaySession, text string) error {
	if s, ok := k.Running.(target.Speaker); ok {
		return s.Say(ctx, relaySession, text)
	}
	return &target.NotDeclaredError{Key: "hooks.user-says"}
}

// LogFolder implements target.LogKeeper.
func (k kept) LogFolder() (string, error) {
	if l, ok := k.Running.(target.LogKeeper); ok {
		return l.LogFolder()
	}
	return "", &target.NotDeclaredError{Key: "external-agent.logs"}
}

// Pipe implements target.Piper.
func (k kept) Pipe(ctx context.Context) (target.Piped, error) {
	if p, ok := k.Running.(target.Piper); ok {
		return p.Pipe(ctx)
	}
	return nil, &target.NotDeclaredError{Key: "driver " + target.Stdio}
}

// Call implements target.Caller.
func (k kept) Call(ctx context.Context, o target.CallOptions) (target.Called, error) {
	if c, ok := k.Running.(target.Caller); ok {
		return c.Call(ctx, o)
	}
	return nil, &target.NotDeclaredError{Key: "agent that could be called"}
}
