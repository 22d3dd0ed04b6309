package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	diff "github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps/protocols"
	"parley/target"
)

// startTarget starts the bundled target of a role, with a fault or none.
func startTarget(t *testing.T, protocol, role, fault string) string {
	t.Helper()
	b := bundle.For(suite.Kinds(), protocol, role)
	l, found := b.Launcher, fault == ""
	for _, m := range bundle.Mutants(protocols.Kinds(), protocol, role) {
		if m.ID == fault {
			l, found = m.Launch(b.Brain), true
		}
	}
	if !found {
		t.Fatalf("there is no mutant %s", fault)
	}
	running, err := l.Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Stop(context.Background()) })
	return running.BaseURL()
}

// causeTraffic runs scenarios of the suite against a URL.
func causeTraffic(protocol, role, tags string) func(t *testing.T, url string) {
	return func(t *testing.T, url string) {
		t.Helper()
		_, said, code := invoke(t, "run", url, "--protocol", protocol, "--role", role, "--tags", tags, "--out", t.TempDir())
		if code != verdict.ExitIncomplete && code != verdict.ExitNonConformant {
			t.Fatalf("exit %d: %s", code, said)
		}
	}
}

// visitPage has a page in Python, which uses no code of Parley, switch agents, and then do more.
func visitPage(more string) func(t *testing.T, url string) {
	return func(t *testing.T, url string) {
		t.Helper()
		got := speaks(t, "python3", "-c", "import sys\nfrom client import Client\nc = Client(sys.argv[1])\n"+
			"print(c.switch('debugger'))\nc.close()", url)
		if got == "" || strings.Contains(got, "Traceback") {
			t.Fatal(got)
		}
		if more != "" {
			res, err := quickClient(t).Post(url+more, "application/json", strings.NewReader(`{"id":"mine"}`))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
		}
	}
}

// proxied are targets behind a proxy, of each protocol and side, each with a fault that traffic shows.
var proxied = []struct {
	protocol, role string
	fault, clause  string // "" for the fault: it is one of the client
	right, wrong   func(t *testing.T, url string)
}{
	{"session-chat", "server", "no-timestamp", "SC-044", causeTraffic("session-chat", "server", "@SC-038 or @SC-044"), nil},
	{"agent-select", "server", "no-names-in-list", "AS-114", causeTraffic("agent-select", "server", "@AS-114 or @AS-084"),
		nil},
	{"external-agent", "host", "", "EA-043", causeTraffic("external-agent", "host", "@EA-043 or @EA-039"), nil},
	{"session-runtime", "server", "accepted-without-turn", "RT-076", causeTraffic("session-runtime", "server",
		"@RT-076"), nil},
	{"agent-client", "client", "", "AC-015", visitPage(""), visitPage("/agents")},
}

// TestRecordingJudgedAsLive: what parley proxy has recorded is judged as it was live: the same clauses have the same
// outcomes, at the same records, for the same reasons; the exit code is the same.
func TestRecordingJudgedAsLive(t *testing.T) {
	for _, row := range proxied {
		for _, broken := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/broken=%v", row.protocol, broken), func(t *testing.T) {
				t.Parallel()
				serving, server, fault, act := row.protocol, row.role, "", row.right
				if row.protocol == "agent-client" {
					serving, server = "agent-select", "server"
				}
				switch {
				case broken && row.wrong != nil:
					act = row.wrong
				case broken:
					fault = cmp.Or(row.fault, mutantOf(t, row.protocol, row.role, row.clause))
				}
				live, file, exit := recordLive(t, row.protocol, startTarget(t, serving, server, fault), act)
				if got := clauseOf(live, row.clause).Outcome == verdict.Failed; got != broken || (exit == 1) != broken {
					t.Fatalf("%s is broken: %v, exit %d", row.clause, got, exit)
				}
				out := t.TempDir()
				text, said, code := invoke(t, "recording", "judge", file, "--out", out)
				if code != exit {
					t.Errorf("exit %d, and live %d\n%s%s", code, exit, text, said)
				}
				sameJudged(t, live, resultsIn(t, out))
			})
		}
	}
}

// mutantOf returns a mutant that breaks one clause alone.
func mutantOf(t *testing.T, protocol, role, clause string) string {
	t.Helper()
	for _, m := range bundle.Mutants(protocols.Kinds(), protocol, role) {
		if slices.Equal(m.Clauses, []string{clause}) {
			return m.ID
		}
	}
	t.Fatalf("no mutant breaks %s", clause)
	return ""
}

// recordLive puts a proxy before a server while a client acts, and returns its results, its recording and its exit code.
func recordLive(t *testing.T, protocol, server string, act func(*testing.T, string), flags ...string) (res *reports.Results,
	file string, exit int) {
	t.Helper()
	out := t.TempDir()
	file = filepath.Join(out, "passed.jsonl")
	p := startProxy(t, append([]string{server, "--protocol", protocol, "--out", out, "--record", file}, flags...)...)
	act(t, p.url())
	p.stop()
	if _, exit = p.awaitEnd(); exit != 0 && exit != 1 {
		t.Fatalf("exit %d: %s", exit, p.stderrText())
	}
	return resultsIn(t, out), file, exit
}

func clauseOf(res *reports.Results, id string) reports.Clause {
	for _, run := range res.Runs {
		for _, c := range run.Clauses {
			if c.ID == id && !c.OtherRole {
				return c
			}
		}
	}
	return reports.Clause{}
}

// said is what results say of a role: its clauses, and each connection with what was found there.
type saidOfRole struct {
	Protocol, Role string
	Verdict        verdict.Verdict
	Clauses        []string
	Conns          []string
}

// sameJudged checks that a recording was judged as live.
func sameJudged(t *testing.T, live, recorded *reports.Results) {
	t.Helper()
	of := func(res *reports.Results) (all []saidOfRole) {
		for _, run := range res.Runs {
			one := saidOfRole{Protocol: run.Protocol, Role: run.Role, Verdict: run.Verdict}
			for _, c := range run.Clauses {
				one.Clauses = append(one.Clauses, fmt.Sprint(c.ID, c.Outcome, c.Reason, c.Monitors))
			}
			for _, sc := range run.Scenarios {
				conn := sc.Name[strings.LastIndex(sc.Name, " ")+1:]
				if !strings.Contains(sc.Name, "connection") {
					conn = "all"
				}
				text := fmt.Sprint(conn, sc.Outcome, sc.Clauses, sc.Notes)
				for _, f := range sc.Failures {
					at, _, _ := strings.Cut(f.At, ", +") // the rest is its time, rounded
					text += fmt.Sprint("\n", f.Clause, f.Monitor, f.Level, at, f.Expected, f.Observed)
				}
				one.Conns = append(one.Conns, text)
			}
			all = append(all, one)
		}
		return all
	}
	if d := diff.Diff(of(live), of(recorded), cmpopts.SortSlices(strings.Compare)); d != "" {
		t.Errorf("live -, recorded +:\n%s", d)
	}
	if live.Verdict != recorded.Verdict || live.Exit != recorded.Exit || !recorded.Passive {
		t.Errorf("live %s %d, recorded %s %d", live.Verdict, live.Exit, recorded.Verdict, recorded.Exit)
	}
}

var _ = http.MethodGet
