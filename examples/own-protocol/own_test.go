package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/tickets/desk"
	"example.org/tickets/server"

	"parley"
	"parley/features/verdict"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/steps"
	"parley/steps/pack"
)

// TestMain: the program under test is this binary, which its environment tells to act as the program.
func TestMain(m *testing.M) {
	if os.Getenv("TICKETS") != "" {
		main()
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Dir, c.Env = t.TempDir(), append(os.Environ(), "TICKETS=1")
	return c
}

// tickets runs a command line, and returns its stdout and exit code.
func tickets(t *testing.T, args ...string) (string, int) {
	t.Helper()
	c := command(t, args...)
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// TestRun: the reference server conforms over every driver, every clause is covered, and a report can be written
// later.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	if out, exit := tickets(t, "run", "--driver", "all", "--strict", "--out", dir); exit != verdict.ExitConformant {
		t.Fatalf("exit %d:\n%s", exit, out)
	}
	var results struct {
		Runs []struct {
			Clauses []struct{ ID, Outcome string }
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err == nil {
		err = json.Unmarshal(b, &results)
	}
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, c := range results.Runs[0].Clauses {
		if c.Outcome == string(verdict.Passed) {
			passed++
		} else if c.ID != "TD-005" && c.ID != "TD-010" { // a MAY, and the excluded clause
			t.Errorf("%s: %s", c.ID, c.Outcome)
		}
	}
	if passed != 22 {
		t.Errorf("%d clauses passed, want 22", passed)
	}
	out, exit := tickets(t, "report", filepath.Join(dir, "results.json"))
	if exit != 0 || !strings.HasPrefix(out, "tickets 1.0.0 (") {
		t.Errorf("report: exit %d:\n%s", exit, out)
	}
	out, exit = tickets(t, "report", filepath.Join(dir, "results.json"), "--format", "html")
	if exit != 0 || !strings.Contains(out, "TD-014") {
		t.Errorf("report: exit %d:\n%s", exit, out)
	}
}

// TestForeign: a server in another language with a different wire format conforms.
func TestForeign(t *testing.T) {
	profile, err := filepath.Abs("profiles/python.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, subcommand := range []string{"doctor", "run"} {
		if out, exit := tickets(t, subcommand, "--target", profile); exit != 0 {
			t.Errorf("%s: exit %d:\n%s", subcommand, exit, out)
		}
	}
}

// TestMutants: each is killed by each of its clauses, its control passes, and every tested clause but the MAY has one.
func TestMutants(t *testing.T) {
	out, exit := tickets(t, "mutants", "--json")
	var matrix runner.KillMatrix
	if err := json.Unmarshal([]byte(out), &matrix); err != nil {
		t.Fatal(err)
	}
	if exit != 0 || !matrix.OK || len(matrix.Survived)+len(matrix.Unproved) > 0 || len(matrix.Clauses) != 22 {
		t.Errorf("exit %d, survived %q, unproved %q:\n%s", exit, matrix.Survived, matrix.Unproved, out)
	}
}

// TestOneFault: in a whole run against a fault of one clause, that clause fails and no other is blamed, though the
// scenarios run in parallel. Faults of a whole connection are excluded, since they leave nothing else to judge.
func TestOneFault(t *testing.T) {
	for fault, want := range map[string]string{
		"everybody-watches": "TD-014", "accepted-is-ok": "TD-006", "done-is-cut": "TD-019", "never-closed": "TD-016 TD-017",
		"closed-first": "TD-017", "history-backwards": "TD-024", "seq-stands-still": "TD-004", "no-means-yes": "TD-021",
	} {
		profile := parts.Targets.MutantProfile(parts.Protocols.Kinds(), desk.ID, "")
		profile.Limits.Event.Duration, profile.Limits.Turn.Duration = 10*time.Second, 10*time.Second
		res, err := runner.Run(t.Context(), runner.Options{Protocols: parts.Protocols, Profile: profile,
			Launcher: server.Target.Roles[0].InProcess(launch.Options{Fault: fault})})
		if err != nil {
			t.Fatal(err)
		}
		var failed []string
		for _, c := range res.Runs[0].Clauses {
			if c.Outcome == verdict.Failed {
				failed = append(failed, c.ID)
			}
		}
		if got := strings.Join(failed, " "); got != want {
			t.Errorf("%s: %s failed, want %s", fault, got, want)
		}
	}
}

// TestPack: the same protocol as a folder, without Go, judges as this one does: each mutant
// is killed by each of its clauses, and its control passes.
func TestPack(t *testing.T) {
	p, err := pack.Load("../packs/ticket-desk")
	if err != nil {
		t.Fatal(err)
	}
	suite := steps.NewProtocols("1.0.0", p)
	profile := parts.Targets.MutantProfile(suite.Kinds(), desk.ID, "")
	res, err := runner.Run(t.Context(), runner.Options{Protocols: suite, Profile: profile,
		Launcher: server.Target.Roles[0].InProcess(launch.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	if res.Exit != verdict.ExitConformant {
		t.Errorf("exit %d: %s", res.Exit, res.Verdict)
	}
	matrix, err := runner.Mutants(t.Context(), runner.MutantOptions{Protocols: suite, Protocol: desk.ID, Profile: profile,
		Mutants: parts.Targets.Mutants(suite.Kinds(), desk.ID, "")})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range matrix.Mutants {
		if !m.OK {
			t.Errorf("%s: %v, control %v, %s", m.ID, m.Clauses, m.Control, m.Error)
		}
	}
	if len(matrix.Mutants) != 30 || len(matrix.Unproved) > 0 {
		t.Errorf("%d mutants, unproved %q", len(matrix.Mutants), matrix.Unproved)
	}
}

// TestProtocolDir: a Go test takes the protocol from its folder, and the command that repeats a failure names it.
func TestProtocolDir(t *testing.T) {
	const folder = "../packs/ticket-desk"
	for fault, want := range map[string]string{"": parley.Passed, "unknown-is-bad": parley.Failed} {
		desk, err := server.New(fault)
		if err != nil {
			t.Fatal(err)
		}
		res, err := parley.Run(t.Context(), parley.Handler(desk), parley.ProtocolDir(folder), parley.Driver("ws"),
			parley.Tags("@TD-013"))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := res.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(text.String(), "--protocol "+folder); told != (want == parley.Failed) {
			t.Errorf("%q: the command that repeats a failure: %s", fault, text.String())
		}
		i := slices.IndexFunc(res.Clauses, func(c parley.Clause) bool { return c.ID == "TD-013" })
		if i < 0 || res.Clauses[i].Outcome != want {
			t.Errorf("%q: TD-013 of %d clauses, want %s", fault, len(res.Clauses), want)
		}
	}
}

// TestProtocolDirNamed: the command that repeats a failure names a folder so that it is taken as one.
func TestProtocolDirNamed(t *testing.T) {
	desk, err := server.New("unknown-is-bad")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(desk)
	defer srv.Close()
	t.Chdir("../packs")
	res, err := parley.Run(t.Context(), parley.URL(srv.URL), parley.ProtocolDir("ticket-desk"), parley.Tags("@TD-013"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := res.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if want := "parley run --protocol ./ticket-desk --target " + srv.URL; !strings.Contains(text.String(), want) {
		t.Errorf("no %s in\n%s", want, text.String())
	}
}

// TestPackExplored: random sequences of the folder break no clause on the correct server, and find faults.
func TestPackExplored(t *testing.T) {
	p, err := pack.Load("../packs/ticket-desk")
	if err != nil {
		t.Fatal(err)
	}
	suite := steps.NewProtocols("1.0.0", p)
	for fault, clause := range map[string]string{"": "", "one-client-id": "TD-003"} {
		res, err := runner.Run(t.Context(), runner.Options{Protocols: suite, Drivers: []string{"ws"},
			Profile:  parts.Targets.MutantProfile(suite.Kinds(), desk.ID, ""),
			Launcher: server.Target.Roles[0].InProcess(launch.Options{Fault: fault}),
			Explore:  50, Seed: 1, Tags: "@explored"})
		if err != nil {
			t.Fatal(err)
		}
		broken := map[string]bool{}
		for _, c := range res.Runs[0].Clauses {
			if c.Outcome == verdict.Failed {
				broken[c.ID] = true
			}
		}
		if clause == "" && len(broken) > 0 || clause != "" && !broken[clause] {
			t.Errorf("%q: %v, want %q", fault, broken, clause)
		}
	}
}

// TestLedger: every clause is tested or excluded, and every tag names a clause.
func TestLedger(t *testing.T) {
	p := desk.Protocol{}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		t.Fatal(err)
	}
	faults, err := runner.Audit(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
	document, err := os.ReadFile("docs/" + ledger.Source)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(document)), " ")
	for _, row := range ledger.Rows() {
		if !strings.Contains(text, row.Source) {
			t.Errorf("%s: the document does not say %q", row.ID, row.Source)
		}
	}
}

// TestCommands: commands that do not judge know the protocol too.
func TestCommands(t *testing.T) {
	for _, tt := range []struct{ args, says string }{
		{"list", "24 clauses: 23 tested, 1 excluded"},
		{"list --scenarios", "no two tickets have the same id"},
		{"explain td-014", "everybody-watches"},
		{"version", "1.0.0"},
		{"help run", "tickets run --target my.yaml"},
		{"explain TD-014", "tickets run --protocol ticket-desk --tags @TD-014"},
	} {
		if out, exit := tickets(t, strings.Fields(tt.args)...); exit != 0 || !strings.Contains(out, tt.says) {
			t.Errorf("tickets %s: exit %d, and not %q:\n%s", tt.args, exit, tt.says, out)
		}
	}
	if _, exit := tickets(t, "run", "--tags", "@TD-999"); exit != verdict.ExitUsage {
		t.Errorf("a tag of no clause: exit %d", exit)
	}
}

// TestServe: the reference server can be served alone, and init finds it.
func TestServe(t *testing.T) {
	c := command(t, "serve", "ticket-desk", "--listen", "127.0.0.1:0")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Get(strings.TrimSpace(line) + "/desk/events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if first, err := bufio.NewReader(r.Body).ReadString('\n'); err != nil || !strings.Contains(first, `"welcome"`) {
		t.Errorf("%q, %v", first, err)
	}
}
