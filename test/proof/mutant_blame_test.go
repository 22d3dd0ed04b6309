package proof_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/tier"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/agentselect/mutants"
	"parley/reference-server/launch"
	"parley/reports"
	"parley/reports/diagnosis"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

// TestWhatIsNeverGivenProvesNothing checks that the absence of the custom agent's prompt counts only if the prompt
// reached the model in another turn.
func TestWhatIsNeverGivenProvesNothing(t *testing.T) {
	suitetest.AwaitTurn(t)
	const name = "after a switch back, the model no longer gets the prompt and the tools of the custom agent"
	res := suitetest.JudgeAgentSelect(t, "@AS-047",
		func(o agentselect.Options) (launch.Handler, error) { return agentselect.New(o) })
	if got := suitetest.OutcomesOf(res, name, "AS-047"); len(got) == 0 || slices.Contains(got, verdict.NotTested) ||
		slices.Contains(got, verdict.Failed) {
		t.Errorf("the bundled server: AS-047 is %v\n%s", got, suitetest.Console(t, res))
	}
	res = suitetest.JudgeAgentSelect(t, "@AS-047", func(o agentselect.Options) (launch.Handler, error) {
		return mutants.Handler("no-prompt-for-custom", o)
	})
	if got := suitetest.OutcomesOf(res, name, "AS-047"); len(got) == 0 || slices.Contains(got, verdict.Passed) {
		t.Errorf("a server that gives no agent of the user its prompt: AS-047 is %v, "+
			"and the prompt was never there to be taken away", got)
	}
}

// TestRefusalThatMovesTheAgent checks that a refused switch that changes the agent breaks AS-053 only, although
// fences are refused switches too, and their effect looks like interference from another session.
func TestRefusalThatMovesTheAgent(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"failed-switch-debugs", "failed-switch-resets"} {
		t.Run(fault, func(t *testing.T) {
			if fault == "failed-switch-resets" {
				tier.Night(t)
			}
			suitetest.AwaitTurn(t)
			res := suitetest.JudgeAgentSelect(t, "",
				func(o agentselect.Options) (launch.Handler, error) { return mutants.Handler(fault, o) })
			var failed []string
			for _, c := range res.Runs[0].Clauses {
				if c.Outcome == verdict.Failed {
					failed = append(failed, c.ID)
				}
			}
			if !slices.Equal(failed, []string{"AS-053"}) {
				t.Errorf("it fails %v, want AS-053 alone\n%s", failed, suitetest.Console(t, res))
			}
		})
	}
}

// deaf is a server that never answers requests to load certain sessions, such as unknown ones or those on another
// connection.
type deaf struct {
	launch.Handler
	to func(session string) bool
}

func (d deaf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct{ SessionID string }
	if r.URL.Path != "/session/load" {
		d.Handler.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	if json.Unmarshal(body, &m) == nil && d.to(m.SessionID) {
		<-r.Context().Done()
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	d.Handler.ServeHTTP(w, r)
}

// TestNoAnswerIsNoRefusal checks that a missing answer to loading a session does not count as a refusal.
func TestNoAnswerIsNoRefusal(t *testing.T) {
	t.Parallel()
	unknown := func(session string) bool { return session == "parley-no-such-session" }
	known := func(session string) bool { return !unknown(session) }
	for _, row := range []struct {
		name, clause string
		to           func(string) bool
		want         verdict.Outcome
	}{
		{"a session that exists is loaded, and one that does not is refused", "AS-099", unknown, verdict.Failed},
		{"a session that a second connection loads is bound to only one connection", "AS-094", known, verdict.NotTested},
	} {
		t.Run(row.name, func(t *testing.T) {
			suitetest.AwaitTurn(t)
			res := judgeDeaf(t, row.clause, row.to)
			if got := suitetest.OutcomesOf(res, row.name, row.clause); !slices.Equal(got, []verdict.Outcome{row.want}) {
				t.Errorf("%s is %v, want %s\n%s", row.clause, got, row.want, suitetest.Console(t, res))
			}
		})
	}
}

func judgeDeaf(t *testing.T, clause string, to func(session string) bool) *reports.Results {
	t.Helper()
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile
	p.Drivers, p.Limits.HTTP.Duration = []string{target.SSE}, 3*time.Second
	l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
		h, err := agentselect.New(o)
		return deaf{h, to}, err
	})
	o := runner.Options{Profile: p, Brain: brain, Tags: "@" + clause, Launcher: l}
	res := suitetest.Judge(t, o)
	return res
}

