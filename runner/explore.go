package runner

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cucumber/godog"
	"pgregory.net/rapid"

	"parley/features/verdict"
	"parley/reports"
	"parley/runner/tags"
	"parley/steps"
)

// exploring allows one exploration at a time, because rapid keeps its settings in global flags.
var exploring sync.Mutex

// exploredTag is on every random sequence.
const exploredTag = "@explored"

// shrinking is the default for Options.Shrinking, which bounds the search for a shorter failing sequence.
const shrinking = 15 * time.Second

// exploreSequences draws sequences and runs each as a scenario. The first one that breaks a clause is shrunk to a
// minimal one, which appears in the results as Gherkin; after that, no more sequences are drawn.
func (r *run) exploreSequences(ctx context.Context, d *driverRun) {
	ex, ok := steps.ExplorerOf(r.protocol, r.role)
	if !ok || len(d.explored) == 0 || r.o.FailFast.Why() != "" || d.blockingStage(d.explored[0]) != "" {
		return
	}
	exploring.Lock()
	defer exploring.Unlock()
	limit := cmp.Or(r.o.Shrinking, shrinking)
	byLine, shortens := ex.(steps.Shortener)
	if shortens { // which finds shorter ones than a search that draws less
		limit = 0
	}
	restore := setRapidFlags(len(d.explored), r.o.Seed, limit)
	defer restore()
	e := &exploration{run: r, driver: d}
	t := &property{}
	done := make(chan struct{})
	go func() { // a failed check exits its goroutine, like a failed test
		defer close(done)
		rapid.Check(t, func(draw *rapid.T) {
			lines := ex.Explore(draw)
			if ctx.Err() != nil || e.next == len(d.explored) {
				return
			}
			for range e.triesPerSequence() {
				if res := e.trySequence(ctx, lines); res != nil && res.Outcome == verdict.Failed {
					draw.Fatalf("a clause is broken")
				}
			}
		})
	}()
	<-done
	if e.failing != nil && shortens {
		e.shortenSequence(ctx, byLine, cmp.Or(r.o.Shrinking, shrinking))
	}
	if e.failing != nil {
		e.keepFailing(t)
	}
}

// setRapidFlags sets the flags that rapid reads so that it writes no files, and returns a function that restores them.
// It registers the testing flags first, which only test binaries have.
func setRapidFlags(checks int, seed int64, shrinking time.Duration) (restore func()) {
	testing.Init()
	if !flag.Parsed() {
		_ = flag.CommandLine.Parse(nil)
	}
	was := map[string]string{}
	for name, value := range map[string]string{
		"rapid.checks": strconv.Itoa(checks), "rapid.nofailfile": "true", "rapid.shrinktime": shrinking.String(),
		"test.short": "false",
		"rapid.seed": strconv.FormatUint(uint64(seed)&math.MaxInt64+1, 10), // 0 would mean a random seed
	} {
		if f := flag.Lookup(name); f != nil {
			was[name] = f.Value.String()
			_ = flag.Set(name, value)
		}
	}
	return func() {
		for name, value := range was {
			_ = flag.Set(name, value)
		}
	}
}

// exploration is the state of trying sequences.
type exploration struct {
	run     *run
	driver  *driverRun
	next    int // index of the next sequence in the plan
	tries   int
	failing *attempt // the last sequence that broke a clause; during shrinking, a shorter one
	broke   int      // tries that broke a clause, including the first
	steady  bool     // the failing sequence has broken a clause each time
}

// attempt is one sequence that was run.
type attempt struct {
	lines []string
	res   steps.Result
}

// triesPerSequence is how often a sequence is tried: once, but more often while a failing one is shrunk, because a race
// does not fail every time.
func (e *exploration) triesPerSequence() int {
	if e.failing == nil || e.steady {
		return 1
	}
	return 5
}

