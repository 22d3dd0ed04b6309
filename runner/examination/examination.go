// Package examination examines a target by its protocol's guide and reports what a run would not test. It implements
// parley doctor apart from flags and exit codes. Package parley/steps/doctor defines the guides.
package examination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"parley/internal/deadline"
	"parley/internal/llm"
	"parley/internal/llm/stub"
	"parley/internal/words"
	"parley/runner"
	"parley/steps"
	"parley/steps/doctor"
	"parley/steps/probe"
	"parley/target"
	"parley/transport/transcript"
)

// Options configure an examination.
type Options struct {
	Out       io.Writer        // gets a line per examined thing, and what would not be tested
	Protocols *steps.Protocols // includes the profile's protocol
	Name      string           // of the profile, as the user gave it
	Profile   *target.Profile  // is not modified
	Launcher  target.Launcher  // nil: derived from the profile
	Person    *target.Lines    // what a person types, for hooks that ask one; nil: nobody does
}

// Outcome is the result of an examination.
type Outcome int

// The outcomes.
const (
	Works  Outcome = iota // everything the profile declares works
	Fails                 // something the profile declares does not work
	Unmet                 // the target did not speak the protocol
	Broken                // the harness could not continue
)

// Run examines a target. If the target could not be started or reached, or the context has ended, it returns an error
// of the kind that runner.Run returns. If the doctor does not know the protocol or role, the error is a
// *runner.UsageError.
func Run(ctx context.Context, o Options) (Outcome, error) {
	x, err := prepareExam(o)
	if err != nil {
		return Broken, err
	}
	p := x.Profile
	x.AddLine(doctor.OK, "profile", "%s: %s over %s", o.Name, titleWithRole(x.Protocol, p.Role),
		strings.Join(p.Drivers, ", "))
	for _, key := range p.Idle() {
		x.AddLine(doctor.NoEffect, key, "no scenario of %s uses it: delete it", p.Protocol)
	}
	if err := x.examineAll(ctx); err != nil {
		return Broken, err
	}
	if x.broken {
		return Broken, nil
	}
	x.summarizeRun()
	switch {
	case !x.met:
		return Unmet, nil
	case x.Failed():
		return Fails, nil
	}
	return Works, nil
}

// titleWithRole returns the protocol's name, with the role of its target if there are several roles.
func titleWithRole(p steps.Protocol, role string) string {
	if len(steps.Roles(p)) > 1 {
		return steps.Name(p) + " " + role
	}
	return steps.Name(p)
}

// examination is one examination of a target.
type examination struct {
	*doctor.Exam
	o        Options
	guide    doctor.Guide
	plan     map[string]runner.Planned // the doctor's scenarios, by id
	audit    *audit
	brain    *llm.Brain // nil if the target cannot be told of a model
	modelURL string
	state    map[string]doctor.Status // the reported status of each item, by key
	met      bool                     // the target spoke the protocol over at least one driver
	broken   bool                     // a run of scenarios ended with a harness error
}

// prepareExam prepares everything that needs no target.
func prepareExam(o Options) (*examination, error) {
	protocol, err := o.Protocols.Find(o.Profile.Protocol)
	if err != nil {
		return nil, err
	}
	profile := o.Profile.Clone()
	probe.FirstLook(&profile.Limits)
	guide, _ := doctor.Of(protocol)
	checkup, known := guide.Checkups[profile.Role]
	if !known {
		return nil, &runner.UsageError{Msg: "doctor has no check for " + titleWithRole(protocol, profile.Role)}
	}
	x := &examination{Exam: doctor.NewExam(o.Out, checkup, protocol, profile, o.Launcher), o: o, guide: guide,
		plan: map[string]runner.Planned{}, state: map[string]doctor.Status{}}
	if x.Launcher == nil {
		x.Launcher = target.NewLauncher(profile)
	}
	if x.audit, err = newAudit(profile, protocol); err != nil {
		return nil, err
	}
	own, err := runner.Scenarios(guide.Features, protocol)
	if err != nil {
		return nil, err
	}
	for _, p := range own {
		x.plan[p.ID] = p
	}
	return x, nil
}

// examineAll examines everything. An error ends the examination: the target could not be started or reached.
func (x *examination) examineAll(ctx context.Context) error {
	if before := x.Checkup.Before; before != nil {
		if err := before(ctx, x.Exam); err != nil {
			return err
		}
	}
	if x.Browser != nil {
		defer x.Browser.Close()
	}
	stop, err := x.launchTarget(ctx)
	if err != nil {
		return err
	}
	defer stop()
	x.tryReset(ctx)
	if first := x.Checkup.First; first != nil {
		if err := first(ctx, x.Exam); ctx.Err() != nil {
			return context.Canceled
		} else if err != nil {
			return err
		}
	}
	for i, driver := range x.Profile.Drivers {
		if err := x.runScenarios(ctx, driver, i == 0); err != nil || x.broken {
			return err
		}
	}
	if x.met {
		x.examineRest(ctx)
	}
	if ctx.Err() != nil {
		return context.Canceled
	}
	return nil
}

