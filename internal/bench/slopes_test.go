package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/cputime"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/simulator/load"
	"parley/steps/protocols"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// slope returns the exponent by which costs grow with sizes: the slope of the line that fits their logarithms best.
func slope(sizes []int, costs []float64) float64 {
	var x, y, xx, xy float64
	n := float64(len(sizes))
	for i := range sizes {
		a, b := math.Log(float64(sizes[i])), math.Log(costs[i])
		x, y, xx, xy = x+a, y+b, xx+a*a, xy+a*b
	}
	return (n*xy - x*y) / (n*xx - x*x)
}

func TestSlope(t *testing.T) {
	for _, tt := range []struct{ exponent, want float64 }{{0, 0}, {1, 1}, {2, 2}, {1.05, 1.05}} {
		sizes, costs := []int{10, 20, 40, 80}, []float64{}
		for _, n := range sizes {
			costs = append(costs, 7*math.Pow(float64(n), tt.exponent))
		}
		if got := slope(sizes, costs); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("n^%v: slope %v", tt.exponent, got)
		}
	}
}

// cost is what a piece of work takes of the processor and of memory.
type cost struct{ cpu, bytes, objects float64 }

// costOf measures do: the least of so many runs, since other work on the machine only adds.
func costOf(b *testing.B, runs int, do func() error) (least cost) {
	for i := range runs {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		used := cputime.Used()
		if err := do(); err != nil {
			b.Fatal(err)
		}
		cpu := (cputime.Used() - used).Seconds()
		runtime.ReadMemStats(&after)
		one := cost{cpu, float64(after.TotalAlloc - before.TotalAlloc), float64(after.Mallocs - before.Mallocs)}
		if i == 0 {
			least = one
		}
		least = cost{min(least.cpu, one.cpu), min(least.bytes, one.bytes), min(least.objects, one.objects)}
	}
	return least
}

// BenchmarkSlopes prints what scenarios, records and sessions cost as their number grows, and reports the slopes of
// the logarithms: 1 is a cost in proportion. docs/performance.md has the figures.
func BenchmarkSlopes(b *testing.B) {
	b.Run("scenarios", func(b *testing.B) { slopes(b, 2, []int{50, 100, 200, 400}, explored) })
	b.Run("reports", func(b *testing.B) { slopes(b, 3, []int{250, 500, 1000, 2000}, reported) })
	b.Run("sessions", func(b *testing.B) { slopes(b, 2, []int{50, 100, 200, 400}, loaded) })
	b.Run("records", func(b *testing.B) {
		all := everyRecord(b, "agent-select", "")
		slopes(b, 3, []int{2000, 4000, 8000, 16_000, 32_000}, func(n int) error { return recorded(all, n) })
	})
	for _, of := range []struct{ protocol, role string }{{"agent-select", ""}, {"session-chat", ""},
		{"session-runtime", ""}, {"external-agent", "host"}, {"external-agent", "relay"}, {"external-agent", "agent"}} {
		b.Run(strings.TrimSpace("monitors of "+of.protocol+" "+of.role), func(b *testing.B) {
			all := everyRecord(b, of.protocol, of.role)
			p, err := protocols.All.Find(of.protocol)
			if err != nil {
				b.Fatal(err)
			}
			slopes(b, 3, []int{4000, 8000, 16_000, 32_000}, func(n int) error {
				records := first(all, n)
				for _, m := range p.Monitors() {
					m.Check(records)
				}
				return nil
			})
		})
	}
}

// slopes measures do for each size, so many times, and reports the slopes.
func slopes(b *testing.B, runs int, sizes []int, do func(n int) error) {
	for b.Loop() {
		var cpu, size, objects []float64
		for _, n := range sizes {
			c := costOf(b, runs, func() error { return do(n) })
			b.Logf("%6d: %8.1f ms of processor time, %8.2f MB and %9.0f objects allocated", n, c.cpu*1000, c.bytes/1e6,
				c.objects)
			cpu, size, objects = append(cpu, c.cpu), append(size, c.bytes), append(objects, c.objects)
		}
		b.ReportMetric(slope(sizes, cpu), "cpu-slope")
		b.ReportMetric(slope(sizes, size), "bytes-slope")
		b.ReportMetric(slope(sizes, objects), "objects-slope")
	}
}

