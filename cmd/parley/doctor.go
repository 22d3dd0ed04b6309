package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/driver/browser"
	"parley/features"
	"parley/internal/stall"
	"parley/model"
	"parley/model/stub"
	"parley/protocol/agentclient"
	"parley/protocol/agentselect"
	"parley/protocol/externalagent"
	"parley/protocol/sessionchat"
	"parley/protocol/sessionruntime"
	"parley/runner"
	"parley/steps"
	"parley/target"
	"parley/verdict"
)

// doctorFeatures are the doctor's own scenarios, in the words of the suite's steps.
//
//go:embed doctor/*/*.feature
var doctorFeatures embed.FS

func doctorCommand(s *streams) *cobra.Command {
	var name, protocol, role string
	c := &cobra.Command{
		Use:   "doctor --target FILE|URL",
		Short: "Tell what of a profile works, before a run",
		Long: `Tell what of a profile works, before a run: the target is started or reached, over each of its drivers a client gets as far
as the suite needs it to, and everything else that the profile declares is tried once. There is a line for each:

  ok            it works
  not declared  the profile says nothing of it, and what is therefore not tested
  not checked   it hangs on something that does not work, or that is not declared
  failed        what happened, and what to look at

Hooks of agent-select are tried with an agent parley_doctor, which is removed again where there is a hook for that; a target
that can be restarted is restarted. A host is booked at. An agent is started and meets the host of the suite. An orchestrator is
taken through a turn of each kind, over the first of its drivers; over stdio it is started for that. Of a page it is told which
browser drives it, what each of its hooks finds, and what it asks of its server. Exit codes: 0 when all that
is declared works, 1 when something does not, 3 when nothing of the protocol came from the target, 2 and 3 as always.`,
		Example: `  parley doctor --target my.yaml
  parley doctor --target http://localhost:3000 --protocol session-chat
  parley doctor --target ./dist
  parley doctor --target ws://localhost:3000/bus/ws --protocol session-runtime
  parley doctor --target ws://localhost:3000/agent/ws --protocol external-agent --role relay`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return doctor(c.Context(), name, protocol, role, s) },
	}
	c.Flags().StringVar(&name, "target", "", "profile `FILE|URL` of the target, or the folder of a page (required)")
	c.Flags().StringVar(&protocol, "protocol", "", "`PROTOCOL` of a URL (default agent-select)")
	c.Flags().StringVar(&role, "role", "", "`ROLE` of the target (default that of the profile; of a URL server, client or host)")
	return c
}

// doctor examines a target and says what would not be tested.
func doctor(ctx context.Context, name, protocol, role string, s *streams) error {
	if name == "" {
		return usagef("doctor: --target is missing (name a profile, or the URL of a running server)")
	}
	sub, err := subjectOf(name, given(protocol), given(role))
	if err != nil {
		return err
	}
	d, err := newExam(sub, s)
	if err != nil {
		return err
	}
	d.tell(ok, "profile", "%s: %s over %s", name, titled(d.profile.Protocol, d.profile.Role), strings.Join(d.profile.Drivers, ", "))
	if err := d.examine(ctx); err != nil {
		return err
	}
	d.summary()
	if !d.met {
		return exitError{verdict.ExitUnreachable}
	}
	if d.failed {
		return exitError{verdict.ExitNonConformant}
	}
	return nil
}

