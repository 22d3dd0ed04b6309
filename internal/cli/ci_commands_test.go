package cli

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/reports"
)

// Commands as the runner of GitHub Actions finds them in a log: a line that begins with ::NAME, behind white space, or
// that contains ##[NAME.
var (
	newCommand = regexp.MustCompile(`^\s*::([a-z-]+)[ :]`)
	oldCommand = regexp.MustCompile(`##\[([a-z-]+)[ \]]`)
)

// obeyed returns the commands in a log.
func obeyed(log string) (out []string) {
	for line := range strings.SplitSeq(log, "\n") {
		if m := newCommand.FindStringSubmatch(line); m != nil {
			out = append(out, m[1])
		} else if m := oldCommand.FindStringSubmatch(line); m != nil {
			out = append(out, m[1])
		}
	}
	return out
}

// commands are what a hostile target says.
const commands = "::add-mask::e\n  ::stop-commands::x\n##[add-matcher]evil.json\nx ##[group]y\r\n" +
	"::error file=a,line=1::z%0A::debug::q"

// hostileResults have the commands in every text of a target.
func hostileResults() *reports.Results {
	return &reports.Results{Verdict: verdict.NonConformant, Exit: verdict.ExitNonConformant, Runs: []reports.Run{{
		Protocol: "agent-select", Role: "server", Verdict: verdict.NonConformant, Environment: commands,
		TargetStderr: commands, Target: reports.Target{Name: commands, URL: commands, Drivers: []string{"sse"}},
		Clauses: []reports.Clause{{ID: "AS-001", Level: verdict.Must, Text: "says hello", Outcome: verdict.Failed,
			Reason: commands}},
		Notes: []reports.Note{{Kind: "target", Text: commands}},
		Scenarios: []reports.Scenario{{ID: "1", Name: commands, Driver: "sse", Outcome: verdict.Failed, Reason: commands,
			Location: "features/x:1", Failures: []reports.Failure{{Clause: "AS-001", Level: verdict.Must, Expected: commands,
				Observed: commands, Diff: commands, At: commands, Again: "parley run"}}}},
	}}}
}

// TestTargetsIssueNoCommands: with annotations, and in every job of GitHub Actions, the log has no workflow command but
// ours, whatever the target says. Elsewhere its words stay as they are, which proves that the test sees them.
func TestTargetsIssueNoCommands(t *testing.T) {
	for _, tt := range []struct {
		name, format, actions string
		want                  []string
	}{
		{"annotations", "console,github", "", []string{"error", "error", "notice"}},
		{"a job", "console", "true", nil},
		{"progress alone", "json,github", "", []string{"error", "error", "notice"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("GITHUB_ACTIONS", tt.actions)
			t.Setenv(summaryFile, "")
			log := logOf(t, strings.Split(tt.format, ","))
			if got := obeyed(log); !slices.Equal(got, tt.want) {
				t.Errorf("the runner obeys %q, want %q, in\n%s", got, tt.want, log)
			}
			if !strings.Contains(log, "add-matcher") {
				t.Error("what the target says is not shown")
			}
		})
	}
	t.Setenv("GITHUB_ACTIONS", "")
	got := obeyed(logOf(t, []string{"console"}))
	if !slices.Contains(got, "stop-commands") || !slices.Contains(got, "group") {
		t.Errorf("outside of GitHub Actions: %q", got)
	}
}

// logOf returns what the runner gets to see of a run with hostile results.
func logOf(t *testing.T, asked []string) string {
	t.Helper()
	var log bytes.Buffer
	s := &streams{Out: &log, Err: &log}
	r := hostileResults()
	f := followRuns(s.forPeople(asked), 1, []string{r.Runs[0].Target.Name}, look{})
	f.ScenarioDone(r.Runs[0].Scenarios[0])
	f.bar.Note(commands)
	f.removeLine()
	o := runOptions{out: t.TempDir(), verbose: true}
	if err := o.writeResults(asked, r, s); err != nil {
		t.Fatal(err)
	}
	return log.String()
}
