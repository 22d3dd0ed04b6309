package reports

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
)

func TestKnownFailures(t *testing.T) {
	r := sample()
	r.Runs[0].Clauses[9].ByDriver["ws"] = verdict.Passed // AS-085
	got := KnownFailures(r, func(protocol string) bool { return false })
	want := []verdict.Expected{
		{Clause: "AS-080", Reason: `observed agent_switched {"previousAgentId":"general","currentAgentId":"debugger",` +
			`"agentName":"调试助手，负责定位和修复问题… (2026-03-01; say why this is accepted)`},
		{Clause: "AS-085", Driver: "sse", Reason: `observed error <script>alert(1)</script> ]]> %d %!s(MISSING) ` +
			`\x00\x07\x1b[31m \xff\xfe \u202e</pre> 切换主代理 (2026-03-01; say why this is accepted)`},
	}
	if diff := cmp.Diff(want, got.Expected); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	if b, err := verdict.ParseBaseline([]byte(got.Text())); err != nil || cmp.Diff(got, b) != "" {
		t.Errorf("its text is read as %+v, %v", b, err)
	}
	roles := KnownFailures(r, func(protocol string) bool { return true })
	if roles.Expected[0].Role != "server" {
		t.Errorf("with several roles the row is %+v", roles.Expected[0])
	}
}

func TestFixed(t *testing.T) {
	results := func(role string, o verdict.Outcome, by map[string]verdict.Outcome) *Results {
		return &Results{Runs: []Run{{Role: role, Clauses: []Clause{{ID: "EA-001", Outcome: o, ByDriver: by}}}}}
	}
	type over = map[string]verdict.Outcome
	row := verdict.Expected{Clause: "EA-001"}
	host := verdict.Expected{Clause: "EA-001", Role: "host"}
	ws := verdict.Expected{Clause: "EA-001", Driver: "ws"}
	for _, c := range []struct {
		reason string
		e      verdict.Expected
		found  []*Results
		want   bool
	}{
		{"it passes", row, []*Results{results("host", verdict.Passed, nil)}, true},
		{"it passes unexpectedly", row, []*Results{results("host", verdict.UnexpectedPass, nil)}, true},
		{"it fails", row, []*Results{results("host", verdict.Failed, nil)}, false},
		{"it is excused", row, []*Results{results("host", verdict.ExpectedFail, nil)}, false},
		{"it is not tested", row, []*Results{results("host", verdict.NotTested, nil)}, false},
		{"it does not apply", row, []*Results{results("host", verdict.NotApplicable, nil)}, false},
		{"it was not run", row, nil, false},
		{"it fails in another role", row, []*Results{results("host", verdict.Passed, nil),
			results("relay", verdict.Failed, nil)}, false},
		{"it does not apply to another role", row, []*Results{results("host", verdict.Passed, nil),
			results("relay", verdict.NotApplicable, nil)}, true},
		{"it fails in a role that the row is not about", host, []*Results{results("host", verdict.Passed, nil),
			results("relay", verdict.Failed, nil)}, true},
		{"it passes over the driver", ws, []*Results{results("host", verdict.Failed,
			over{"ws": verdict.Passed, "sse": verdict.Failed})}, true},
		{"it fails over the driver", ws, []*Results{results("host", verdict.Failed, over{"ws": verdict.Failed})}, false},
		{"the driver was not run", ws, []*Results{results("host", verdict.Passed, over{"sse": verdict.Passed})}, false},
		{"a flaky one", verdict.Expected{Clause: "EA-001", Flaky: true},
			[]*Results{results("host", verdict.Passed, nil)}, false},
	} {
		if got := Fixed(c.e, c.found...); got != c.want {
			t.Errorf("%s: Fixed = %t", c.reason, got)
		}
	}
}

// narrowed is a run in which the baseline excuses AS-085 over sse alone, AS-008 is flaky, and a row expires soon.
func narrowed() *Results {
	r := sample()
	r.Runs = r.Runs[:1]
	run := &r.Runs[0]
	run.Clauses[9].ByDriver = map[string]verdict.Outcome{"sse": verdict.ExpectedFail, "ws": verdict.Failed}
	run.Baseline = []BaselineRow{
		{Clause: "AS-085", Reason: "issue 9", Driver: "sse", Expires: "2026-03-04", State: verdict.RowApplied},
		{Clause: "AS-008", Reason: "issue 10", Flaky: true, State: verdict.RowSpared},
	}
	for i := range run.Scenarios {
		if s := &run.Scenarios[i]; s.ID == "4.2-01" {
			s.Outcome = verdict.ExpectedFail
			ws := *s
			ws.Driver, ws.Outcome = "ws", verdict.Failed
			run.Scenarios = append(run.Scenarios, ws)
			break
		}
	}
	return r
}

func TestNarrowedBaseline(t *testing.T) {
	text := consoleText(t, narrowed(), ConsoleOptions{Width: 120})
	for _, want := range []string{
		"Baseline: 1 row expires soon\n  AS-085     (driver sse) expires in 3 days, on 2026-03-04: issue 9\n",
		"  AS-085     baseline: issue 9 (driver sse)\n",
		"1 clause passed this time, and the baseline says that it is flaky",
	} {
		if !strings.Contains(text, want) && !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "to fix") {
		t.Error("a row that applied, or is flaky, is to be fixed")
	}
	r := narrowed()
	r.Started = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	if strings.Contains(consoleText(t, r, ConsoleOptions{}), "soon") {
		t.Error("a month ahead the row is announced")
	}
	if !strings.Contains(string(htmlText(t, narrowed())), "(driver sse) expires in 3 days, on 2026-03-04: issue 9") {
		t.Error("the page does not announce it")
	}
	for _, s := range parseJUnit(t, junit(t, narrowed())).Suites {
		for _, c := range s.Cases {
			if !strings.HasPrefix(c.Name, "4.2-01") {
				continue
			}
			want := "failure failed: AS-085 MUST"
			if strings.HasSuffix(s.Name, "(sse)") {
				want = "skipped expected-failure: AS-085 MUST (baseline: issue 9)"
			}
			if got := element(c); got != want {
				t.Errorf("%s: %q, want %q", s.Name, got, want)
			}
		}
	}
}
