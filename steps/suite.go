package steps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"
	"pgregory.net/rapid"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Protocol is what each protocol provides to the suite.
type Protocol interface {
	// Kind returns what the protocol says of its targets: its id, their roles and drivers, and its section of a profile.
	Kind() target.Kind
	// Features returns the protocol's scenarios and its ledger, in the folder of its id.
	Features() fs.FS
	// Bind returns the decoder that adds the protocol's events to records.
	Bind(env *Env, run target.Running) func(*transcript.Record)
	// NotRunnable returns the reason why a scenario with these tags cannot run against this target; "" if it can.
	NotRunnable(env *Env, tags []string) string
	// Monitors returns the monitors that judge every transcript.
	Monitors() []monitor.Monitor
	// Subprotocols returns those offered in the WebSocket handshake; nil for none.
	Subprotocols(p *target.Profile) []string
	// Certifying returns the drivers over which the protocol is judged; the others are our extensions.
	Certifying() []string
	// Stages says what each of the three preflight stages shows, to explain why later scenarios do not run.
	Stages() [3]string
	// Register registers the protocol's steps for one scenario. world returns the scenario's world once it has begun,
	// and nil if it is skipped.
	Register(sc *godog.ScenarioContext, world func() *World)
}

// Comparer is an optional interface of protocols with several transports. It compares scenarios that passed over two
// of them.
type Comparer interface {
	// Course reduces a transcript to what must not depend on the transport.
	Course(records []transcript.Record) []string
	// SameCourse reports whether two courses of one scenario are the same.
	SameCourse(a, b []string) bool
}

// Name returns the id of a protocol.
func Name(p Protocol) string { return p.Kind().Protocol }

// Roles returns the roles that targets of a protocol can have, the default one first. If there are several, the tags
// of a scenario name those to which it applies.
func Roles(p Protocol) []string { return p.Kind().Roles }

// Vetter is an optional interface of protocols that read more than the profile before they run.
type Vetter interface {
	// Vet checks what a profile refers to.
	Vet(p *target.Profile) error
}

// Explorer is an optional interface of protocols that can draw random sequences.
type Explorer interface {
	// Explore draws a sequence: the lines of a scenario, in the protocol's own steps. Every sequence is legal.
	Explore(draw *rapid.T) []string
	// Explored returns the tags of such a scenario: the clauses that any sequence judges, and what it needs.
	Explored() []string
}

// RoleExplorer is an optional interface of protocols whose random sequences differ by the role of the target.
type RoleExplorer interface {
	ExplorerOf(role string) Explorer // nil: there is none
}

// ExplorerOf returns what draws random sequences for targets of a role, if anything does.
func ExplorerOf(p Protocol, role string) (ex Explorer, ok bool) {
	if by, differ := p.(RoleExplorer); differ {
		ex = by.ExplorerOf(role)
		return ex, ex != nil
	}
	ex, ok = p.(Explorer)
	return ex, ok
}

// Shortener is an optional interface of explorers whose sequences may lose any line but the last.
type Shortener interface {
	// Legal reports whether a sequence that has lost some of its lines is still legal.
	Legal(lines []string) bool
}

// Holder is an optional interface of protocols whose scenarios keep turns waiting for the model.
type Holder interface {
	// MaxWaitingTurns returns the maximum number of turns that a scenario keeps waiting at once.
	MaxWaitingTurns(sc *godog.Scenario) int
}

// Slot is what the runner gives a scenario: a target, or the reason to skip it.
type Slot struct {
	Run     target.Running
	Nonce   string
	Skip    verdict.Outcome // "" to run
	Reason  string
	CutOff  bool   // it is skipped for lack of time, and might have broken a clause
	Beside  bool   // others run at the same time
	Again   bool   // it has run before, and is judged again
	Lender  Lender // nil: the slot is never lent
	Turns   Lender // for the target's workers that held turns occupy; nil: no such turns, or never lent
	Release func() // called once when the scenario is over; may be nil
}

