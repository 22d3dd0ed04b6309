package parley_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/mutants"
)

// subject is the variable that makes TestSubject judge the bundled server: with the fault that it names, or "none". The
// options are those of subjectOptions that subjectOption names, separated by spaces.
const (
	subject       = "PARLEY_TEST_SUBJECT"
	subjectOption = "PARLEY_TEST_OPTIONS"
)

// served returns the bundled agent-select server, with a fault or "none", until the test ends.
func served(t *testing.T, fault string) http.Handler {
	t.Helper()
	var h interface {
		http.Handler
		Close(context.Context) error
	}
	var err error
	if h, err = agentselect.New(agentselect.Options{}); fault != "none" {
		h, err = mutants.Handler(fault, agentselect.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

// TestSubject is run by the tests below, in a process of its own.
func TestSubject(t *testing.T) {
	fault, asked := os.LookupEnv(subject)
	if !asked {
		t.Skip("it is the subject of other tests")
	}
	t.Setenv(subject, fault) // such a test cannot be parallel, but its subtests can
	opts := []parley.Option{parley.Protocol("agent-select"), parley.Tags("@3.3 or @AS-066")}
	for _, name := range strings.Fields(os.Getenv(subjectOption)) {
		switch name {
		case "complete":
			opts = append(opts, parley.RequireComplete())
		case "known":
			opts = append(opts, parley.Baseline("test/testdata/known.yaml"))
		}
	}
	target := parley.URL("http://127.0.0.1:1")
	if fault != "unreachable" {
		target = parley.Handler(served(t, fault))
	}
	parley.Test(t, target, opts...)
}

// judged runs TestSubject in a process of its own. It returns what it prints, and whether it passes.
func judged(t *testing.T, fault, options, run string, args ...string) (string, bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, append([]string{"-test.v", "-test.run", run}, args...)...)
	c.Env = append(os.Environ(), subject+"="+fault, subjectOption+"="+options)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err == nil
}

// ended returns the ids of the subtests that end in a way: PASS, FAIL or SKIP.
func ended(out, how string) (ids []string) {
	for _, m := range regexp.MustCompile(`--- `+how+`: TestSubject/(\S+)`).FindAllStringSubmatch(out, -1) {
		ids = append(ids, m[1])
	}
	slices.Sort(ids) // parallel subtests end in any order
	return ids
}

// TestSubtests: there is a subtest for each scenario; those of a correct server pass, or are skipped with the reason,
// and the test logs the clauses that were not tested.
func TestSubtests(t *testing.T) {
	out, ok := judged(t, "none", "", "^TestSubject$")
	passed, skipped := ended(out, "PASS"), ended(out, "SKIP")
	if !ok || len(passed) < 10 || len(skipped) == 0 {
		t.Errorf("ok %t, %d passed, %d skipped:\n%s", ok, len(passed), len(skipped), out)
	}
	for _, text := range []string{"binding clauses were not tested:", "AS-066", "verdict incomplete",
		"the target does not use the model stub"} {
		if !strings.Contains(out, text) {
			t.Errorf("it does not say %q:\n%s", text, out)
		}
	}
	if out, ok := judged(t, "none", "complete", "^TestSubject$"); ok || !strings.Contains(out, "RequireComplete") {
		t.Errorf("clauses were not tested, and RequireComplete is met:\n%s", out)
	}
	if out, ok := judged(t, "none", "complete", "^TestSubject$/^AS-3.3-01$"); !ok {
		t.Errorf("the clauses of a selection were tested, but RequireComplete is not met:\n%s", out)
	}
}

// TestSelection: -run and -skip choose the scenarios that run.
func TestSelection(t *testing.T) {
	for _, tt := range []struct {
		run, skip string
		want      string
	}{
		{"TestSubject/AS-3.3-01", "", "AS-3.3-01"},
		{"TestSubject/^AS-3.3-0[12]$", "", "AS-3.3-01 AS-3.3-02"},
		{"TestSubject/^AS-3.3-0[12]$", "TestSubject/AS-3.3-01", "AS-3.3-02"},
		{"TestSubject/nothing", "", ""},
	} {
		args := []string{"-test.parallel=1"}
		if tt.skip != "" {
			args = append(args, "-test.skip", tt.skip)
		}
		out, ok := judged(t, "none", "", tt.run, args...)
		if got := strings.Join(ended(out, "PASS"), " "); !ok || got != tt.want {
			t.Errorf("-run %s -skip %s: ok %t, passed %q, want %q:\n%s", tt.run, tt.skip, ok, got, tt.want, out)
		}
		runs := regexp.MustCompile(`over (\d+) scenarios`).FindStringSubmatch(out)
		if (runs == nil) != (tt.want == "") {
			t.Errorf("-run %s: whether anything ran:\n%s", tt.run, out)
		} else if n := len(strings.Fields(tt.want)) + 4; runs != nil && runs[1] != strconv.Itoa(n) { // with preflight
			t.Errorf("-run %s: %s scenarios, want %d", tt.run, runs[1], n)
		}
	}
}

// TestFinding: the subtest of a scenario that a server fails shows the step, in its file, and the messages.
func TestFinding(t *testing.T) {
	out, ok := judged(t, "text-without-id", "", "^TestSubject$")
	failed := ended(out, "FAIL")
	if ok || len(failed) == 0 || len(ended(out, "PASS")) == 0 {
		t.Fatalf("ok %t, failed: %q:\n%s", ok, failed, out)
	}
	found := regexp.MustCompile(`(\S*features/agent-select/3\.3_unknown_agent\.feature):(\d+): AS-050 MUST[^\n]*
 +step +(\w+) (client A is refused with "agent_not_found")
`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("no finding of AS-050 at a step:\n%s", out)
	}
	text, err := os.ReadFile(strings.TrimPrefix(found[1], "parley/"))
	if err != nil {
		t.Fatal(err)
	}
	line, _ := strconv.Atoi(found[2])
	if is := strings.Split(string(text), "\n")[line-1]; strings.TrimSpace(is) != found[3]+" "+found[4] {
		t.Errorf("%s:%d is %q, and not the step", found[1], line, is)
	}
	for _, want := range []string{"expected  ", "observed  ", `wire      `, `"type":"error"`,
		`again     go test -run '^TestSubject$/^AS-3\.3-01$' -v`} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

// TestKnownFailures: failures in the baseline do not fail a test, but outdated rows do; nor does an unreachable target
// pass.
func TestKnownFailures(t *testing.T) {
	out, ok := judged(t, "text-without-id", "known", "^TestSubject$")
	if !ok || !strings.Contains(out, parley.ExpectedFail) {
		t.Errorf("known failures:\n%s", out)
	}
	if out, ok := judged(t, "none", "known", "^TestSubject$"); ok || !strings.Contains(out, "row about AS-050 is stale") {
		t.Errorf("an outdated row:\n%s", out)
	}
	if out, ok := judged(t, "unreachable", "", "^TestSubject$"); ok || !strings.Contains(out, "cannot be judged") {
		t.Errorf("an unreachable target:\n%s", out)
	}
}

// TestTargets: Run judges targets of every kind, with their options.
func TestTargets(t *testing.T) {
	speaks := parley.Protocol("agent-select")
	for name, target := range map[string]parley.Target{
		"Handler": parley.Handler(served(t, "none")),
		"Serve": parley.Serve(func(l net.Listener) {
			_ = http.Serve(l, served(t, "none")) //nolint:gosec // loopback
		}),
	} {
		out := filepath.Join(t.TempDir(), "out")
		res, err := parley.Run(t.Context(), target, speaks, parley.Tags("@AS-049"), parley.Driver("sse", "ws"),
			parley.Settings("capabilities: [health]"), parley.Out(out), parley.AllowIncomplete())
		if err != nil {
			t.Fatal(err)
		}
		over := map[string]int{}
		for _, sc := range res.Scenarios {
			if sc.Outcome != parley.Passed {
				t.Errorf("%s: %s over %s: %s %s", name, sc.ID, sc.Driver, sc.Outcome, sc.Reason)
			}
			over[sc.Driver]++
		}
		if res.Verdict != "incomplete" || res.Exit != 0 || over["sse"] == 0 || over["ws"] == 0 {
			t.Errorf("%s: %s, exit %d, %v", name, res.Verdict, res.Exit, over)
		}
		for _, file := range []string{"results.json", "report.html", "transcripts/sse-AS-3.3-01.txt"} {
			if _, err := os.Stat(filepath.Join(out, file)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestModel: a server that is made for the run is told a model, and each scenario that needs one gets a server of its
// own.
func TestModel(t *testing.T) {
	made := 0
	model := ""
	target := parley.HandlerWithModel(func(url string) http.Handler {
		made, model = made+1, url
		return served(t, "none")
	})
	res, err := parley.Run(t.Context(), target, parley.Protocol("agent-select"), parley.Tags("@AS-049 or @exclusive"))
	if err != nil {
		t.Fatal(err)
	}
	if made < 2 || !strings.HasPrefix(model, "http://127.0.0.1:") || res.Exit == 3 {
		t.Errorf("%d servers, model %q, exit %d", made, model, res.Exit)
	}
}

// TestImpossible: a run that cannot be is an error that says why, and nothing runs.
func TestImpossible(t *testing.T) {
	handler, node := parley.Handler(http.NotFoundHandler()), parley.Profile("examples/profiles/node.yaml")
	speaks := parley.Protocol("agent-select")
	for _, tt := range []struct {
		target parley.Target
		opts   []parley.Option
		says   string
	}{
		{parley.Target{}, nil, "the Target is empty"},
		{handler, nil, "which protocol does it speak? (name it by parley.Protocol or ProtocolDir; known: agent-client"},
		{handler, []parley.Option{parley.ProtocolDir("no-such")}, "parley.ProtocolDir: the protocol no-such cannot be read"},
		{handler, []parley.Option{speaks, parley.ProtocolDir("examples/packs/ticket-desk")},
			`the protocol of parley.ProtocolDir("examples/packs/ticket-desk") is ticket-desk (leave one out)`},
		{parley.URL("http://localhost:1"), []parley.Option{parley.Protocol("agent")}, `the protocol "agent" is unknown`},
		{handler, []parley.Option{speaks, parley.Tags("@AS-999")}, "AS-999"},
		{handler, []parley.Option{speaks, parley.Tags("and")}, "and"},
		{handler, []parley.Option{speaks, parley.Role("relay")}, `has no such role`},
		{handler, []parley.Option{speaks, parley.Driver("smoke")}, "smoke"},
		{handler, []parley.Option{speaks, parley.Settings("limts: {}")}, "limts"},
		{handler, []parley.Option{parley.Protocol("external-agent"), parley.Role("agent")}, "connects to the harness"},
		{handler, []parley.Option{speaks, parley.Baseline("none.yaml")}, "parley.Baseline"},
		{handler, []parley.Option{parley.ProtocolDir("none")}, "parley.ProtocolDir: the protocol none cannot be read"},
		{parley.Profile("none.yaml"), nil, "none.yaml"},
		{node, []parley.Option{parley.Protocol("session-chat")}, "speaks agent-select"},
		{node, []parley.Option{parley.Settings("name: x")}, "has a profile of its own"},
	} {
		res, err := parley.Run(t.Context(), tt.target, tt.opts...)
		if err == nil || res != nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v, want %q", err, tt.says)
		}
	}
}
