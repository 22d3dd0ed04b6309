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

// listing collects the expressions that Step registers for Expressions.
var listing sync.Map // *godog.ScenarioContext → *[]string

// Expressions returns the expressions of a protocol's steps, in the order of registration.
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

// ExpressionOf returns the expression that a step's text matches; "" if none does.
func ExpressionOf(expressions []string, text string) string {
	for _, expr := range expressions {
		if expression(expr).MatchString(text) {
			return expr
		}
	}
	return ""
}

// Judges says which steps judge which clause: sorted step expressions, by clause.
type Judges map[string][]string

// Add records that a step judges a clause.
func (j Judges) Add(clause, expression string) {
	if !slices.Contains(j[clause], expression) {
		j[clause] = append(j[clause], expression)
		slices.Sort(j[clause])
	}
}

// AtEnd stands for the expression of checks after the last step of a scenario.
const AtEnd = "the end of the scenario"

// judgesFile holds a protocol's Judges, beside its ledger.
const judgesFile = "judges.yaml"

// JudgesOf reads a protocol's Judges from its features; nil if there is no such file.
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

// StepWords returns an expression for people, without its anchors.
func StepWords(expression string) string {
	return strings.TrimSuffix(strings.TrimPrefix(expression, "^"), "$")
}