// explored runs so many random sequences, each of which is a scenario, and a preflight.
func explored(n int) error {
	t := bundled.All.For(protocols.Kinds(), "session-runtime", "")
	res, err := runner.Run(context.Background(), runner.Options{Protocols: protocols.All, Profile: t.Profile,
		Launcher: t.Launcher, Brain: t.Brain, Drivers: []string{"ws"}, Tags: "@explored", AllowIncomplete: true, Explore: n})
	if err == nil && res.Exit != verdict.ExitConformant {
		err = fmt.Errorf("%d sequences: %s", n, res.Verdict)
	}
	return err
}

// reported writes every report of a run of so many scenarios.
func reported(n int) error {
	run := reports.Run{Protocol: "agent-select", Verdict: verdict.Conformant}
	for i := range n {
		s := reports.Scenario{ID: fmt.Sprintf("2.1-%d", i), Name: fmt.Sprintf("scenario %d", i), Driver: "ws",
			Outcome: verdict.Passed, Feature: "a feature"}
		for step := range 10 {
			s.Steps = append(s.Steps, reports.Step{Keyword: "Then ", Text: fmt.Sprintf("step %d", step), Status: "passed"})
		}
		run.Scenarios = append(run.Scenarios, s)
	}
	r := &reports.Results{Schema: reports.SchemaID, Verdict: verdict.Conformant, Runs: []reports.Run{run}}
	for _, write := range []func(io.Writer, *reports.Results) error{reports.WriteJSON, reports.WriteHTML,
		reports.WriteJUnit} {
		if err := write(io.Discard, r); err != nil {
			return err
		}
	}
	return nil
}

// everyRecord returns the records of the scenarios of a suite as those of one transcript. The parties of each scenario
// have names of their own.
func everyRecord(b *testing.B, protocol, role string) (all []transcript.Record) {
	t := bundled.All.For(protocols.Kinds(), protocol, role)
	var mu sync.Mutex
	_, err := runner.Run(b.Context(), runner.Options{Protocols: protocols.All, Profile: t.Profile, Launcher: t.Launcher,
		Brain: t.Brain, Role: role, Drivers: []string{"ws"}, AllowIncomplete: true,
		Finished: func(p runner.Planned, records []transcript.Record) {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range records {
				all = append(all, named(r, p.ID+" "))
			}
		}})
	if err != nil || len(all) < 500 {
		b.Fatal(len(all), err)
	}
	return all
}

func named(r transcript.Record, scenario string) transcript.Record {
	if r.Conn != "" {
		r.Conn = scenario + r.Conn
	}
	r.Reply = 0
	return r
}

// first returns so many records: all, again and again.
func first(all []transcript.Record, n int) []transcript.Record {
	out := make([]transcript.Record, 0, n)
	for round := 0; ; round++ {
		for _, r := range all {
			if len(out) == n {
				return out
			}
			r = named(r, fmt.Sprint(round, " "))
			r.N, r.At = len(out)+1, time.Duration(len(out))*time.Millisecond
			out = append(out, r)
		}
	}
}

// recorded appends so many records to a transcript that keeps the older ones in a file, writes a recording of them, and
// reads it.
func recorded(all []transcript.Record, n int) error {
	t, err := transcript.NewSpilling(nil, transcript.Keep{Records: 200})
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }()
	for _, r := range first(all, n) {
		t.Append(r)
	}
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{}, nil)
	if err != nil {
		return err
	}
	for r := range t.From(0) {
		if err := w.Add(r); err != nil {
			return err
		}
	}
	in, err := recording.NewReader(strings.NewReader(file.String()))
	for err == nil {
		_, err = in.Next()
	}
	if err == io.EOF {
		err = nil
	}
	return err
}

// loaded loads a server with so many sessions, each of which acts once a second for a second, and judges them.
func loaded(n int) error {
	t := bundled.All.For(protocols.Kinds(), "session-chat", "")
	res, err := load.Run(context.Background(), load.Options{Protocols: protocols.All, Profile: t.Profile,
		Launcher: t.Launcher, Brain: t.Brain, Driver: "ws", Sessions: n, Duration: time.Second, Rate: float64(n),
		Timeout: time.Minute})
	if err == nil && res.Load.Opened != n {
		err = fmt.Errorf("%d of %d sessions opened", res.Load.Opened, n)
	}
	return err
}
