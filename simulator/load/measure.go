package load

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/reports"
	"parley/runner"
	"parley/steps"
	"parley/steps/monitor"
	"parley/target"
	"parley/transport/transcript"
)

// Bounds of the histograms: latencies in microseconds, with three significant digits.
const (
	lowest  = 1
	highest = int64(10 * time.Minute / time.Microsecond)
	digits  = 3
)

// maxKinds bounds the kinds of errors that are told apart.
const maxKinds = 50

// meter counts and measures. It is safe for concurrent use.
type meter struct {
	mu     sync.Mutex
	acts   map[string]*act
	names  []string
	all    *hdrhistogram.Histogram // of acts other than connecting
	latest *hdrhistogram.Histogram // since the last call of recent
	stages []*act
	errors map[string]*failing
	kinds  []string
	failed int64
	done   int64
}

// act has the figures of an act.
type act struct {
	latency *hdrhistogram.Histogram
	failed  int64
}

// failing has the figures of a kind of error.
type failing struct {
	count   int64
	example string
}

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(lowest, highest, digits) }

func newMeter(stages int) *meter {
	m := &meter{acts: map[string]*act{}, all: newHistogram(), latest: newHistogram(), errors: map[string]*failing{}}
	for range stages {
		m.stages = append(m.stages, &act{latency: newHistogram()})
	}
	return m
}

// done measures an act. kind is "" for one that succeeded. stage is ignored for connecting.
func (m *meter) measureAct(name string, stage int, latency time.Duration, kind, example string) {
	us := min(max(int64(latency/time.Microsecond), lowest), highest)
	m.mu.Lock()
	defer m.mu.Unlock()
	one := m.actFigures(name)
	m.done++
	all := []*act{one}
	if name != steps.LoadConnect && stage < len(m.stages) {
		all = append(all, m.stages[stage])
	}
	for _, a := range all {
		_ = a.latency.RecordValue(us) // within the bounds
		if kind != "" {
			a.failed++
		}
	}
	if name != steps.LoadConnect {
		_ = m.all.RecordValue(us)
	}
	_ = m.latest.RecordValue(us)
	if kind != "" {
		m.failed++
		m.countErrors(kind, example, 1)
	}
}

// actFigures returns the figures of an act. The caller holds the lock.
func (m *meter) actFigures(name string) *act {
	if m.acts[name] == nil {
		m.acts[name] = &act{latency: newHistogram()}
		m.names = append(m.names, name)
	}
	return m.acts[name]
}

// countLost counts an error outside of acts.
func (m *meter) countLost(kind, example string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed++
	m.countErrors(kind, example, 1)
}

// countErrors counts an error n times. The caller holds the lock.
func (m *meter) countErrors(kind, example string, n int64) {
	if m.errors[kind] == nil && len(m.errors) >= maxKinds {
		kind = "other"
	}
	one := m.errors[kind]
	if one == nil {
		one = &failing{example: example}
		m.errors[kind] = one
		m.kinds = append(m.kinds, kind)
	}
	one.count += n
}

// recentFigures returns the figures so far, and the latencies since the last call.
func (m *meter) recentFigures() (done, failed int64, p50, p99 time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p50, p99 = quantileOf(m.latest, 50), quantileOf(m.latest, 99)
	m.latest.Reset()
	return m.done, m.failed, p50, p99
}

func quantileOf(h *hdrhistogram.Histogram, q float64) time.Duration {
	return time.Duration(h.ValueAtQuantile(q)) * time.Microsecond
}

// latencyFigures returns the latencies of a histogram.
func latencyFigures(name string, a *act, over time.Duration) reports.LoadAct {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	h := a.latency
	out := reports.LoadAct{Name: name, Count: h.TotalCount(), Failed: a.failed, P50: ms(quantileOf(h, 50)),
		P90: ms(quantileOf(h, 90)), P99: ms(quantileOf(h, 99)), P999: ms(quantileOf(h, 99.9)), Max: ms(quantileOf(h, 100))}
	if over > 0 {
		out.Rate = float64(h.TotalCount()) / over.Seconds()
	}
	return out
}

// addToResult adds the figures to a result. over is the time of the schedule.
func (m *meter) addToResult(out *reports.Load, s schedule, over time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range m.names {
		out.Acts = append(out.Acts, latencyFigures(name, m.acts[name], over))
	}
	slices.SortStableFunc(out.Acts, func(a, b reports.LoadAct) int { return strings.Compare(a.Name, b.Name) })
	out.All = latencyFigures("all", &act{latency: m.all, failed: m.failed}, over)
	for i, a := range m.stages {
		one := latencyFigures("step", a, s.duration/steppings)
		one.Wanted = s.rate * float64(i+1) / steppings
		out.Steps = append(out.Steps, one)
	}
	for _, kind := range m.kinds {
		out.Errors = append(out.Errors, reports.LoadError{Kind: kind, Count: m.errors[kind].count,
			Example: m.errors[kind].example})
	}
	slices.SortStableFunc(out.Errors, func(a, b reports.LoadError) int { return int(b.Count - a.Count) })
}

// mostFrequentError returns the most frequent error.
func (m *meter) mostFrequentError() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	most, why := &failing{example: "no answer"}, ""
	for kind, one := range m.errors {
		if one.count > most.count {
			most, why = one, kind+": "
		}
	}
	return why + most.example
}

// memory measures both sides.
type memory struct {
	pid int // of the target; 0: not started by us

	mu         sync.Mutex
	peak       int64
	targetPeak int64
}

func newMemory(running target.Running) *memory {
	m := &memory{}
	if p, ok := running.(target.Process); ok {
		m.pid = p.PID()
	}
	return m
}

