package steps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Live is a scenario whose steps arrive while it runs, one at a time. It has the life cycle of any other scenario:
// the same hooks, handlers, world and monitors, so that steps judge as in a run. It is tagged with every tested
// clause of the ledger. Safe for concurrent use; steps are serialised.
type Live struct {
	orders  chan liveTask
	closing chan struct{}
	over    chan struct{}
	world   *World
	exprs   []string
	result  Result

	progress progress
	monitors []monitor.Monitor // those of the target's role
}

// Judged is the result of one step of a Live.
type Judged struct {
	StepResult
	Outcomes []verdict.Judgement // what this step alone says of each clause that it judged; sorted by clause
	Failures []Failure           // with what was expected and observed
}

// StepArg is a step's argument: at most one of the two.
type StepArg struct {
	Text  *string    // a doc string
	Table [][]string // rows of a data table, all of one length; nil for none
}

// ErrLiveOver is returned by the methods of a Live after its end.
var ErrLiveOver = errors.New("the live session has ended")

// liveTask is a task for the scenario's goroutine.
type liveTask struct {
	ctx  context.Context
	do   func(ctx context.Context, r *scenario)
	done chan<- struct{}
}

// going is the only step in the feature of a Live.
const going = "the live session goes on"

// OpenLive begins a live scenario of a suite, whose Done is called at its end. Env.Profile.Limits.Scenario bounds the
// whole session. If the Slot is skipped, OpenLive returns an error. The session ends with ctx, or by Close.
func OpenLive(ctx context.Context, s *Suite) (*Live, error) {
	l := &Live{orders: make(chan liveTask), closing: make(chan struct{}), over: make(chan struct{})}
	for _, m := range s.Protocol.Monitors() {
		if m.For(s.Env.Role) {
			l.monitors = append(l.monitors, m)
		}
	}
	told := s.Done
	suite := *s
	suite.Own = true
	suite.Done = func(res Result) {
		l.result = res
		if told != nil {
			told(res)
		}
	}
	began := make(chan struct{})
	initialize := func(sc *godog.ScenarioContext) {
		r := suite.initializeScenario(sc)
		sc.Step(`^`+going+`$`, func(ctx context.Context) error {
			r.world.live, r.world.progress = true, &l.progress
			l.world, l.exprs = r.world, r.handlers.exprs
			close(began)
			l.run(ctx, r)
			return nil
		})
	}
	text := tagLine(s.Env.Ledger) + "Feature: live\n  Scenario: live\n    * " + going + "\n"
	o := &godog.Options{Format: "progress", Output: io.Discard, NoColors: true, Strict: true, DefaultContext: ctx,
		FeatureContents: []godog.Feature{{Name: "live", Contents: []byte(text)}}}
	go func() {
		defer close(l.over)
		godog.TestSuite{Name: "live", ScenarioInitializer: initialize, Options: o}.Run()
	}()
	select {
	case <-began:
		return l, nil
	case <-l.over:
		return nil, fmt.Errorf("open a live session: %s", l.result.Reason)
	}
}

// tagLine tags a live scenario with every clause that can be judged.
func tagLine(ledger *verdict.Ledger) string {
	tags := []string{"@live"}
	for _, row := range ledger.Rows() {
		if row.Tested() {
			tags = append(tags, "@"+row.ID)
		}
	}
	return strings.Join(tags, " ") + "\n"
}

// run executes orders until the session is closed.
func (l *Live) run(ctx context.Context, r *scenario) {
	for {
		select {
		case o := <-l.orders:
			one, cancel := context.WithCancel(ctx)
			stop := context.AfterFunc(o.ctx, cancel)
			o.do(one, r)
			stop()
			cancel()
			close(o.done)
		case <-l.closing:
			return
		case <-ctx.Done():
			return
		}
	}
}

// runOnScenario runs a function on the scenario's goroutine, and waits for it.
func (l *Live) runOnScenario(ctx context.Context, do func(ctx context.Context, r *scenario)) error {
	done := make(chan struct{})
	select {
	case l.orders <- liveTask{ctx, do, done}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.over:
		return ErrLiveOver
	}
	<-done
	return nil
}

// Expressions returns the expressions of the available steps, in the order of registration.
func (l *Live) Expressions() []string { return l.exprs }

// Transcript returns the transcript of the session, which keeps growing.
func (l *Live) Transcript() *transcript.Transcript { return l.world.T }

// Do executes a step, given without its keyword. The error is an *UndefinedError, an *ArgumentError, ErrLiveOver or
// the cause of ctx; the step's own result is in Judged. A step interrupted by ctx judges only what it has seen, and
// the session continues.
func (l *Live) Do(ctx context.Context, text string, arg StepArg) (out Judged, err error) {
	failed := l.runOnScenario(ctx, func(ctx context.Context, r *scenario) {
		l.progress.change(func(now *Progress) { *now = Progress{Step: text, Since: time.Now()} })
		defer l.progress.change(func(now *Progress) { *now = Progress{} })
		out, err = r.carryOut(ctx, text, arg)
	})
	return out, errors.Join(failed, err)
}