// Result is the result of one scenario over one driver.
type Result struct {
	Scenario *godog.Scenario
	Driver   string
	Outcome  verdict.Outcome
	Reason   string
	Clauses  []verdict.Judgement // of its tags, in order
	Monitors []verdict.Judgement // of monitors
	Failures []Failure           // of steps, then of monitors
	Notes    []string
	Security []string // observations about the target's security
	Target   []string // other observations about the target as a whole
	Steps    []StepResult
	AtEnd    []string                   // clauses that were judged after the last step, sorted
	Judges   map[string][]verdict.Judge // what has judged each clause, in order of appearance
	Duration time.Duration
	Records  []transcript.Record
	Evidence []Evidence
	Run      target.Running      // the target it ran against; nil if it did not run
	Lost     int                 // records beyond the bounds of the transcript
	Squeezed bool                // it could have held some of them if no other scenario had run
	Last     []transcript.Record // the last of these; see transcript.Last
	Reached  Reach
	// Behaviour counts the obligations of the model that arose; nil if the protocol has none
	Behaviour []obligation.Reached
	Late      int    // waits that reached their limit
	Doubt     *Doubt // nil: nothing that it failed depends on what the run may still find out

	t     *transcript.Transcript // of Records
	begun []stepMark
}

// StepOf returns the step in which a record came; the zero value if it came in none.
func (r Result) StepOf(record int) StepRef { return stepOf(r.begun, record) }

// Abridged returns a result that waits for its scenario to run again. If more was sent than a transcript holds, only
// the first n records are kept meanwhile; if none of them was wrong, no more than a few, so that there is room for
// other scenarios.
func (r Result) Abridged(n int) Result {
	if len(r.Failures) == 0 {
		few := 0
		i := slices.IndexFunc(r.Records, func(rec transcript.Record) bool {
			few += len(rec.Bytes)
			return few > fewBytes
		})
		if i >= 0 {
			n = min(n, i)
		}
	}
	if r.Lost == 0 || len(r.Records) <= n {
		return r
	}
	r.Lost += len(r.Records) - n
	r.Records = slices.Clone(r.Records[:n])
	r.Release()
	return r
}

// fewBytes is kept of each of many scenarios, decoded.
const fewBytes = 8 << 10

// Memory is the approximate number of bytes that the records take; see transcript.Memory.
func (r Result) Memory() int {
	if r.t == nil {
		return 0
	}
	return r.t.Memory()
}

// Release says that the records are needed no more; see transcript.Release.
func (r Result) Release() {
	if r.t != nil {
		r.t.Release()
	}
}

// StepResult is the result of one step of a scenario.
type StepResult struct {
	Keyword  string
	Text     string
	Status   string
	Duration time.Duration
	Err      error
	Clauses  []string // that the step judged, sorted
}

// UnreachableError says that nothing listens at the target's address.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string { return "the target cannot be reached: " + e.Err.Error() }
func (e *UnreachableError) Unwrap() error { return e.Err }

// Unreachable reports whether an error of opening means that nothing listens at the target's address. A server that
// accepts a connection and resets it is reachable.
func Unreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && !errors.Is(err, syscall.ECONNRESET)
}

// Is makes godog show untested scenarios as skipped. godog counts skipped scenarios as passed; our verdict does not.
func (e *NotTestedError) Is(other error) bool     { return other == godog.ErrSkip }
func (e *NotApplicableError) Is(other error) bool { return other == godog.ErrSkip }

// Suite runs one protocol's scenarios in godog, and reports the result of each.
type Suite struct {
	Protocol Protocol
	Env      *Env
	Own      bool                                               // scenarios may use raw steps (RawExpressions)
	Severs   bool                                               // scenarios may cut a connection (Severs)
	Begin    func(ctx context.Context, sc *godog.Scenario) Slot // called concurrently
	Done     func(Result)                                       // called concurrently, once per scenario
}

// scenario is the state of one running scenario.
type scenario struct {
	s       *Suite
	world   *World
	slot    Slot
	cancel  context.CancelFunc
	started time.Time
	step    time.Time
	steps   []StepResult
	first   error // the error that ended the scenario
	once    sync.Once

	handlers *handlerTable // of its steps
}

// Initialize registers a scenario's hooks and steps; it is godog's ScenarioInitializer.
func (s *Suite) Initialize(sc *godog.ScenarioContext) { s.initializeScenario(sc) }

