package sessionruntime

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cucumber/godog"
	"pgregory.net/rapid"

	"parley/features/verdict"
	"parley/steps"
	judge "parley/steps/sessionruntime/model"
)

// TestExplore checks that every drawn scenario has known steps, begins with a session and ends with a judgement, and
// that a conforming target passes it.
func TestExplore(t *testing.T) {
	t.Parallel()
	env := environment(t, &scripted{})
	sequences := rapid.Custom(Protocol{}.Explore)
	for seed := range 12 { // each one runs through godog
		lines := sequences.Example(seed)
		text := strings.Join(lines, "\n")
		first := lines[0]
		if strings.Contains(first, "a short limit") {
			first = lines[1]
		}
		if !strings.HasPrefix(first, "Given a session of ") ||
			lines[len(lines)-1] != "Then the orchestrator follows its life cycles" {
			t.Fatal(text)
		}
		files := map[string]string{"f.feature": "Feature: f\n@explored " + strings.Join(Protocol{}.Explored(), " ") +
			"\nScenario: s\n" + text + "\n"}
		got := run(env, files, func() *scripted { return &scripted{} })
		if len(got) != 1 || len(got[0].Steps) != len(lines) {
			t.Fatalf("%d results of\n%s", len(got), text)
		}
		for _, st := range got[0].Steps {
			if st.Status == godog.StepUndefined.String() || st.Status == godog.StepAmbiguous.String() {
				t.Errorf("%s: %s", st.Status, st.Text)
			}
		}
		if got[0].Outcome != verdict.Passed {
			t.Errorf("%s: %s\n%s", got[0].Outcome, got[0].Reason, text)
		}
	}
}

// TestExploreIsLegal checks that all drawn sequences are legal, and that every act is drawn.
func TestExploreIsLegal(t *testing.T) {
	seen := map[string]bool{}
	for range 10 { // rapid draws a hundred of each
		rapid.Check(t, func(draw *rapid.T) {
			lines := Protocol{}.Explore(draw)
			if !(Protocol{}).Legal(lines) {
				draw.Fatalf("not legal:\n%s", strings.Join(lines, "\n"))
			}
			if strings.Contains(strings.Join(lines, "\n"), "expires") && !strings.Contains(lines[0], "a short limit") {
				draw.Fatalf("the sequence waits for a long limit:\n%s", strings.Join(lines, "\n"))
			}
			for _, what := range []string{"says", "mentions", "acknowledges", "chunk", "final", "cancels", "confirms the cancel",
				"stopped the stream", "removes", "is removed", "invites", "is added", "switches", "to hand", "error",
				"second subscription", "expires", "closes the session", "session is closed", "could not be closed"} {
				seen[what] = seen[what] || strings.Contains(strings.Join(lines, "\n"), what)
			}
		})
	}
	for what, was := range seen {
		if !was {
			t.Errorf("%q is never drawn", what)
		}
	}
}

// TestLegal checks which lines of a sequence may be left out.
func TestLegal(t *testing.T) {
	sequence := []string{`Given a session of agents "a", "b" and "c" where agent "a" is active`, `When the user says "t1"`,
		"Then everything is handled", `When agent "a" acknowledges "t1"`,
		`When agent "a" asks to hand "t1" over to agent "b"`, `When the user confirms the handover of "t1"`,
		"When the user cancels"}
	for _, row := range []struct {
		without []int
		want    bool
	}{{nil, true}, {[]int{3}, true}, {[]int{6}, true}, {[]int{4, 5}, true}, {[]int{1, 2, 3, 4, 5}, true},
		{[]int{1}, false}, {[]int{2}, false}, {[]int{4}, false}} {
		var lines []string
		for i, line := range sequence {
			if !slices.Contains(row.without, i) {
				lines = append(lines, line)
			}
		}
		if got := (Protocol{}).Legal(lines); got != row.want {
			t.Errorf("without %v: %v, want %v", row.without, got, row.want)
		}
	}
}

// TestExplored checks that an explored sequence is judged by all clauses of the model except those about BROADCAST.
func TestExplored(t *testing.T) {
	var want []string
	for _, id := range judge.Clauses() {
		want = append(want, "@"+id)
	}
	want = slices.DeleteFunc(want, func(tag string) bool { return tag == "@RT-028" })
	if got := (Protocol{}).Explored(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// TestStages checks the descriptions that the preflight shows.
func TestStages(t *testing.T) {
	if fmt.Sprint(Protocol{}.Stages()) == "" || steps.Name(Protocol{}) != "session-runtime" ||
		len(Protocol{}.Certifying()) != 2 || len(Protocol{}.Monitors()) != 1 {
		t.Error("the protocol does not say what it is")
	}
}