// Send writes bytes to the connection of a party unchanged, and returns the number of the record. If messages are
// HTTP requests, the method and the path come first: POST /message {"type":"abort"}. binary, which only a WebSocket
// supports, makes it a binary frame. The error is a *NoPartyError, that of the driver, or names what is missing.
func (l *Live) Send(ctx context.Context, party string, body []byte, binary bool) (mark int, err error) {
	failed := l.runOnScenario(ctx, func(ctx context.Context, r *scenario) {
		mark, err = r.world.sendRaw(ctx, party, body, binary)
	})
	return mark, errors.Join(failed, err)
}

// Hang closes the connection of a party.
func (l *Live) Hang(ctx context.Context, party string, how driver.CloseMode) (err error) {
	failed := l.runOnScenario(ctx, func(_ context.Context, r *scenario) { err = r.world.endConnection(party, how) })
	return errors.Join(failed, err)
}

// Parties returns the names of all parties that have been connected, sorted.
func (l *Live) Parties(ctx context.Context) (all []string, err error) {
	err = l.runOnScenario(ctx, func(_ context.Context, r *scenario) { all = r.world.Parties() })
	return all, err
}

// Close ends the session like any scenario, and returns its result. It may be called again.
func (l *Live) Close() Result {
	end := func(context.Context, *scenario) { close(l.closing) }
	select {
	case <-l.over:
	case l.orders <- liveTask{context.Background(), end, make(chan struct{})}:
		<-l.over
	}
	return l.result
}

// NoPartyError says that a party is not connected.
type NoPartyError struct {
	Party string
	Known []string
}

func (e *NoPartyError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("%s is not connected (no connections are open)", e.Party)
	}
	return fmt.Sprintf("%s is not connected (connected: %s)", e.Party, strings.Join(e.Known, ", "))
}

// carryOut executes one step as godog would, and returns its result.
func (r *scenario) carryOut(ctx context.Context, text string, arg StepArg) (Judged, error) {
	text = Current(r.s.Protocol, text)
	at := slices.IndexFunc(r.handlers.exprs, func(expr string) bool { return cachedExpression(expr).MatchString(text) })
	if at < 0 {
		return Judged{}, &UndefinedError{text, Closest(r.handlers.exprs, text, 3)}
	}
	do, groups := r.handlers.do[at], cachedExpression(r.handlers.exprs[at]).FindStringSubmatch(text)[1:]
	args, err := handlerArguments(withKind(ctx, text), do.Type(), groups, arg)
	if err != nil {
		return Judged{}, &ArgumentError{Text: text, Err: err}
	}
	w := r.world
	before := w.judged
	w.judged = map[string]verdict.Judgement{}
	began := time.Now()
	over := w.over
	w.over = ctx.Err // nothing is judged once the step is interrupted
	err = callRecovered(func() []reflect.Value { return r.handlers.callHandler(at, args) })
	w.over = over
	out := Judged{StepResult: StepResult{Keyword: "*", Text: text, Status: godogStatus(err, w.fresh),
		Duration: time.Since(began),
		Err:      err, Clauses: slices.Sorted(slices.Values(w.judging))}, Failures: slices.Clone(w.fresh)}
	for _, id := range out.Clauses {
		out.Outcomes = append(out.Outcomes, w.judged[id])
	}
	now := w.judged
	w.judged = before
	for id, j := range now {
		w.keepWorst(id, j.Outcome, j.Reason)
	}
	w.fresh, w.judging = nil, nil
	if ctx.Err() != nil && w.over() == nil { // the step was interrupted, not the session
		w.cut, w.why, w.skipped = false, "", nil
	}
	return out, nil
}

// godogStatus is the result of a step in godog's terms.
func godogStatus(err error, fresh []Failure) string {
	switch {
	case err == nil && len(fresh) == 0:
		return godog.StepPassed.String()
	case errors.Is(err, godog.ErrSkip):
		return godog.StepSkipped.String()
	}
	return godog.StepFailed.String()
}

// callRecovered returns the error of a handler's call. A panic is a harness failure, and ends only the step.
func callRecovered(call func() []reflect.Value) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the step panicked: %v", p)
		}
	}()
	for _, out := range call() {
		if e, ok := out.Interface().(error); ok {
			err = e
		}
	}
	return err
}

// ArgumentError says that an argument of a step, in its text or below it, does not fit.
type ArgumentError struct {
	Text string
	Err  error
}

func (e *ArgumentError) Error() string { return fmt.Sprintf("%q: %v", e.Text, e.Err) }
func (e *ArgumentError) Unwrap() error { return e.Err }

