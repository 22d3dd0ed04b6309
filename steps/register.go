package steps

import (
	"reflect"
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
	if list, ok := listing.Load(sc); ok {
		out := list.(*[]string)
		*out = append(*out, expr)
		return
	}
	re := expression(expr)
	if h, ok := holding.Load(sc); ok {
		do = h.(*handlers).held(expr, do)
	}
	sc.Step(re, do)
}

// expression is a compiled expression, kept.
func expression(expr string) *regexp.Regexp {
	re, ok := compiled.Load(expr)
	if !ok {
		re, _ = compiled.LoadOrStore(expr, regexp.MustCompile(expr))
	}
	return re.(*regexp.Regexp)
}

// handlers are what carries the steps of one scenario out. godog keeps a step's definition, and with it its handler,
// until all scenarios have run; what a handler refers to, which is the scenario's whole world, is let go when the
// scenario is over.
type handlers struct {
	do    []reflect.Value
	exprs []string // of each
}

// holding is where Step finds the handlers of a scenario while its steps are registered.
var holding sync.Map // *godog.ScenarioContext → *handlers

// held is a handler that refers to another one by its place alone.
func (h *handlers) held(expr string, do any) any {
	f := reflect.ValueOf(do)
	at := len(h.do)
	h.do, h.exprs = append(h.do, f), append(h.exprs, expr)
	return reflect.MakeFunc(f.Type(),
		func(args []reflect.Value) []reflect.Value { return h.do[at].Call(args) }).Interface()
}

// release lets go of them. No step is carried out any more.
func (h *handlers) release() { clear(h.do) }