// trySequence runs a sequence. Until one breaks a clause, its result goes into the results.
func (e *exploration) trySequence(ctx context.Context, lines []string) *steps.Result {
	pl := e.driver.explored[e.next]
	e.tries++
	res := e.run.runSequence(ctx, e.driver, &pl, lines, e.tries)
	switch {
	case res == nil:
		return nil
	case res.Outcome == verdict.Failed:
		if w, ok := e.run.o.Observer.(Shrinker); ok && (e.failing == nil || len(lines) < len(e.failing.lines)) {
			w.Shrinking(len(lines))
		}
		e.failing = &attempt{lines: lines, res: *res}
		e.broke++
	case e.failing == nil:
		e.next++
		e.run.recordSequence(e.driver, pl, *res)
	}
	return res
}

// keepFailing records the shortest failing sequence in the results, with its Gherkin.
func (e *exploration) keepFailing(t *property) {
	pl := e.driver.explored[e.next]
	e.next++
	a := e.failing
	again := "it fails each time"
	if strings.Contains(t.said, "flaky") && !e.steady {
		again = fmt.Sprintf("it does not fail each time: %d of %d attempted sequences failed", e.broke, e.tries)
	}
	e.run.addNote(reports.Note{Kind: "explored", Scenario: pl.ID,
		Text: fmt.Sprintf("the shortest sequence that breaks a clause (%s):\n%s", again,
			e.run.writeFeature(a.lines, brokenBy(a.res)...))})
	e.run.recordSequence(e.driver, pl, a.res)
	e.driver.explored = e.driver.explored[:e.next] // sequences that were not drawn do not count as planned
	e.driver.plan = e.driver.plan[:e.driver.suite+e.next]
}

// recordSequence records the result of a sequence.
func (r *run) recordSequence(d *driverRun, pl Planned, res steps.Result) {
	r.finishScenario(d, pl, res)
}

// brokenBy returns the tags of the clauses that a sequence broke.
func brokenBy(res steps.Result) (marks []string) {
	for _, f := range res.Failures {
		if tag := "@" + f.Clause; !slices.Contains(marks, tag) {
			marks = append(marks, tag)
		}
	}
	return marks
}

// writeFeature writes a sequence as a feature. If marks is empty, the scenario gets the tags of a random sequence.
func (r *run) writeFeature(lines []string, marks ...string) string {
	if len(marks) == 0 {
		ex, _ := steps.ExplorerOf(r.protocol, r.role)
		marks = ex.Explored()
	}
	return featureOf(append([]string{"@" + steps.Name(r.protocol)}, marks...), "Explored", "a random sequence", lines)
}

// featureOf writes a scenario as a separate feature. The first tag is that of the feature.
func featureOf(marks []string, feature, name string, lines []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nFeature: %s\n\n  %s\n  Scenario: %s\n", marks[0], feature, strings.Join(marks[1:], " "), name)
	last := ""
	for _, l := range lines {
		keyword, text, _ := strings.Cut(l, " ")
		if keyword == last {
			keyword = "And"
		} else if keyword != "And" {
			last = keyword
		}
		b.WriteString("    " + keyword + " " + text + "\n")
	}
	return b.String()
}

// runSequence runs a drawn sequence as a scenario in its own feature; nil if it could not be run.
func (r *run) runSequence(ctx context.Context, d *driverRun, pl *Planned, lines []string, n int) *steps.Result {
	file := fmt.Sprintf("%s/explored.feature", steps.Name(r.protocol))
	fsys := fstest.MapFS{file: {Data: []byte(r.writeFeature(lines))}}
	var got *steps.Result
	s := &steps.Suite{Protocol: r.protocol, Env: d.envs,
		Begin: func(ctx context.Context, sc *godog.Scenario) steps.Slot {
			return r.sharedSlot(ctx, d, pl, fmt.Sprintf("x%d-%s-%x", n, d.name, r.salt))
		},
		Done: func(res steps.Result) { got = &res }}
	o := &godog.Options{FS: fsys, Paths: []string{file}, Concurrency: 1, Strict: true, DefaultContext: ctx, Format: silent,
		Output: io.Discard, NoColors: true}
	godog.TestSuite{Name: "explored", ScenarioInitializer: s.Initialize, Options: o}.Run()
	return got
}

