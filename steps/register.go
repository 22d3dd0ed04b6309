package steps

import (
	"regexp"
	"sync"

	"github.com/cucumber/godog"
)

// compiled keeps the expressions of steps: godog registers every step anew for each scenario, and compiling them was a
// third of a run's work.
var compiled sync.Map // expression → *regexp.Regexp

// Step registers a step under an expression that is anchored at both ends. Calling it with a malformed expression is a
// mistake of ours, and panics.
func Step(sc *godog.ScenarioContext, expr string, do any) {
	re, ok := compiled.Load(expr)
	if !ok {
		re, _ = compiled.LoadOrStore(expr, regexp.MustCompile(expr))
	}
	sc.Step(re.(*regexp.Regexp), do)
}
