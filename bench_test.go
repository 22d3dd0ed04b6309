package parley_test

import (
	"context"
	"testing"

	"parley/features/verdict"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// BenchmarkSuite runs the whole suite of each protocol against its bundled server over all its drivers. The metric
// ms/scenario is the wall time divided by the number of scenarios.
func BenchmarkSuite(b *testing.B) {
	for _, protocol := range bundled.All.Protocols() {
		for _, role := range protocols.All.Roles(protocol) {
			o := suitetest.Bundled(protocol, role)
			b.Run(suitetest.Name(o.Profile), func(b *testing.B) { bench(b, protocol, role, func(*runner.Options) {}) })
		}
	}
}

// BenchmarkWithoutRestarts runs the session-chat suite without the scenarios that restart their target.
func BenchmarkWithoutRestarts(b *testing.B) {
	bench(b, "session-chat", "", func(o *runner.Options) { o.Tags, o.AllowIncomplete = "not @restart", true })
}

// BenchmarkRestarts runs only those, sequentially. Each starts a process and restarts it once or twice.
func BenchmarkRestarts(b *testing.B) {
	bench(b, "session-chat", "", func(o *runner.Options) {
		o.Tags, o.AllowIncomplete, o.Concurrency = "@restart", true, 1
	})
}

// BenchmarkExplore runs 100 random sequences.
func BenchmarkExplore(b *testing.B) {
	bench(b, "session-chat", "",
		func(o *runner.Options) { o.Tags, o.AllowIncomplete, o.Explore = "@explored", true, 100 })
}

func bench(b *testing.B, protocol, role string, change func(*runner.Options)) {
	scenarios := 0
	for b.Loop() {
		o := suitetest.Bundled(protocol, role)
		change(&o)
		res, err := runner.Run(context.Background(), o)
		if err != nil {
			b.Fatal(err)
		}
		if res.Exit != verdict.ExitConformant {
			b.Fatalf("verdict %s, exit %d", res.Verdict, res.Exit)
		}
		scenarios += res.Runs[0].Totals.Scenarios.Total
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(scenarios), "ms/scenario")
}