// planSequences plans n sequences, if the tag selection includes them.
func planSequences(p steps.Protocol, role string, n int, sel tags.Expr) ([]Planned, error) {
	if n == 0 {
		return nil, nil
	}
	ex, ok := steps.ExplorerOf(p, role)
	if !ok {
		return nil, &UsageError{Msg: fmt.Sprintf("%s cannot be explored by random sequences", steps.Name(p))}
	}
	marks := append([]string{"@" + steps.Name(p), exploredTag}, ex.Explored()...)
	if !sel.Match(marks) {
		return nil, &UsageError{Msg: "tag expression leaves the random sequences out: add `or @explored`, or explore " +
			"without it"}
	}
	var clauses []string
	for _, t := range ex.Explored() {
		if id := strings.TrimPrefix(t, "@"); steps.IsClause(id) {
			clauses = append(clauses, id)
		}
	}
	var out []Planned
	for i := range n {
		out = append(out, Planned{ID: fmt.Sprintf("%s-explored-%03d", p.Kind().Prefix, i+1),
			Name: fmt.Sprintf("random sequence %d", i+1), Feature: "Explored",
			Location: "drawn at random", Tags: marks, Clauses: clauses, key: fmt.Sprintf("explored#%d", i+1)})
	}
	return out, nil
}

// property implements the test interface that rapid expects.
type property struct {
	said   string
	failed bool
}

func (j *property) Helper()                   {}
func (j *property) Name() string              { return "explore" }
func (j *property) Logf(f string, a ...any)   {}
func (j *property) Log(a ...any)              {}
func (j *property) Skipf(f string, a ...any)  { j.SkipNow() }
func (j *property) Skip(a ...any)             { j.SkipNow() }
func (j *property) SkipNow()                  { panic("a sequence cannot be skipped") }
func (j *property) Errorf(f string, a ...any) { j.said += fmt.Sprintf(f, a...); j.failed = true }
func (j *property) Error(a ...any)            { j.said += fmt.Sprint(a...); j.failed = true }
func (j *property) Fatalf(f string, a ...any) { j.Errorf(f, a...); j.FailNow() }
func (j *property) Fatal(a ...any)            { j.Error(a...); j.FailNow() }
func (j *property) FailNow()                  { j.failed = true; runtime.Goexit() }
func (j *property) Fail()                     { j.failed = true }
func (j *property) Failed() bool              { return j.failed }

// steadily is how often a failing sequence has to fail again before one try of a shorter one counts.
const steadily = 3

// shortenSequence leaves lines out of the failing sequence as long as what remains is legal and breaks one of the
// clauses that the sequence broke: first many at once, then one by one, at last in pairs, whose lines make sense only
// together. It ends when nothing more can be left out, or at the limit.
func (e *exploration) shortenSequence(ctx context.Context, rules steps.Shortener, limit time.Duration) {
	found, end := e.failing, time.Now().Add(limit)
	broken := brokenBy(found.res)
	fails := func(lines []string) bool {
		for range e.triesPerSequence() {
			if ctx.Err() != nil || time.Now().After(end) {
				return false
			}
			shortest := e.failing
			res := e.trySequence(ctx, lines)
			if res != nil && res.Outcome == verdict.Failed && slices.ContainsFunc(brokenBy(*res), func(mark string) bool {
				return slices.Contains(broken, mark)
			}) {
				return true
			}
			e.failing = shortest
		}
		return false
	}
	e.steady = true
	for range steadily {
		e.steady = e.steady && fails(found.lines)
	}
	lines := found.lines
	without := func(out ...int) bool { // the last line judges
		var less []string
		for i, line := range lines {
			if !slices.Contains(out, i) {
				less = append(less, line)
			}
		}
		if !rules.Legal(less) || !fails(less) {
			return false
		}
		lines = less
		return true
	}
	for size := len(lines) / 2; size > 0; size /= 2 {
		for i := 0; i < len(lines)-1; {
			if !without(upTo(i, min(i+size, len(lines)-1))...) {
				i += size
			}
		}
	}
	for more := true; more; {
		more = false
		for i := len(lines) - 2; i >= 0; i-- {
			more = without(i) || more
			for j := i - 1; j >= 0 && i < len(lines)-1; j-- {
				more = without(j, i) || more
			}
		}
	}
}

// upTo lists the numbers from one up to another, which is left out.
func upTo(from, to int) (all []int) {
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}
