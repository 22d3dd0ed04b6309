package load

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"parley/reports"
	"parley/steps"
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

func histogram() *hdrhistogram.Histogram { return hdrhistogram.New(lowest, highest, digits) }

func newMeter(stages int) *meter {
	m := &meter{acts: map[string]*act{}, all: histogram(), latest: histogram(), errors: map[string]*failing{}}
	for range stages {
		m.stages = append(m.stages, &act{latency: histogram()})
	}
	return m
}

// done measures an act. kind is "" for one that succeeded. stage is ignored for connecting.
func (m *meter) took(name string, stage int, latency time.Duration, kind, example string) {
	us := min(max(int64(latency/time.Microsecond), lowest), highest)
	m.mu.Lock()
	defer m.mu.Unlock()
	one := m.act(name)
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
		m.fails(kind, example, 1)
	}
}

// act returns the figures of an act. The caller holds the lock.
func (m *meter) act(name string) *act {
	if m.acts[name] == nil {
		m.acts[name] = &act{latency: histogram()}
		m.names = append(m.names, name)
	}
	return m.acts[name]
}

// lost counts an error outside of acts.
func (m *meter) lost(kind, example string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed++
	m.fails(kind, example, 1)
}

// fails counts an error n times. The caller holds the lock.
func (m *meter) fails(kind, example string, n int64) {
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

// recent returns the figures so far, and the latencies since the last call.
func (m *meter) recent() (done, failed int64, p50, p99 time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p50, p99 = quantile(m.latest, 50), quantile(m.latest, 99)
	m.latest.Reset()
	return m.done, m.failed, p50, p99
}

func quantile(h *hdrhistogram.Histogram, q float64) time.Duration {
	return time.Duration(h.ValueAtQuantile(q)) * time.Microsecond
}

// figures returns the latencies of a histogram.
func figures(name string, a *act, over time.Duration) reports.LoadAct {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	h := a.latency
	out := reports.LoadAct{Name: name, Count: h.TotalCount(), Failed: a.failed, P50: ms(quantile(h, 50)),
		P90: ms(quantile(h, 90)), P99: ms(quantile(h, 99)), P999: ms(quantile(h, 99.9)), Max: ms(quantile(h, 100))}
	if over > 0 {
		out.Rate = float64(h.TotalCount()) / over.Seconds()
	}
	return out
}

// tell adds the figures to a result. over is the time of the schedule.
func (m *meter) tell(out *reports.Load, s schedule, over time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range m.names {
		out.Acts = append(out.Acts, figures(name, m.acts[name], over))
	}
	slices.SortStableFunc(out.Acts, func(a, b reports.LoadAct) int { return strings.Compare(a.Name, b.Name) })
	out.All = figures("all", &act{latency: m.all, failed: m.failed}, over)
	for i, a := range m.stages {
		one := figures("step", a, s.duration/steppings)
		one.Wanted = s.rate * float64(i+1) / steppings
		out.Steps = append(out.Steps, one)
	}
	for _, kind := range m.kinds {
		out.Errors = append(out.Errors, reports.LoadError{Kind: kind, Count: m.errors[kind].count,
			Example: m.errors[kind].example})
	}
	slices.SortStableFunc(out.Errors, func(a, b reports.LoadError) int { return int(b.Count - a.Count) })
}

// why returns the most frequent error.
func (m *meter) why() string {
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
