package steps

import (
	"reflect"
	"regexp"
	"sync"

	"github.com/cucumber/godog"
)

// compiled caches step expressions: godog registers every step again for each scenario, and compiling them took a third
// of a run's work.
var compiled sync.Map // expression → *regexp.Regexp

// Step registers a step under an expression anchored at both ends. It panics on a malformed expression, which is a
// programming error.
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

// expression returns a compiled expression from the cache.
func expression(expr string) *regexp.Regexp {
	re, ok := compiled.Load(expr)
	if !ok {
		re, _ = compiled.LoadOrStore(expr, regexp.MustCompile(expr))
	}
	return re.(*regexp.Regexp)
}

// handlers are the step handlers of one scenario. godog keeps a step's definition, and with it its handler, until all
// scenarios have run. To free the scenario's world earlier, the definition refers to the handler only by its index
// here.
type handlers struct {
	do    []reflect.Value
	exprs []string // expression of each handler
	world func() *World
}

// holding maps a scenario to its handlers while its steps are registered.
var holding sync.Map // *godog.ScenarioContext → *handlers

// held returns a handler that refers to another one only by its index.
func (h *handlers) held(expr string, do any) any {
	f := reflect.ValueOf(do)
	at := len(h.do)
	h.do, h.exprs = append(h.do, f), append(h.exprs, expr)
	return reflect.MakeFunc(f.Type(),
		func(args []reflect.Value) []reflect.Value { return h.call(at, args) }).Interface()
}

// call runs a handler. Steps between a cut and the party's return do nothing, and the result of a step that was
// running at the cut does not count.
func (h *handlers) call(at int, args []reflect.Value) []reflect.Value {
	cut := func() bool {
		return h.world != nil && h.world() != nil && h.world().severed() && h.exprs[at] != comesBack
	}
	var out []reflect.Value
	if !cut() {
		out = h.do[at].Call(args)
		if !cut() {
			return out
		}
	}
	out = nil
	for _, t := range h.results(at) {
		out = append(out, reflect.Zero(t))
	}
	return out
}

// results returns the types of what a handler returns.
func (h *handlers) results(at int) (out []reflect.Type) {
	for t := range h.do[at].Type().Outs() {
		out = append(out, t)
	}
	return out
}

// release drops the handlers. No step may run afterwards.
func (h *handlers) release() { clear(h.do) }
