package sessionruntime

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cucumber/godog"
	"pgregory.net/rapid"

	"parley/steps"
	judge "parley/steps/sessionruntime/invariants"
	"parley/verdict"
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

// legal describes what is wrong with a sequence: an agent may act on an input only after it was said, and hand it over
// at most once.
func legal(lines []string) string {
	said, asked := map[string]bool{}, map[string]bool{}
	for _, line := range lines {
		name := ""
		for w := range strings.SplitSeq(line, `"`) {
			if len(w) == 2 && w[0] == 't' {
				name = w
			}
		}
		begins := strings.Contains(line, "the user says") || strings.Contains(line, "mentions")
		hands := strings.Contains(line, "to hand")
		switch {
		case begins && said[name], name != "" && !begins && !said[name], hands && asked[name]:
			return line
		}
		said[name] = said[name] || begins
		asked[name] = asked[name] || hands
	}
	return ""
}

// TestExploreIsLegal checks that all drawn sequences are legal, and that every act is drawn.
func TestExploreIsLegal(t *testing.T) {
	seen := map[string]bool{}
	rapid.Check(t, func(draw *rapid.T) {
		lines := Protocol{}.Explore(draw)
		if wrong := legal(lines); wrong != "" {
			draw.Fatalf("%s in\n%s", wrong, strings.Join(lines, "\n"))
		}
		if strings.Contains(strings.Join(lines, "\n"), "expires") && !strings.Contains(lines[0], "a short limit") {
			draw.Fatalf("a long limit is waited for in\n%s", strings.Join(lines, "\n"))
		}
		for _, what := range []string{"says", "mentions", "acknowledges", "chunk", "final", "cancels", "confirms the cancel",
			"stopped the stream", "removes", "is removed", "invites", "is added", "switches", "to hand", "error",
			"second subscription", "expires", "closes the session", "session is closed", "could not be closed"} {
			seen[what] = seen[what] || strings.Contains(strings.Join(lines, "\n"), what)
		}
	})
	for what, was := range seen {
		if !was {
			t.Errorf("%q is never drawn", what)
		}
	}
}

// TestExploreShrinks checks that a sequence remains legal when an act is removed.
func TestExploreShrinks(t *testing.T) {
	acts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) act {
		letter := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		return act{what: rapid.SampledFrom(whats).Draw(t, "what"),
			turn: rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "turn"), agent: letter.Draw(t, "agent"),
			other: letter.Draw(t, "other")}
	}), 1, 20)
	lines := func(all []act) []string {
		p := &play{owner: map[string]string{}, asked: map[string]bool{}, sent: map[string]bool{}}
		for _, a := range all {
			p.act(a)
		}
		return p.lines
	}
	rapid.Check(t, func(draw *rapid.T) {
		all := acts.Draw(draw, "acts")
		i := rapid.IntRange(0, len(all)-1).Draw(draw, "away")
		less := lines(slices.Delete(slices.Clone(all), i, i+1))
		if wrong := legal(less); wrong != "" {
			draw.Fatalf("without act %d: %s in\n%s", i, wrong, strings.Join(less, "\n"))
		}
		if got := lines([]act{{what: "nothing"}}); len(got) > 0 {
			draw.Fatalf("nothing is %q", got)
		}
	})
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
