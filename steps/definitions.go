package steps

import (
	"fmt"
	"io"
	"path"
	"reflect"
	"runtime"
	"strings"
	"sync"

	"github.com/cucumber/godog"
)

// Definition is a step that is registered: its expression, and the Go function that carries it out, as
// parley/steps/PROTOCOL.(*suite).pings, or with the place of a function without a name of its own.
type Definition struct{ Expr, Func string }

// Adapted is the function of a step that only prepares arguments for another one, by which the step is known.
type Adapted struct{ Do, Of any }

// definitionOf returns the definition of a step.
func definitionOf(expr string, do any) Definition {
	if a, ok := do.(Adapted); ok {
		do = a.Of
	}
	at := reflect.ValueOf(do).Pointer()
	f := runtime.FuncForPC(at)
	name, method := strings.CutSuffix(f.Name(), "-fm")
	if method {
		return Definition{expr, name}
	}
	file, line := f.FileLine(at)
	return Definition{expr, fmt.Sprintf("%s (%s:%d)", name, path.Base(file), line)}
}

// FunctionOf returns the Go function of a step's text; "" if no definition matches it.
func FunctionOf(definitions []Definition, text string) string {
	for _, d := range definitions {
		if cachedExpression(d.Expr).MatchString(text) {
			return d.Func
		}
	}
	return ""
}

// listing collects the definitions that Step registers for Definitions.
var listing sync.Map // *godog.ScenarioContext → *[]Definition

// Expressions returns the expressions of a protocol's steps, in the order of registration.
func Expressions(p Protocol) (out []string) {
	for _, d := range Definitions(p) {
		out = append(out, d.Expr)
	}
	return out
}

// Definitions returns a protocol's steps, in the order of registration.
func Definitions(p Protocol) []Definition {
	var out []Definition
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