// ownMemory returns the bytes that this process uses, after a collection.
func ownMemory() int64 {
	runtime.GC()
	runtime.GC() // what a pool has kept since the parsing of the suite goes at the second
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc + s.StackInuse)
}

// ofTarget returns the bytes of the target's process; 0 if that is unknown.
func (m *memory) ofTarget() int64 {
	if m.pid == 0 {
		return 0
	}
	return residentMemory(m.pid)
}

// samplePeaks updates the peaks.
func (m *memory) samplePeaks() {
	ours, theirs := residentMemory(0), m.ofTarget()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peak, m.targetPeak = max(m.peak, ours), max(m.targetPeak, theirs)
}

// ownPeak returns the peak of this process.
func (m *memory) ownPeak() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peak
}

// sampleUntil samples until stop closes.
func (m *memory) sampleUntil(every time.Duration, stop <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		m.samplePeaks()
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// makeResults makes the results of the load.
func (r *run) makeResults(ctx context.Context) (*reports.Results, error) {
	collect, err := runner.NewPassive(runner.PassiveOptions{Protocols: r.o.Protocols, Profile: r.o.Profile,
		URL: r.target.BaseURL(), Roles: []string{r.role.Name}, Strict: r.o.Strict, Out: r.o.Out, Explain: r.o.Explain,
		Through: r.o.Driver, By: "load", Monitors: []monitor.Monitor{r.plan.Judges}})
	if err != nil {
		return nil, err
	}
	redact := transcript.NewRedactor(r.o.Profile.Secrets...)
	for _, e := range r.judge.evidence {
		collect.Add(runner.Observed{Role: r.role.Name, Conn: e.life.name, T: transcriptOf(e.life, r.began), Judged: e.judged,
			Failures: e.failures, Whole: !e.life.cut, Name: "connection " + e.life.name + " under load", Redact: redact})
	}
	if v := r.judge.last; v != nil {
		var all []verdict.Judgement
		for _, id := range slices.Sorted(maps.Keys(r.judge.worst)) {
			if o := r.judge.worst[id]; o == verdict.Passed || o == verdict.NotTested {
				all = append(all, verdict.Judgement{Clause: id, Outcome: o})
			}
		}
		collect.Add(runner.Observed{Role: r.role.Name, Conn: v.name, T: transcriptOf(v, r.began), Judged: all,
			Whole: !v.cut, Redact: redact, Duration: r.elapsed(),
			Name: fmt.Sprintf("%s under load, such as connection %s", words.Counted(r.o.Sessions, "session"), v.name)})
	}
	r.completeFigures()
	out := collect.Results()
	out.Started, out.Duration, out.Load = r.began.UTC(), float64(r.elapsed().Milliseconds()), &r.out
	for _, text := range r.out.Said() {
		out.Runs[0].Notes = append(out.Runs[0].Notes, reports.Note{Kind: "load", Text: text})
	}
	r.setExitCode(ctx, out)
	return out, nil
}

// completeFigures completes the figures.
func (r *run) completeFigures() {
	f := &r.out
	f.Driver, f.Shape, f.Sessions, f.Rate = r.o.Driver, string(r.o.Shape), r.o.Sessions, r.o.Rate
	f.Duration = float64(r.o.Duration.Milliseconds())
	f.Sent, f.Received = r.sent.Load(), r.received.Load()
	f.Lives, f.Unjudged = r.judge.lives.Load(), r.judge.unjudged.Load()
	f.Violations, f.BrokenLives, f.Shown = r.judge.failures, r.judge.broken, r.judge.kept
	f.Unfinished, f.Lag = r.unfinished.Load(), time.Duration(r.lag.Load()).Microseconds()
	f.Opened = int(r.ready.Load())
	f.Memory.Session = r.rested.Load() / max(int64(f.Opened), 1)
	f.Memory.Peak, f.Memory.TargetPeak = r.memory.peak, r.memory.targetPeak
	r.meter.addToResult(f, r.schedule, r.o.Duration)
	f.Thresholds = r.o.Thresholds.checkFigures(f)
}

// checkFigures compares the figures with the thresholds. An act without an answer at the end is an error.
func (t Thresholds) checkFigures(f *reports.Load) (out []reports.LoadThreshold) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	add := func(name string, limit, value float64) {
		out = append(out, reports.LoadThreshold{Name: name, Limit: limit, Value: value, OK: value <= limit})
	}
	for _, q := range []struct {
		name  string
		limit time.Duration
		value float64
	}{{"p50", t.P50, f.All.P50}, {"p99", t.P99, f.All.P99}, {"p99.9", t.P999, f.All.P999}} {
		if q.limit > 0 {
			add(q.name, ms(q.limit), q.value)
		}
	}
	errors := float64(f.All.Failed + f.Unfinished)
	if !t.Percent {
		add("errors", t.Errors, errors)
		return out
	}
	all := float64(f.Unfinished)
	for _, a := range f.Acts {
		all += float64(a.Count)
	}
	add("errors %", t.Errors, 100*errors/max(all, 1))
	return out
}

// setExitCode sets the exit code: as that of a run, 1 if a threshold was exceeded, and 5 if a part of the load is
// missing.
func (r *run) setExitCode(ctx context.Context, out *reports.Results) {
	for _, t := range r.out.Thresholds {
		if !t.OK && (out.Exit == verdict.ExitConformant || out.Exit == verdict.ExitIncomplete) {
			out.Exit = verdict.ExitNonConformant
		}
	}
	missing := r.out.Unjudged > 0 || r.out.LostSessions > 0 || len(r.out.Unshown) > 0
	if missing && out.Exit == verdict.ExitConformant {
		out.Exit = verdict.ExitIncomplete
	}
	if ctx.Err() != nil {
		out.Partial, out.Exit = true, verdict.ExitInterrupted
	}
}