func (s *Suite) initializeScenario(sc *godog.ScenarioContext) *scenario {
	r := &scenario{s: s, handlers: &handlerTable{}}
	r.handlers.world = func() *World { return r.world }
	sc.Before(r.beforeScenario)
	holding.Store(sc, r.handlers)
	s.Protocol.Register(sc, func() *World { return r.world })
	if s.Own {
		registerRaw(sc, func() *World { return r.world })
	}
	if s.Severs {
		registerSevering(sc, s.Protocol, func() *World { return r.world })
	}
	holding.Delete(sc)
	sc.StepContext().Before(func(ctx context.Context, st *godog.Step) (context.Context, error) {
		r.step = time.Now()
		if r.world != nil {
			r.world.noteStep(StepRef{len(r.steps) + 1, StepText(st)})
			r.world.noteStepBegin(st.Type == messages.PickleStepType_OUTCOME, r.step)
		}
		return withKind(ctx, st.Text), nil
	})
	sc.StepContext().After(r.afterStep)
	sc.After(r.afterScenario)
	return r
}

func (r *scenario) beforeScenario(ctx context.Context, sc *godog.Scenario) (context.Context, error) {
	r.started = time.Now()
	r.slot = r.s.Begin(ctx, sc)
	if r.slot.Skip != "" {
		return ctx, fmt.Errorf("%w: %s", godog.ErrSkip, r.slot.Reason)
	}
	var tags []string
	for _, t := range sc.Tags {
		tags = append(tags, t.Name)
	}
	r.started = time.Now()
	t, err := r.s.Env.newTranscript(r.s.Protocol.Bind(r.s.Env, r.slot.Run))
	if err != nil {
		return ctx, err
	}
	r.world = newWorld(r.s.Env, r.slot.Run, r.slot.Nonce, tags, t)
	r.world.beside, r.world.again = r.slot.Beside, r.slot.Again
	r.world.lender, r.world.turns = r.slot.Lender, r.slot.Turns
	if begun := r.s.Env.Begun; begun != nil {
		begun(r.world.T)
	}
	ctx, r.cancel = deadline.WithLimit(ctx, r.s.Env.Profile.Limits.Scenario.Duration)
	r.world.over = ctx.Err
	return ctx, nil
}

func (r *scenario) afterStep(ctx context.Context, st *godog.Step, status godog.StepResultStatus,
	err error) (context.Context, error) {
	if r.world == nil {
		return ctx, nil
	}
	if err != nil && r.first == nil {
		r.first = err
	}
	if found := r.world.fresh; len(found) > 0 && err == nil { // the step found failures, but the scenario continues
		status, err = godog.StepFailed, &BrokenError{Failures: found}
	}
	r.world.fresh = nil
	r.steps = append(r.steps, StepResult{Keyword: stepKeyword(st), Text: st.Text, Status: status.String(),
		Duration: time.Since(r.step), Err: err,
		Clauses: slices.Sorted(slices.Values(r.world.judging))})
	r.world.judging = nil
	return ctx, nil
}

// StepText returns a step with its keyword, which is * if it has no other.
func StepText(st *godog.Step) string { return stepKeyword(st) + " " + st.Text }

func stepKeyword(st *godog.Step) string {
	switch st.Type {
	case "Context":
		return "Given"
	case "Action":
		return "When"
	case "Outcome":
		return "Then"
	}
	return "*"
}

// afterScenario finishes the scenario: late judgements, monitors, the result. A scenario that broke a clause also fails
// in godog.
func (r *scenario) afterScenario(ctx context.Context, sc *godog.Scenario, err error) (context.Context, error) {
	var fail error
	r.once.Do(func() { fail = r.finishScenario(sc, err) })
	return ctx, fail
}

