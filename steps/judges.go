package steps

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/cucumber/godog"
	"github.com/goccy/go-yaml"
)

// listing is where Step finds who only wants to know the expressions.
var listing sync.Map // *godog.ScenarioContext → *[]string

// Expressions are those of a protocol's steps, in the order in which they are registered.
func Expressions(p Protocol) []string {
	var out []string
	godog.TestSuite{
		ScenarioInitializer: func(sc *godog.ScenarioContext) {
			listing.Store(sc, &out)
			defer listing.Delete(sc)
			p.Register(sc, func() *World { return nil })
		},
		Options: &godog.Options{
			Format: "progress", Output: io.Discard, NoColors: true,
			FeatureContents: []godog.Feature{{Name: "none",
				Contents: []byte("Feature: none\n  Scenario: none\n    * nothing\n")}},
		},
	}.Run()
	return out
}

// ExpressionOf is the expression that a step's text matches; "" where none does.
func ExpressionOf(expressions []string, text string) string {
	for _, expr := range expressions {
		if expression(expr).MatchString(text) {
			return expr
		}
	}
	return ""
}

// Judges say which steps judge which clause: expressions of steps, sorted, by clause.
type Judges map[string][]string

// Add notes that a step judges a clause.
func (j Judges) Add(clause, expression string) {
	if !slices.Contains(j[clause], expression) {
		j[clause] = append(j[clause], expression)
		slices.Sort(j[clause])
	}
}

// AtEnd stands for the expression of what is judged behind the last step of a scenario.
const AtEnd = "the end of the scenario"

// judgesFile has a protocol's Judges, beside its ledger.
const judgesFile = "judges.yaml"

// JudgesOf reads which steps of a protocol judge which clause, as its features say; nil where they do not say it.
func JudgesOf(p Protocol) (Judges, error) {
	b, err := fs.ReadFile(p.Features(), Name(p)+"/"+judgesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the judges of %s: %w", Name(p), err)
	}
	var out Judges
	if err := yaml.UnmarshalWithOptions(b, &out, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read the judges of %s: %w", Name(p), err)
	}
	return out, nil
}

// StepWords is an expression as a person reads it: without its anchors.
func StepWords(expression string) string {
	return strings.TrimSuffix(strings.TrimPrefix(expression, "^"), "$")
}