// given is a flag's value as a list: empty where the flag was not given.
func given(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// The words that a line begins with.
const (
	ok          = "ok"
	notDeclared = "not declared"
	notChecked  = "not checked"
	failed      = "failed"
)

// checkup is what the doctor looks at in targets of a protocol's role.
type checkup struct {
	items  []item                             // in the order in which they are looked at
	look   map[int]string                     // what to look at when a stage of the preflight fails
	before func(context.Context, *exam) error // looks at what must be there before the target is launched; may be nil
	first  func(context.Context, *exam) error // looks at the target before the scenarios are run; may be nil
	// others looks at items without a scenario, once the scenarios are done. The returned function ends it.
	others func(context.Context, *exam) (looks map[string]look, end func())
}

// look looks at an item, and says in words what it saw.
type look func() (string, error)

// checkups are the doctor's, by protocol and role.
var checkups = map[string]map[string]checkup{
	agentselect.Protocol:    {target.Server: agentSelectCheckup},
	agentclient.Protocol:    {agentclient.Client: agentClientCheckup},
	sessionchat.Protocol:    {target.Server: sessionChatCheckup},
	sessionruntime.Protocol: {target.Server: sessionRuntimeCheckup},
	externalagent.Protocol: {
		externalagent.Host: hostCheckup, externalagent.Relay: relayCheckup, externalagent.Agent: agentCheckup,
	},
}

// exam is one examination of a target.
type exam struct {
	checkup
	s        *streams
	protocol steps.Protocol
	profile  *target.Profile
	launcher target.Launcher
	running  target.Running
	fs       fs.FS
	plan     map[string]runner.Planned // the doctor's scenarios, by id
	audit    *audit
	brain    *model.Brain // nil where the target cannot be told of a model
	modelURL string
	browser  *browser.Driver   // of a page; nil for others
	state    map[string]string // what was told of an item, by its key
	met      bool              // over one driver at least somebody was met who speaks the protocol
	failed   bool
	greeted  bool // the first driver got through the preflight
}

func newExam(sub *subject, s *streams) (*exam, error) {
	p := *sub.profile
	firstLook(&p.Limits)
	d := &exam{checkup: checkups[p.Protocol][p.Role], s: s, profile: &p, launcher: sub.launcher,
		plan: map[string]runner.Planned{}, state: map[string]string{}}
	if d.launcher == nil {
		d.launcher = target.NewLauncher(d.profile)
	}
	var err error
	if d.protocol, err = runner.Protocol(d.profile.Protocol); err != nil {
		return nil, err
	}
	b, err := openBook(d.profile.Protocol)
	if err != nil {
		return nil, err
	}
	texts, err := runner.Steps(features.FS, d.profile.Protocol)
	if err != nil {
		return nil, err
	}
	d.audit = newAudit(d.profile, b, texts)
	if d.fs, err = fs.Sub(doctorFeatures, "doctor"); err != nil {
		return nil, err
	}
	own, err := runner.Scenarios(d.fs, d.profile.Protocol)
	if err != nil {
		return nil, err
	}
	for _, p := range own {
		d.plan[p.ID] = p
	}
	return d, nil
}

// tell writes a line.
func (d *exam) tell(status, what, format string, args ...any) {
	d.failed = d.failed || status == failed
	wide := 23
	for _, it := range d.items {
		wide = max(wide, len(it.key))
	}
	fmt.Fprintf(d.s.Out, "%-12s  %-*s  %s\n", status, wide, what, oneLine(fmt.Sprintf(format, args...)))
}

// examine looks at everything. An error ends the examination: the target could not be started or reached.
func (d *exam) examine(ctx context.Context) error {
	if d.before != nil {
		if err := d.before(ctx, d); err != nil {
			return err
		}
	}
	if d.browser != nil {
		defer d.browser.Close()
	}
	stop, err := d.launch(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if d.first != nil {
		if err := d.first(ctx, d); ctx.Err() != nil {
			return context.Canceled
		} else if err != nil {
			return err
		}
	}
	for i, driver := range d.profile.Drivers {
		if err := d.scenarios(ctx, driver, i == 0); err != nil {
			return err
		}
	}
	if d.met {
		d.rest(ctx)
	}
	if ctx.Err() != nil {
		return context.Canceled
	}
	return nil
}

// launch starts the model stub, where the target can be told of it, and the target. The returned function stops both.
func (d *exam) launch(ctx context.Context) (func(), error) {
	stopModel := func() {}
	if d.profile.UsesModel() {
		d.brain = model.New()
		srv, err := stub.Start(d.brain)
		if err != nil {
			return nil, err
		}
		d.modelURL = srv.URL()
		stopModel = func() { within(5*time.Second, srv.Close) }
	}
	began := time.Now()
	running, err := d.launcher.Launch(ctx, target.LaunchOptions{ModelURL: d.modelURL})
	if err != nil {
		stopModel()
		first, _, _ := strings.Cut(err.Error(), "\n")
		d.tell(failed, "target", "%s", first)
		return nil, err
	}
	d.running = running
	d.tell(ok, "target", "%s", d.launched(time.Since(began)))
	return func() { within(15*time.Second, running.Stop); stopModel() }, nil
}

// launched says in words how the target was launched.
func (d *exam) launched(took time.Duration) string {
	how := "reached"
	switch p := d.profile; {
	case p.Dials() && p.Command != nil:
		return "it connects by itself, and is started when it is to"
	case p.Dials():
		return "it connects by itself, to " + p.ExternalAgent.Agent.Listen
	case p.PipesOnly():
		return "its command is there, and is started when it is spoken to"
	case p.Command != nil:
		how = "started"
	case p.AgentClient.File:
		how = "found"
	case p.AgentClient.Folder != "":
		how = "served"
	}
	return fmt.Sprintf("%s at %s in %v", how, d.running.BaseURL(), took.Round(time.Millisecond))
}

func within(limit time.Duration, stop func(context.Context) error) {
	ctx, cancel := stall.WithLimit(context.Background(), limit)
	defer cancel()
	_ = stop(ctx)
}

// summary says what a run could not test.
func (d *exam) summary() {
	if !d.greeted {
		fmt.Fprintf(d.s.Out, "\nnothing would be tested: %s must work first\n", d.stages())
		return
	}
	var missing []item
	for _, it := range d.items {
		if d.state[it.key] != ok {
			missing = append(missing, it)
		}
	}
	losses := d.audit.losses(missing)
	n := 0
	for _, l := range losses {
		n += len(l.clauses)
	}
	if n == 0 {
		fmt.Fprintf(d.s.Out, "\nevery clause would be tested\n")
	} else {
		fmt.Fprintf(d.s.Out, "\n%s would not be tested, for want of\n", counted(n, "clause"))
	}
	for _, l := range losses {
		fmt.Fprintf(d.s.Out, "  %s\n      %s\n", l.want, strings.Join(l.clauses, " "))
	}
	certifying := d.protocol.Certifying()
	if !slices.ContainsFunc(certifying, func(c string) bool { return slices.Contains(d.profile.Drivers, c) }) {
		fmt.Fprintf(d.s.Out, "%s is certified over %s, which the profile does not declare\n", d.protocol.Name(), strings.Join(certifying, " or "))
	}
}

// stages are those of the preflight, in words.
func (d *exam) stages() string {
	all := d.protocol.Stages()
	return all[0] + ", " + all[1] + " and " + all[2]
}