func (r *scenario) finishScenario(sc *godog.Scenario, err error) error {
	defer r.handlers.dropHandlers()
	if r.slot.Release != nil {
		defer r.slot.Release()
	}
	if r.world == nil {
		if r.slot.Skip == "" && err != nil { // it could not start
			r.slot.Skip, r.slot.Reason = verdict.HarnessError, err.Error()
		}
		r.s.Done(Result{Scenario: sc, Driver: r.s.Env.Driver.Name(), Outcome: r.slot.Skip, Reason: r.slot.Reason,
			Clauses: skippedJudgements(sc, r.slot)})
		return nil
	}
	defer r.cancel()
	if r.first == nil {
		r.first = err
	}
	took := time.Since(r.started)
	r.world.whole = r.first == nil && len(r.steps) == len(sc.Steps)
	r.world.noteStep(StepRef{})
	r.world.Finish()
	if r.first == nil && len(r.steps) < len(sc.Steps) {
		r.first = errors.New("the scenario ended before its last step")
	}
	res := r.world.sumUpResult(r.s.Protocol.Monitors(), r.first)
	res.AtEnd, res.Judges = slices.Sorted(slices.Values(r.world.judging)), r.world.judges
	res.Scenario, res.Driver, res.Steps, res.Duration, res.Run = sc, r.s.Env.Driver.Name(), r.steps, took, r.slot.Run
	r.s.Done(res)
	if r.first == nil && len(r.world.failures) > 0 && res.Outcome == verdict.Failed {
		return &BrokenError{Failures: r.world.failures}
	}
	return nil
}

func skippedJudgements(sc *godog.Scenario, slot Slot) (out []verdict.Judgement) {
	for _, t := range sc.Tags {
		if id := t.Name[1:]; IsClause(id) {
			out = append(out, verdict.Judgement{Clause: id, Outcome: slot.Skip, Reason: slot.Reason,
				Unfinished: slot.CutOff})
		}
	}
	return out
}

// NotStored says how many records a transcript has lost.
func NotStored(n int) string {
	if n == 1 {
		return "1 record was not stored"
	}
	return fmt.Sprintf("%d records were not stored", n)
}

// countRepeated counts the requests that a driver has sent again.
func (w *World) countRepeated(records []transcript.Record) (n int) {
	for _, r := range records {
		if r.Kind == transcript.Remark && strings.HasPrefix(r.Label, driver.Repeated) {
			n++
		}
	}
	return n
}

// sumUpResult sums up the scenario and runs the monitors on its transcript.
func (w *World) sumUpResult(monitors []monitor.Monitor, err error) Result {
	err = w.countUnexplained(monitors, err)
	outcome, reason := w.deriveOutcome(err)
	first, whole := w.T.First()
	res := Result{Outcome: outcome, Reason: reason, Clauses: w.clauseOutcomes(outcome, reason),
		Notes: w.notes, Security: w.warnings, Target: w.aboutTarget, Records: first, Evidence: w.evidence,
		Lost:     w.T.Overflow(),
		Squeezed: w.T.Squeezed(), Last: w.T.Last(), Reached: w.reached, Late: w.late, Doubt: w.doubt, t: w.T,
		begun: w.begun, Behaviour: w.countReached()}
	if n := w.countRepeated(res.Records); n > 0 {
		res.Notes = append(res.Notes, fmt.Sprintf("%d requests failed because their connection closed before any answer, "+
			"and were repeated on a new connection", n))
	}
	if n := w.T.Flooded(); n > 0 {
		res.Notes = append(res.Notes, fmt.Sprintf("of many comments or pings, %d were counted but not stored", n))
	}
	if res.Lost > 0 {
		res.Notes = append(res.Notes, "the target sent more than a transcript holds: "+NotStored(res.Lost))
	}
	if !whole {
		res.Notes = append(res.Notes, fmt.Sprintf("the monitors judged the first %d records of %d, as in a run", len(first),
			w.T.Len()))
	}
	var found []Failure
	for _, m := range w.readModel(monitors, whole) {
		if !m.For(w.Env.Role) {
			continue
		}
		said, failures := w.reduceFindings(m, res.Records, nil)
		for i, f := range failures {
			if f.At > 0 && f.At <= len(res.Records) {
				failures[i].when = w.momentOf(w.T.Began().Add(res.Records[f.At-1].At))
				failures[i].Step = stepOf(w.begun, f.At)
			}
		}
		res.Monitors, found = append(res.Monitors, said...), append(found, failures...)
	}
	res.Failures = slices.Concat(w.failures, found) // the monitors have added following findings to the former
	return res
}
