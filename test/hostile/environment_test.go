package hostile_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/internal/freeport"
	"parley/reports"
	"parley/runner"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// unjudged checks the results of a target that does not speak its protocol: exit 3, one line that says why, and no
// clause that passed or failed.
func unjudged(t *testing.T, res *reports.Results, why string) {
	t.Helper()
	if res.Exit != verdict.ExitUnreachable || res.Verdict != verdict.Incomplete {
		t.Errorf("%s, exit %d, want %d", res.Verdict, res.Exit, verdict.ExitUnreachable)
	}
	run := res.Runs[0]
	if env := run.Environment; !strings.Contains(env, why) || strings.Contains(env, "\n") || len(env) > 500 {
		t.Errorf("it says %q, want a line with %q", env, why)
	}
	for _, c := range run.Clauses {
		if c.Outcome != verdict.EnvError && c.Outcome != verdict.NotTested && !c.Excluded && !c.OtherRole {
			t.Errorf("%s is %s", c.ID, c.Outcome)
		}
	}
	for _, sc := range run.Scenarios {
		if sc.Outcome != verdict.EnvError && sc.Outcome != verdict.NotTested || len(sc.Failures) > 0 {
			t.Errorf("%s is %s with %d failures", sc.ID, sc.Outcome, len(sc.Failures))
		}
	}
	suitetest.SameInEveryReport(t, res)
}

// TestTLS checks the explanation for an untrusted certificate and for plain HTTP to a TLS server.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(status(http.StatusOK))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs each abandoned connection
	s.StartTLS()
	defer s.Close()
	unjudged(t, suitetest.JudgeURL(t, s.URL), "has a TLS certificate that is not trusted")
	unjudged(t, suitetest.JudgeURL(t, "http"+strings.TrimPrefix(s.URL, "https")), "speaks TLS (give an https URL)")
}

// TestDeadPort checks that a missing target counts as an environment error, and that no clause passes.
func TestDeadPort(t *testing.T) {
	p, err := freeport.Lend()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	res := suitetest.JudgeURL(t, "http://"+p.Addr())
	if res.Exit != verdict.ExitUnreachable {
		t.Errorf("exit %d, want %d", res.Exit, verdict.ExitUnreachable)
	}
	for _, c := range res.Runs[0].Clauses {
		if c.Outcome == verdict.Passed || c.Outcome == verdict.Failed {
			t.Errorf("%s is %s", c.ID, c.Outcome)
		}
	}
}

// TestNoBrowser checks that a page is not judged without a browser, and that the verdict says what is missing.
func TestNoBrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	p, err := protocols.Kinds().Load("examples/profiles/plain-page.yaml")
	if err != nil {
		t.Fatal(err)
	}
	res := suitetest.Judge(t, runner.Options{Profile: p})
	if why := res.Runs[0].Environment; res.Exit != verdict.ExitUnreachable || !strings.Contains(why, "chromium") {
		t.Errorf("exit %d (%s)", res.Exit, why)
	}
}
