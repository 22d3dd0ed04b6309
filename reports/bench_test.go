package reports

import (
	"fmt"
	"io"
	"testing"
	"time"

	"parley/features/verdict"
)

// thousand is a run of n scenarios with ten steps each, a tenth of which fail.
func thousand(n int) *Results {
	run := Run{Protocol: "agent-select", Role: "server", Verdict: verdict.NonConformant,
		Target: Target{Name: "large", URL: "http://127.0.0.1:3000/", Drivers: []string{"sse", "ws"}}}
	for i := range 300 {
		o := verdict.Passed
		if i%10 == 0 {
			o = verdict.Failed
		}
		run.Clauses = append(run.Clauses, Clause{ID: fmt.Sprintf("AS-%03d", i), Level: verdict.Must,
			Section: fmt.Sprintf("%d.%d", i/50+1, i%50),
			Text:    "A client can switch the main agent of its `session` by a message.",
			Outcome: o, ByDriver: map[string]verdict.Outcome{"sse": o, "ws": o}, Scenarios: []string{"2.1-01"}})
	}
	for i := range n {
		c := run.Clauses[i%300]
		s := scenario(fmt.Sprintf("%d.%d-%02d", i/100+1, i/20%5, i%20), fmt.Sprintf("the list comes first · %d", i),
			c.Outcome, c.ID)
		s.Driver = []string{"sse", "ws"}[i%2]
		for len(s.Steps) < 10 {
			text := fmt.Sprintf("client A gets message %d of the list", len(s.Steps))
			s.Steps = append(s.Steps, Step{Keyword: "Then ", Text: text, Status: "passed", Duration: 1.5,
				Clauses: []string{c.ID}})
		}
		if c.Outcome == verdict.Failed {
			s.Failures = []Failure{{Clause: c.ID, Level: c.Level, Section: c.Section, Text: c.Text,
				Expected: "error with errorCode invalid_agent_id_format", At: "client A, record 9, +3.1 ms",
				Observed: fmt.Sprintf(`agent_switched {"previousAgentId":"general","currentAgentId":"agent-%d"}`, i),
				Diff:     "  map[string]any{\n- \t\"errorCode\": string(\"agent_not_found\"),\n+ \t\"raw\": nil,\n  }\n",
				Again:    "parley run --protocol agent-select --target my.yaml --tags @" + c.ID,
				Excerpt: []string{"7  +2.9 ms  client A  sent      {\"type\":\"switch_agent\",\"agentId\":\"debugger\"}",
					"9  +3.1 ms  client A  received  agent_switched"}}}
		}
		run.Scenarios = append(run.Scenarios, s)
	}
	run.Totals = totalsOf(&run)
	return &Results{Schema: SchemaID, Suite: Suite{Version: "0.3.0", Digest: "sha256:6b86"},
		Verdict: verdict.NonConformant, Exit: 1, Started: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), Duration: 1000,
		Runs: []Run{run}}
}

// allReports are the writers of every format.
var allReports = map[string]func(io.Writer, *Results) error{
	"console": func(w io.Writer, r *Results) error { return WriteConsole(w, r, ConsoleOptions{}) },
	"json":    WriteJSON, "junit": WriteJUnit, "html": WriteHTML, "markdown": WriteMarkdown, "github": WriteGitHub,
	"cucumber": WriteCucumber, "badge": WriteBadge, "shields": WriteShields,
}

// BenchmarkReports1000 writes all reports of a run of 1,000 scenarios; docs/performance.md has its figures.
func BenchmarkReports1000(b *testing.B) {
	r := thousand(1000)
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			for _, write := range allReports {
				if err := write(io.Discard, r); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	for _, name := range sortedKeys(allReports) {
		b.Run(name, func(b *testing.B) {
			var n counted
			for b.Loop() {
				n = 0
				if err := allReports[name](&n, r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n), "bytes")
		})
	}
}

// counted counts the bytes written to it.
type counted int

func (n *counted) Write(b []byte) (int, error) { *n += counted(len(b)); return len(b), nil }

// TestReportsGrow: a report of four times the scenarios allocates four times as much, and the page of 1,000 scenarios
// is smaller than 3 MB.
func TestReportsGrow(t *testing.T) {
	few, many := thousand(250), thousand(1000)
	for name, write := range allReports {
		var n counted
		allocated := func(r *Results) float64 {
			return testing.AllocsPerRun(1, func() {
				n = 0
				if err := write(&n, r); err != nil {
					t.Fatal(err)
				}
			})
		}
		if a, b := allocated(few), allocated(many); b > 5*a {
			t.Errorf("%s: %.0f allocations for 250 scenarios, %.0f for 1,000", name, a, b)
		}
		if name == "html" && n > 3_000_000 {
			t.Errorf("report.html has %d bytes", n)
		}
	}
}