// handlerArguments returns the arguments of a handler: the context if it takes one, the groups of the expression, and
// the argument below the step.
func handlerArguments(ctx context.Context, f reflect.Type, groups []string, below StepArg) (args []reflect.Value,
	err error) {
	for i := range f.NumIn() {
		switch in := f.In(i); {
		case in == reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(ctx))
		case in == reflect.TypeFor[*godog.DocString]():
			if below.Text == nil {
				return nil, errors.New(`the step needs a text below it, between lines of """`)
			}
			args = append(args, reflect.ValueOf(&godog.DocString{Content: *below.Text}))
			below.Text = nil
		case in == reflect.TypeFor[*godog.Table]():
			if below.Table == nil {
				return nil, errors.New("the step needs a table below it, whose lines begin with |")
			}
			args = append(args, reflect.ValueOf(dataTable(below.Table)))
			below.Table = nil
		case len(groups) == 0:
			return nil, fmt.Errorf("the step has more parameters than its text: %s", in)
		default:
			v, err := convertGroup(in, groups[0])
			if err != nil {
				return nil, err
			}
			args, groups = append(args, v), groups[1:]
		}
	}
	if below.Text != nil || below.Table != nil {
		return nil, errors.New("the step takes nothing below it")
	}
	return args, nil
}

// convertGroup converts a group of an expression to the type of a handler's parameter.
func convertGroup(t reflect.Type, text string) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64, reflect.Int32:
		n, err := strconv.ParseInt(text, 10, t.Bits())
		if err != nil {
			return v, fmt.Errorf("%s is not a number that the step accepts", text)
		}
		v.SetInt(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return v, fmt.Errorf("%s is not a number", text)
		}
		v.SetFloat(n)
	default:
		return v, fmt.Errorf("the step takes a %s, which a text cannot give", t)
	}
	return v, nil
}

// dataTable returns a data table as godog passes it.
func dataTable(rows [][]string) *godog.Table {
	t := &godog.Table{}
	for _, row := range rows {
		r := &messages.PickleTableRow{}
		for _, cell := range row {
			r.Cells = append(r.Cells, &messages.PickleTableCell{Value: cell})
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// newTranscript makes the transcript of a scenario.
func (e *Env) newTranscript(decode func(*transcript.Record)) (*transcript.Transcript, error) {
	if e.Keep == nil {
		return transcript.New(decode), nil
	}
	return transcript.NewSpilling(decode, *e.Keep)
}

// Judge runs the monitors on the records that a run would keep (transcript.First), and returns their findings as if
// the session ended now. whole reports whether these are all records so far. It starts between two steps; steps can
// continue meanwhile.
func (l *Live) Judge(ctx context.Context) (out []verdict.Judgement, failures []Failure, whole bool, err error) {
	var records []transcript.Record
	w, err := l.whileStopped(ctx, func(w *World) { records, whole = w.T.First() })
	if err != nil {
		return nil, nil, false, err
	}
	for _, m := range l.monitors {
		said, found := w.reduceFindings(m, records, nil)
		out, failures = append(out, said...), append(failures, found...)
	}
	return out, failures, whole, nil
}

// shownBefore is the number of earlier records that JudgeAfter shows to the monitors.
const shownBefore = 1000

// JudgeAfter judges the records after mark with the monitors that judge single records (monitor.PerRecord), and
// returns the number of the last one. Its findings are a subset of those of Judge. Earlier records cost nothing.
func (l *Live) JudgeAfter(ctx context.Context, mark int) (out []verdict.Judgement, failures []Failure, last int,
	err error) {
	w, err := l.whileStopped(ctx, func(w *World) { last = w.T.Len() })
	if err != nil {
		return nil, nil, mark, err
	}
	for from := mark; from < last; {
		to := min(from+10*shownBefore, last)
		before := max(from-shownBefore, 0)
		records := w.T.Page(before, to-before)
		for _, m := range l.monitors {
			if !m.PerRecord || m.Of != nil {
				continue
			}
			said, found := w.reduceFindings(limitAfter(m, from), records, nil)
			out, failures = append(out, said...), append(failures, found...)
		}
		from = to
	}
	return out, failures, last, nil
}

// limitAfter limits a monitor to findings on records after mark.
func limitAfter(m monitor.Monitor, mark int) monitor.Monitor {
	check := m.Check
	m.Check = func(records []transcript.Record) []verdict.Finding {
		return slices.DeleteFunc(check(records), func(f verdict.Finding) bool { return f.At <= mark })
	}
	return m
}

// whileStopped waits until no step runs, calls look, and returns a world for the monitors: it has the failures
// of the steps so far, to which the monitors add theirs.
func (l *Live) whileStopped(ctx context.Context, look func(*World)) (*World, error) {
	w := &World{}
	err := l.runOnScenario(ctx, func(_ context.Context, r *scenario) {
		w.Env, w.T, w.besides.causes = r.world.Env, r.world.T, slices.Clone(r.world.besides.causes)
		w.failures = slices.Clone(r.world.failures)
		for i := range w.failures {
			w.failures[i].Following = slices.Clone(w.failures[i].Following)
			w.failures[i].others = slices.Clone(w.failures[i].others)
		}
		look(w)
	})
	return w, err
}