// TestChatRunsElsewhere checks that a conversation in a session other than the requested one is reported as such by
// every wait.
func TestChatRunsElsewhere(t *testing.T) {
	suitetest.AwaitTurn(t)
	res := suitetest.JudgeAgentSelect(t, "@AS-006 or @AS-019 or @AS-047",
		func(o agentselect.Options) (launch.Handler, error) { return mutants.Handler("chats-run-elsewhere", o) })
	told := 0
	for _, sc := range res.Runs[0].Scenarios {
		if strings.Contains(sc.Reason, "no such message") {
			t.Errorf("%q: %s", sc.Name, sc.Reason)
		}
		if strings.Contains(sc.Reason, "complete came for session ") && strings.Contains(sc.Reason, ", but the chat named ") {
			told++
		}
	}
	if told < 3 {
		t.Errorf("%d scenarios tell it\n%s", told, suitetest.Console(t, res))
	}
}

// TestMonitorFindsAgain checks that the command beside a monitor's finding runs the scenario in which it was found,
// whose tags do not name the clause.
func TestMonitorFindsAgain(t *testing.T) {
	suitetest.AwaitTurn(t)
	judged := func(tags string) *reports.Results {
		return suitetest.JudgeAgentSelect(t, tags,
			func(o agentselect.Options) (launch.Handler, error) { return mutants.Handler("null-names-in-list", o) })
	}
	first, failure := byMonitor(judged("@AS-080 or @AS-010"), "")
	if first == nil {
		t.Fatal("no monitor finds anything")
	}
	_, tag, _ := strings.Cut(failure.Again, " --tags ")
	res := judged(tag)
	again, second := byMonitor(res, first.ID)
	if again == nil || second.Clause != failure.Clause || second.Monitor != failure.Monitor {
		t.Errorf("%s found %s in %s, and not with %q\n%s", failure.Monitor, failure.Clause, first.ID, failure.Again,
			suitetest.Console(t, res))
	}
	for _, sc := range res.Runs[0].Scenarios {
		if sc.ID != first.ID && !slices.ContainsFunc(sc.Tags, func(tag string) bool {
			return strings.HasPrefix(tag, "@preflight-")
		}) {
			t.Errorf("%s was run besides", sc.ID)
		}
	}
}

// byMonitor returns a scenario beyond preflight with a failure that a monitor found; with an id, that one.
func byMonitor(res *reports.Results, id string) (*reports.Scenario, reports.Failure) {
	for i, sc := range res.Runs[0].Scenarios {
		for _, f := range sc.Failures {
			if f.Monitor != "" && (sc.ID == id || id == "" && !slices.Contains(sc.Tags, "@"+f.Clause) &&
				!slices.ContainsFunc(sc.Tags, func(tag string) bool { return strings.HasPrefix(tag, "@preflight-") })) {
				return &res.Runs[0].Scenarios[i], f
			}
		}
	}
	return nil, reports.Failure{}
}

// TestFaultIsNamed checks that a run of a mutant looks like that mutant, and that the bundled server's looks like none.
func TestFaultIsNamed(t *testing.T) {
	suitetest.AwaitTurn(t)
	for _, fault := range []string{"own-text-for-empty", ""} {
		res := suitetest.JudgeAgentSelect(t, "@AS-071 or @AS-080", func(o agentselect.Options) (launch.Handler, error) {
			if fault == "" {
				return agentselect.New(o)
			}
			return mutants.Handler(fault, o)
		})
		before := [3]any{res.Verdict, res.Exit, len(suitetest.Broken(res))}
		diagnosis.Tell(res)
		var names []string
		for _, c := range res.Runs[0].Causes {
			for _, l := range c.LooksLike {
				names = append(names, l.Fault)
			}
		}
		if fault == "" && len(names) > 0 || fault != "" && !slices.Contains(names, fault) {
			t.Errorf("%q looks like %q\n%s", fault, names, suitetest.Console(t, res))
		}
		if after := [3]any{res.Verdict, res.Exit, len(suitetest.Broken(res))}; after != before {
			t.Errorf("the verdict was %v and is %v", before, after)
		}
	}
}

