package proxy_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator/gate"
	"parley/simulator/proxy"
	"parley/steps/protocols"
)

// TestConforming: a correct target breaks no clause, and some clauses pass; those without a monitor are not tested.
func TestConforming(t *testing.T) {
	for protocol, one := range map[string]struct{ role, tags, passes string }{
		"agent-select":   {"server", "@AS-059 or @AS-051 or @AS-084 or @AS-106", "AS-084"},
		"session-chat":   {"server", "@SC-038 or @SC-027", "SC-038"},
		"external-agent": {"host", "@EA-039 or @EA-043", "EA-043"},
	} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			if err := runner.PrepareOut(out); err != nil {
				t.Fatal(err)
			}
			s := openProxy(t, options(t, protocol, bundle(t, protocol, one.role, ""), one.role), out)
			suite(t, protocol, one.role, s.URL(), one.tags)
			res := s.close()
			got := outcomes(res, one.role)
			if !slices.Contains(got[verdict.Passed], one.passes) || len(got[verdict.Failed])+len(got[verdict.Warned]) > 0 {
				t.Errorf("passed %v, failed %v, warned %v", got[verdict.Passed], got[verdict.Failed], got[verdict.Warned])
			}
			if !res.Passive || res.Verdict != verdict.Incomplete || res.Exit != verdict.ExitConformant {
				t.Errorf("passive %v, %s, exit %d", res.Passive, res.Verdict, res.Exit)
			}
			run := res.Runs[0]
			judged, not := s.results.Judgeable(one.role)
			reasons := map[string]int{}
			for _, c := range run.Clauses {
				if c.Outcome == verdict.NotTested {
					reasons[c.Reason]++
				}
			}
			if len(judged) == 0 || len(not) == 0 || reasons[runner.NeedsActs] != len(not) {
				t.Errorf("%d clauses are judged, and %d not: %v", len(judged), len(not), reasons)
			}
			if len(run.Scenarios) != 1 || run.Scenarios[0].Transcript == nil {
				t.Fatalf("scenarios: %+v", run.Scenarios)
			}
			text, err := os.ReadFile(filepath.Join(out, run.Scenarios[0].Transcript.Path))
			if err != nil || !strings.Contains(string(text), "C1") {
				t.Errorf("transcript: %v\n%.200s", err, text)
			}
		})
	}
}

// TestNothingPassed: without traffic no clause passes, and the result is not a success.
func TestNothingPassed(t *testing.T) {
	s := openProxy(t, options(t, "session-chat", "http://127.0.0.1:1"), "")
	res := s.close()
	got := outcomes(res, "server")
	if len(got[verdict.Passed]) > 0 || res.Exit != verdict.ExitIncomplete || res.Verdict != verdict.Incomplete {
		t.Errorf("passed %v, %s, exit %d", got[verdict.Passed], res.Verdict, res.Exit)
	}
	for _, c := range res.Runs[0].Clauses {
		if c.ID == "SC-038" && c.Reason != runner.NeverShown {
			t.Errorf("SC-038: %s", c.Reason)
		}
	}
}

// TestMutant: a fault of the target is found, with its clause and its place.
func TestMutant(t *testing.T) {
	for protocol, one := range map[string]struct{ role, clause, tags string }{
		"session-chat":   {"server", "SC-039", "@SC-038 or @SC-039"},
		"agent-select":   {"server", "AS-114", "@AS-114"},
		"external-agent": {"host", "EA-043", "@EA-043"},
	} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			mutants := bundled.All.Mutants(protocols.All.Kinds(), protocol, one.role)
			i := slices.IndexFunc(mutants, func(m runner.Mutant) bool { return slices.Equal(m.Clauses, []string{one.clause}) })
			if i < 0 {
				t.Fatalf("no mutant breaks %s", one.clause)
			}
			s := openProxy(t, options(t, protocol, bundle(t, protocol, one.role, mutants[i].ID), one.role), "")
			suite(t, protocol, one.role, s.URL(), one.tags)
			res := s.close()
			failed := outcomes(res, one.role)[verdict.Failed]
			if !slices.Contains(failed, one.clause) || res.Verdict != verdict.NonConformant ||
				res.Exit != verdict.ExitNonConformant {
				t.Fatalf("%s: failed %v, %s, exit %d", mutants[i].ID, failed, res.Verdict, res.Exit)
			}
			for _, f := range res.Runs[0].Scenarios[0].Failures {
				if f.Clause == one.clause && (f.At == "" || len(f.Excerpt) == 0 || f.Monitor == "") {
					t.Errorf("the finding has no place: %+v", f)
				}
			}
			if s.Stats().Broken == 0 {
				t.Error("the finding is not counted")
			}
		})
	}
}

// TestClientSide: a client that calls an unannounced tool is found, on its connection, and the host is not blamed; so
// also where messages can be held back.
func TestClientSide(t *testing.T) {
	for _, hold := range []func(context.Context, gate.Message){nil, func(context.Context, gate.Message) {}} {
		o := options(t, "external-agent", bundle(t, "external-agent", "host", ""))
		o.Hold = hold
		judgesClient(t, openProxy(t, o, ""))
	}
}

func judgesClient(t *testing.T, s *stand) {
	t.Helper()
	suite(t, "external-agent", "host", s.URL(), "@EA-093") // the harness calls unknown tools
	res := s.close()
	host, agent := outcomes(res, "host"), outcomes(res, "agent")
	if len(host[verdict.Failed]) > 0 || len(host[verdict.Passed]) == 0 {
		t.Errorf("host: failed %v, passed %v", host[verdict.Failed], host[verdict.Passed])
	}
	if len(agent[verdict.Passed]) == 0 {
		t.Errorf("agent: passed %v", agent[verdict.Passed])
	}
	for _, run := range res.Runs {
		if run.Role == "agent" && (len(run.Scenarios) == 0 || !strings.HasPrefix(run.Scenarios[0].Name, "the traffic of ")) {
			t.Errorf("scenarios: %+v", run.Scenarios)
		}
	}
}

// TestRolesOf: which roles are judged by default, and which clauses.
func TestRolesOf(t *testing.T) {
	for protocol, want := range map[string]string{"agent-select": "server/server", "agent-client": "client/client",
		"external-agent": "host/server agent/client", "session-runtime": "server/server", "session-chat": "server/server"} {
		o := options(t, protocol, "")
		var got []string
		for _, r := range o.Roles {
			got = append(got, r.Name+"/"+r.Side.String())
			if len(r.Clauses()) == 0 {
				t.Errorf("%s %s judges nothing", protocol, r.Name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", protocol, got, want)
		}
	}
	if _, err := proxy.RolesOf(options(t, "session-chat", "").Protocol, []string{"king"}); err == nil {
		t.Error("an unknown role is accepted")
	}
}
