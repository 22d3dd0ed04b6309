package proof_test

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/internal/differential"
	"parley/internal/schematest"
	"parley/internal/tier"
	"parley/reference-server/bundled"
	"parley/reference-server/launch"
	"parley/reports"
	"parley/runner"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// bundledSide is the bundled target over all of its drivers.
func bundledSide(protocol, role, tags string) differential.Side {
	return differential.Side{Name: "bundled", Fresh: true, Options: func() runner.Options {
		o := suitetest.Bundled(protocol, role)
		o.Role, o.Tags = role, tags
		return o
	}}
}

// crowdedSide is bundledSide of targets that forget no session while a slow machine pauses: a session that has left the
// memory is resumed, and has no id in an error.
func crowdedSide(protocol, role, tags string) differential.Side {
	side := bundledSide(protocol, role, tags)
	whole := side.Options
	side.Options = func() runner.Options {
		o, sub := whole(), bundled.All.Crowded(protocols.Kinds(), protocol, role, 1000)
		o.Launcher, o.Brain = sub.Launcher, sub.Brain
		return o
	}
	return side
}

// differ compares two targets, and checks the properties of every report.
func differ(t *testing.T, a, b differential.Side) *differential.Report {
	t.Helper()
	rep, err := differential.Run(t.Context(), differential.Options{A: a, B: b, Out: t.TempDir(),
		Save: func(string, *reports.Results) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	var text, page bytes.Buffer
	for _, err := range []error{differential.WriteJSON(&text, rep), differential.WriteMarkdown(&page, rep)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := schematest.Compile(t, differential.Schema()).JSON(text.Bytes()); err != nil {
		t.Errorf("differential.json breaks its schema: %v", err)
	}
	for _, e := range rep.Entries {
		if !strings.Contains(page.String(), e.Example.Scenario) {
			t.Errorf("the page lacks the example of difference %d", e.Number)
		}
	}
	return rep
}

func listed(t *testing.T, rep *differential.Report) string {
	t.Helper()
	var b strings.Builder
	if err := differential.WriteText(&b, rep); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sampledSide is a side that runs one of n scenarios, or all at night.
func sampledSide(n uint32, s differential.Side) differential.Side {
	whole := s.Options
	s.Options = func() runner.Options { return suitetest.OneIn(n, whole()) }
	return s
}

// TestDifferentialFindsNothingBetweenEquals compares bundled targets with themselves: two with a sixth of their
// scenarios, or all at night. Pages run a part of their suite.
func TestDifferentialFindsNothingBetweenEquals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		protocol, role, tags string
		least                int // scenarios
	}{
		{"agent-select", "server", "", 400}, {"session-chat", "server", "", 140}, {"session-runtime", "server", "", 300},
		{"external-agent", "host", "", 120}, {"external-agent", "relay", "", 85}, {"external-agent", "agent", "", 45},
		{"agent-client", "client", "@AC-010 or @AC-020 or @AC-030 or @AC-040", 1},
	} {
		t.Run(c.protocol+" "+c.role, func(t *testing.T) {
			if c.protocol != "session-chat" && c.role != "relay" {
				tier.Night(t)
			}
			suitetest.AwaitTurnOn(t, c.protocol)
			side := sampledSide(6, crowdedSide(c.protocol, c.role, c.tags))
			if !tier.All() {
				c.least /= 12
			}
			rep := differ(t, side, side)
			if rep.Exit != verdict.ExitConformant || rep.Scenarios < c.least || rep.Compared < 2*c.least {
				t.Errorf("exit %d\n%s", rep.Exit, listed(t, rep))
			}
		})
	}
}

// TestDifferentialNamesTheClauseOfAMutant compares bundled targets with mutants of them, under the scenarios of the
// clauses that these break: every other one, or all at night.
func TestDifferentialNamesTheClauseOfAMutant(t *testing.T) {
	t.Parallel()
	for i, c := range []struct{ protocol, role, mutant, message string }{
		{"agent-select", "server", "folds-case", "agent_switched"},
		{"agent-select", "server", "camel-case-codes", "error"},
		{"session-chat", "server", "agent-id-for-session-id", "system"},
		{"session-chat", "server", "folds-case", "*"},
		{"session-runtime", "server", "input-payload-wrapped", "USER_INPUT"},
		{"session-runtime", "server", "input-broadcast", "USER_INPUT"},
		{"external-agent", "relay", "joined-role-agent-always", "relay.joined"},
		{"external-agent", "host", "v-missing", "*"},
		{"external-agent", "agent", "join-without-role", "relay.join"},
	} {
		t.Run(c.protocol+" "+c.mutant, func(t *testing.T) {
			if i%2 > 0 {
				tier.Night(t)
			}
			suitetest.AwaitTurn(t)
			all := suitetest.Mutants(c.protocol, c.role)
			at := slices.IndexFunc(all, func(m runner.Mutant) bool { return m.ID == c.mutant })
			if at < 0 {
				t.Fatal("there is no such mutant")
			}
			mu := all[at]
			tags := "@" + strings.Join(mu.Clauses, " or @")
			side := func(mutant bool) differential.Side {
				s := bundledSide(c.protocol, c.role, tags)
				plain := s.Options
				s.Options = func() runner.Options {
					o := plain()
					o.Profile = suitetest.MutantProfile(c.protocol, c.role)
					o.Drivers = mu.Drivers
					if mutant {
						o.Launcher = mu.Launch(o.Brain)
					}
					return o
				}
				return s
			}
			rep := differ(t, side(false), side(true))
			if rep.Exit != verdict.ExitNonConformant || !slices.ContainsFunc(rep.Entries, func(e differential.Entry) bool {
				return (e.Message == c.message || c.message == "*") && e.Class == differential.Decided &&
					slices.ContainsFunc(e.Decisions, func(d differential.Decision) bool {
						return slices.Contains(mu.Clauses, d.Clause) && d.Breaks == "b"
					})
			}) {
				t.Errorf("no difference in %s is decided by one of %v\n%s", c.message, mu.Clauses, listed(t, rep))
			}
		})
	}
}

// TestDifferentialListsWhatIsOpen compares a bundled server with another one that the document allows: no clause
// decides their differences.
func TestDifferentialListsWhatIsOpen(t *testing.T) {
	tier.Night(t)
	suitetest.AwaitTurn(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("python3 is missing; install it: apt-get install -y python3   (3.11 or later)")
	}
	foreign := differential.Side{Name: "python", Fresh: true, Options: func() runner.Options {
		p, err := protocols.Kinds().Load("examples/profiles/python-chat.yaml")
		if err != nil {
			t.Fatal(err)
		}
		launch.RaiseLimits(&p.Limits)
		return runner.Options{Protocols: protocols.All, Profile: p, Again: "parley run"}
	}}
	rep := differ(t, sampledSide(3, bundledSide("session-chat", "server", "")), sampledSide(3, foreign))
	codes := false
	for _, e := range rep.Entries {
		if e.Class == differential.Decided || e.Section == "" || len(e.Clauses) == 0 {
			t.Errorf("difference %d is not open:\n%s", e.Number, listed(t, rep))
		}
		codes = codes || e.Message == "error" && len(e.Places) == 1 && e.Places[0].At == "/message/code" &&
			e.Example.A != nil && e.Example.B != nil
	}
	if rep.Exit != verdict.ExitNonConformant || !codes {
		t.Errorf("the codes of errors do not differ: exit %d\n%s", rep.Exit, listed(t, rep))
	}
}

// TestDifferentialJudgesNobodyWhoIsNotThere checks that there is no list if one of the targets cannot be reached.
func TestDifferentialJudgesNobodyWhoIsNotThere(t *testing.T) {
	suitetest.AwaitTurn(t)
	nobody := differential.Side{Name: "nobody", Options: func() runner.Options {
		p, err := protocols.Kinds().ForURL("session-chat", "http://127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		return runner.Options{Protocols: protocols.All, Profile: p, Again: "parley run"}
	}}
	for _, sides := range [][2]differential.Side{{nobody, bundledSide("session-chat", "server", "@SC-001")},
		{bundledSide("session-chat", "server", "@SC-001"), nobody}} {
		rep := differ(t, sides[0], sides[1])
		if rep.Exit != verdict.ExitUnreachable || !strings.Contains(rep.Problem, "nobody") || len(rep.Entries) > 0 {
			t.Errorf("exit %d, problem %q, %d differences", rep.Exit, rep.Problem, len(rep.Entries))
		}
	}
}
