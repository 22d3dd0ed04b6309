package sessionruntime

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cucumber/godog"
	"pgregory.net/rapid"

	judge "parley/monitor/sessionruntime"
	"parley/steps"
	"parley/verdict"
)

// TestExplore: whatever is drawn is a scenario of known steps, begins with a session and ends with a judgement, and shows the
// harness no mistake of its own.
func TestExplore(t *testing.T) {
	env := environment(t, &scripted{})
	rapid.Check(t, func(draw *rapid.T) {
		lines := Protocol{}.Explore(draw)
		if !strings.HasPrefix(lines[0], "Given a session of ") || lines[len(lines)-1] != "Then the orchestrator has kept to its life cycles" {
			draw.Fatalf("%q", lines)
		}
		files := map[string]string{"f.feature": "Feature: f\n@explored " + strings.Join(Protocol{}.Explored(), " ") + "\nScenario: s\n" + strings.Join(lines, "\n") + "\n"}
		got := run(env, files, func() *scripted { return &scripted{} })
		if len(got) != 1 || len(got[0].Steps) != len(lines) {
			draw.Fatalf("%d results of\n%s", len(got), strings.Join(lines, "\n"))
		}
		for _, st := range got[0].Steps {
			if st.Status == godog.StepUndefined.String() || st.Status == godog.StepAmbiguous.String() {
				draw.Fatalf("%s: %s", st.Status, st.Text)
			}
		}
		if got[0].Outcome == verdict.HarnessError {
			draw.Fatalf("%s\n%s", got[0].Reason, strings.Join(lines, "\n"))
		}
	})
}

// TestExploreIsLegal: an agent speaks of an input only when that was said, and hands it over at most once.
func TestExploreIsLegal(t *testing.T) {
	seen := map[string]bool{}
	rapid.Check(t, func(draw *rapid.T) {
		said, asked := map[string]bool{}, map[string]bool{}
		for _, line := range (Protocol{}).Explore(draw) {
			words := strings.Split(line, `"`)
			name := ""
			for _, w := range words {
				if len(w) == 2 && w[0] == 't' {
					name = w
				}
			}
			switch {
			case strings.Contains(line, "the user says") || strings.Contains(line, "mentions"):
				if said[name] {
					draw.Fatalf("said twice: %s", line)
				}
				said[name] = true
			case strings.Contains(line, "to hand"):
				if asked[name] || !said[name] {
					draw.Fatalf("handed over twice, or never said: %s", line)
				}
				asked[name] = true
			case name != "" && !said[name]:
				draw.Fatalf("never said: %s", line)
			}
			for _, what := range []string{"says", "mentions", "acknowledges", "chunk", "final", "cancels", "confirms the cancel", "stopped the stream", "removes", "is removed", "invites", "is added", "switches", "to hand", "error", "second subscription"} {
				seen[what] = seen[what] || strings.Contains(line, what)
			}
		}
	})
	for what, was := range seen {
		if !was {
			t.Errorf("%q is never drawn", what)
		}
	}
}

// TestExplored: an explored sequence is judged by all that the model judges.
func TestExplored(t *testing.T) {
	var want []string
	for _, id := range judge.Clauses() {
		want = append(want, "@"+id)
	}
	if got := (Protocol{}).Explored(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// TestExploreShrinks: of a fault that one act shows, the sequence that is found can be cut down to few lines.
func TestExploreShrinks(t *testing.T) {
	env := environment(t, &scripted{})
	env.Profile.Limits.Event = environment(t, &scripted{fault: "x"}).Profile.Limits.Event
	breaks := func(lines []string) bool {
		files := map[string]string{"f.feature": "Feature: f\n@explored @RT-032\nScenario: s\n" + strings.Join(lines, "\n") + "\n"}
		got := run(env, files, func() *scripted { return &scripted{fault: "drop SWITCH_AGENT"} })
		return len(got) == 1 && slices.ContainsFunc(got[0].Clauses, func(c steps.ClauseResult) bool { return c.ID == "RT-032" && c.Outcome == verdict.Failed })
	}
	one := (&play{owner: map[string]string{}, asked: map[string]bool{}, sent: map[string]bool{}}).lines
	one = append(one, `Given a session of agents "a", "b" and "c" where agent "a" is active`, `When the user switches to agent "b"`, "Then the orchestrator has kept to its life cycles")
	if !breaks(one) {
		t.Fatal("the fault does not show")
	}
	p := &play{owner: map[string]string{}, asked: map[string]bool{}, sent: map[string]bool{}}
	for i, a := range []act{{what: "nothing"}, {what: "say", turn: "t1"}, {what: "final", turn: "t2"}, {what: "switch", agent: "b"}, {what: "foreign", turn: "t1", other: "c"}} {
		n := len(p.lines)
		p.act(a)
		if wrote := len(p.lines) > n; wrote != slices.Contains([]int{1, 3, 4}, i) {
			t.Errorf("act %d (%s) has written %q", i, a.what, p.lines[n:])
		}
	}
}

// TestStages: what the preflight shows is told.
func TestStages(t *testing.T) {
	if fmt.Sprint(Protocol{}.Stages()) == "" || Protocol.Name(Protocol{}) != "session-runtime" || len(Protocol{}.Certifying()) != 2 || len(Protocol{}.Monitors()) != 1 {
		t.Error("the protocol does not say what it is")
	}
}