// launchTarget starts the model stub, if the target can be told of it, and the target. The returned function stops
// both.
func (x *examination) launchTarget(ctx context.Context) (func(), error) {
	stopModel := func() {}
	if x.Profile.UsesModel() {
		x.brain = llm.New()
		srv, err := stub.Start(x.brain)
		if err != nil {
			return nil, err
		}
		x.modelURL = srv.URL()
		stopModel = func() { withinLimit(5*time.Second, srv.Close) }
	}
	began := time.Now()
	running, err := x.Launcher.Launch(ctx, target.LaunchOptions{ModelURL: x.modelURL})
	if err != nil {
		stopModel()
		first, _, _ := strings.Cut(err.Error(), "\n")
		var start *target.StartError
		if errors.As(err, &start) {
			first += steps.QuoteStderr(transcript.NewRedactor(x.Profile.Secrets...), start.Stderr)
		}
		x.AddLine(doctor.Failed, "target", "%s", first)
		return nil, err
	}
	x.Running = running
	x.AddLine(doctor.OK, "target", "%s", x.describeLaunch(time.Since(began)))
	return func() { withinLimit(15*time.Second, running.Stop); stopModel() }, nil
}

// tryReset tries hooks.reset. If it fails, the rest is examined without it.
func (x *examination) tryReset(ctx context.Context) {
	if !x.Profile.Resets() {
		return
	}
	began, err := time.Now(), error(&target.NotDeclaredError{Key: "way to run it"})
	if t, ok := x.Running.(target.Resetter); ok {
		err = t.Reset(ctx)
	}
	if err == nil {
		x.AddLine(doctor.OK, "hooks.reset", "it took %v, and will run before each scenario",
			time.Since(began).Round(time.Millisecond))
		return
	}
	x.Profile.Hooks.Reset = ""
	text := transcript.NewRedactor(x.Profile.Secrets...).String(err.Error())
	x.AddLine(doctor.Failed, "hooks.reset", "%s: a run would test nothing (the rest is examined without it)", text)
}

// describeLaunch describes how the target was launched.
func (x *examination) describeLaunch(took time.Duration) string {
	how := "reached"
	switch p := x.Profile; {
	case p.Dials() && p.Command != nil:
		return "it connects by itself and is started when a scenario needs it"
	case p.Dials():
		return "it connects by itself, to " + p.Reach().Listen
	case p.PipesOnly():
		return "its command exists and is started when a scenario needs it"
	case p.Command != nil:
		how = "started"
	case p.Reach().Served && strings.HasPrefix(x.Running.BaseURL(), "file:"):
		how = "found"
	case p.Reach().Served:
		how = "served"
	}
	return fmt.Sprintf("%s at %s in %v", how, x.Running.BaseURL(), took.Round(time.Millisecond))
}

func withinLimit(limit time.Duration, stop func(context.Context) error) {
	ctx, cancel := deadline.WithLimit(context.Background(), limit)
	defer cancel()
	_ = stop(ctx)
}

// summarizeRun reports what a run could not test.
func (x *examination) summarizeRun() {
	out := x.o.Out
	if !x.Greeted {
		fmt.Fprintf(out, "\nnothing would be tested: %s must work first\n", x.stageNames())
		return
	}
	var missing []doctor.Item
	for _, it := range x.Checkup.Items {
		if x.state[it.Key] != doctor.OK {
			missing = append(missing, it)
		}
	}
	losses := x.audit.listLosses(missing)
	n := 0
	for _, l := range losses {
		n += len(l.clauses)
	}
	if n == 0 {
		fmt.Fprintf(out, "\nevery clause would be tested\n")
	} else {
		fmt.Fprintf(out, "\n%s would not be tested; missing or failed:\n", words.Counted(n, "clause"))
	}
	for _, l := range losses {
		fmt.Fprintf(out, "  %s\n      %s\n", l.want, strings.Join(l.clauses, " "))
	}
	if n > 0 {
		fmt.Fprintf(out, "A run also lists INFO clauses as not tested. Clauses of a capability that is not declared are not "+
			"applicable there.\n")
	}
	certifying := x.Protocol.Certifying()
	if !slices.ContainsFunc(certifying, func(c string) bool { return slices.Contains(x.Profile.Drivers, c) }) {
		fmt.Fprintf(out, "%s is certified over %s, which the profile does not declare\n",
			steps.Name(x.Protocol), strings.Join(certifying, " or "))
	}
}

// stageNames returns the names of the preflight stages as a phrase.
func (x *examination) stageNames() string {
	all := x.Protocol.Stages()
	return all[0] + ", " + all[1] + " and " + all[2]
}
