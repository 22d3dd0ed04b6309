package protocols_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"

	"parley/steps"
	"parley/steps/protocols"
)

var update = flag.Bool("update", false, "write the lists of docs/steps.md")

// TestStepReference: docs/steps.md has every registered step, and how the features use it.
func TestStepReference(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "steps.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, p := range protocols.All.All {
		begin, end := "<!-- steps of "+steps.Name(p)+" -->\n", "<!-- end -->"
		head, rest, found := strings.Cut(text, begin)
		_, tail, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no place for the steps of %s: %s%s", path, steps.Name(p), begin, end)
		}
		text = head + begin + stepList(t, p) + end + tail
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text != string(b) {
		t.Errorf("%s is not what is registered: go test ./steps/protocols -run TestStepReference -update", path)
	}
}

// noFeature heads the steps that no feature uses.
const noFeature = "In live sessions, random sequences and cuts"

// stepList lists the steps of a protocol by what the features use them for, in the order in which they are registered.
func stepList(t *testing.T, p steps.Protocol) string {
	t.Helper()
	expressions := steps.Expressions(p)
	used := keywordsOf(t, p, expressions)
	var b strings.Builder
	for _, keyword := range []string{"Given", "When", "Then", noFeature} {
		fmt.Fprintf(&b, "\n%s:\n\n```text\n", keyword)
		for _, expr := range expressions {
			if mainKeyword(used[expr]) == keyword {
				b.WriteString(spoken(expr) + "\n")
			}
		}
		b.WriteString("```\n")
	}
	return b.String() + "\n"
}

// mainKeyword returns the keyword under which a step is listed: what is judged in some scenario is so in all.
func mainKeyword(used map[string]bool) string {
	for _, keyword := range []string{"Then", "When", "Given"} {
		if used[keyword] {
			return keyword
		}
	}
	return noFeature
}

// keywordsOf returns the keywords with which the features use each step.
func keywordsOf(t *testing.T, p steps.Protocol, expressions []string) map[string]map[string]bool {
	t.Helper()
	found, err := godog.TestSuite{Options: &godog.Options{FS: p.Features(),
		Paths: []string{steps.Name(p)}}}.RetrieveFeatures()
	if err != nil {
		t.Fatal(err)
	}
	keywords := map[messages.PickleStepType]string{
		messages.PickleStepType_CONTEXT: "Given", messages.PickleStepType_ACTION: "When",
		messages.PickleStepType_OUTCOME: "Then",
	}
	out := map[string]map[string]bool{}
	for _, expr := range expressions {
		out[expr] = map[string]bool{}
	}
	for _, f := range found {
		for _, scenario := range f.Pickles {
			for _, step := range scenario.Steps {
				expr := steps.ExpressionOf(expressions, step.Text)
				if expr == "" {
					t.Errorf("%s: %q is no step", scenario.Uri, step.Text)
					continue
				}
				out[expr][keywords[step.Type]] = true
			}
		}
	}
	return out
}

// spoken returns an expression as the page shows it.
func spoken(expr string) string {
	s := steps.StepWords(expr)
	for _, r := range []struct{ expr, by string }{
		{`\(\\d\+\)`, "n"}, {`\\d\+`, "n"},
		{`"\(\[\^"\]\*\)"|"\(\[\^"\]\+\)"|"\(\\w\+\)"|"\(\.\*\)"|"\(\.\+\)"|"\[\^"\]\*"`, "“…”"},
		{`"\(\\w\)"|"\\w"`, "“…”"}, {`\(\\w\+?\)|\(\\S\+\)|\(\[\\w-\]\+\)|\\w\+`, "X"},
		{`\(\.\+\)|\(\.\*\)|\(\{\.\*\}\)`, "…"},
		{`“…”\(\?:\(\?:, \| and \)“…”\)\*`, "“…” and “…”"},
		{`\((?:\?:)?((?:[^()]|\([^()]*\))*)\)\?`, "{$1}"}, // one level of parentheses may be within
		{`\(\?:`, "("}, {`\\([.()?*+\[\]{}^$-])`, "$1"},
	} {
		s = regexp.MustCompile(r.expr).ReplaceAllString(s, r.by)
	}
	return strings.ReplaceAll(s, "|", "/")
}