// TestNoPreviousAgentTellsNothing checks that an agent_switched without a previous agent fails the clause about it, and
// not what the switch was to show; likewise one that names a wrong agent to a client alone, too. A session whose agent
// another client has changed fails what the switch was to show.
func TestNoPreviousAgentTellsNothing(t *testing.T) {
	suitetest.AwaitTurn(t)
	for _, tt := range []struct {
		fault         string
		fails, spares []string
	}{
		{"previous-null", []string{"AS-043"}, []string{"AS-005", "AS-055"}},
		{"previous-is-current", []string{"AS-043"}, []string{"AS-005", "AS-055"}},
		{"shared-agent", []string{"AS-005"}, nil},
	} {
		res := suitetest.JudgeAgentSelect(t, "@AS-005 or @AS-043 or @AS-055",
			func(o agentselect.Options) (launch.Handler, error) { return mutants.Handler(tt.fault, o) })
		broken := suitetest.Broken(res)
		for _, id := range tt.fails {
			if !slices.Contains(broken, id) {
				t.Errorf("%s: %s is not broken", tt.fault, id)
			}
		}
		for _, id := range tt.spares {
			if slices.Contains(broken, id) {
				t.Errorf("%s: %s is broken\n%s", tt.fault, id, suitetest.Console(t, res))
			}
		}
	}
}

// TestOneFaultBreaksFew checks, over the whole suite, that a fault which shows in every scenario breaks its own clauses
// and few others: what a client alone was answered explains the rest.
func TestOneFaultBreaksFew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault string
		own   []string
		most  int // clauses besides
	}{
		{"agent-id-under-agent", []string{"AS-011", "AS-041", "AS-116"}, 6},
		{"binding-is-used-up", []string{"AC-116", "AS-006", "AS-041", "AS-081"}, 6},
		{"previous-is-current", []string{"AS-043"}, 6},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			res := suitetest.JudgeAgentSelect(t, "", func(o agentselect.Options) (launch.Handler, error) {
				return mutants.Handler(tt.fault, o)
			})
			broken := suitetest.Broken(res)
			for _, id := range tt.own {
				if !slices.Contains(broken, id) {
					t.Errorf("%s is not broken", id)
				}
			}
			if len(broken) > len(tt.own)+tt.most {
				t.Errorf("%d clauses are broken besides: %v", len(broken)-len(tt.own), broken)
			}
		})
	}
}

// TestFaultsOfOneMember checks the same of faults in one member of many messages.
func TestFaultsOfOneMember(t *testing.T) {
	tier.Night(t)
	t.Parallel()
	for _, tt := range []struct {
		protocol, fault string
		most            int // clauses besides
	}{
		{"session-chat", "no-agent-id-in-stream", 2},
		{"session-chat", "no-agent-id-in-system", 0},
		{"session-runtime", "cancel-broadcast", 0},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			suitetest.AwaitTurn(t)
			k, err := runner.Mutants(t.Context(), runner.MutantOptions{Protocols: protocols.All, Protocol: tt.protocol,
				Profile: suitetest.MutantProfile(tt.protocol, ""), Whole: true,
				Mutants: []runner.Mutant{suitetest.Mutant(t, tt.protocol, tt.fault)}})
			if err != nil {
				t.Fatal(err)
			}
			if m := k.Mutants[0]; !m.OK || len(m.Besides) > tt.most {
				t.Errorf("killed: %v; besides its own clauses %v are broken, want %d at most", m.OK, m.Besides, tt.most)
			}
		})
	}
}
