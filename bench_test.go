package parley_test

import (
	"context"
	"testing"

	"parley/runner"
	"parley/verdict"
)

// BenchmarkSuite runs the whole agent-select suite over both drivers against the bundled server. The metric ms/scenario
// is the wall time divided by the number of scenarios.
func BenchmarkSuite(b *testing.B) {
	scenarios := 0
	for b.Loop() {
		res, err := runner.Run(context.Background(), bundledOptions())
		if err != nil {
			b.Fatal(err)
		}
		if res.Verdict != verdict.Conformant {
			b.Fatalf("verdict %s", res.Verdict)
		}
		scenarios += res.Runs[0].Totals.Scenarios.Total
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(scenarios), "ms/scenario")
}
