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
	do      []reflect.Value
	exprs   []string // expression of each handler
	world   func() *World
	needs   map[int]func() error // what handlers need of earlier steps; see StepsAfter
	missing func() error         // what those being registered need; nil: nothing
}

// holding maps a scenario to its handlers while its steps are registered.
var holding sync.Map // *godog.ScenarioContext → *handlers

// held returns a handler that refers to another one only by its index.
func (h *handlers) held(expr string, do any) any {
	f := reflect.ValueOf(do)
	at := len(h.do)
	h.do, h.exprs = append(h.do, f), append(h.exprs, expr)
	if h.missing != nil {
		if h.needs == nil {
			h.needs = map[int]func() error{}
		}
		h.needs[at] = h.missing
	}
	return reflect.MakeFunc(f.Type(),
		func(args []reflect.Value) []reflect.Value { return h.call(at, args) }).Interface()
}

// call runs a handler. Steps between a cut and the party's return do nothing, and the result of a step that was
// running at the cut does not count. Nor does a step run that needs what no earlier step has left.
func (h *handlers) call(at int, args []reflect.Value) []reflect.Value {
	cut := func() bool {
		return h.world != nil && h.world() != nil && h.world().severed() && h.exprs[at] != comesBack
	}
	var err error
	if !cut() {
		if missing := h.needs[at]; missing != nil {
			err = missing()
		}
		if err == nil {
			out := h.do[at].Call(args)
			if !cut() {
				return out
			}
		}
	}
	return h.nothing(at, err)
}

// nothing returns the results of a handler that was not executed, with an error if it has one.
func (h *handlers) nothing(at int, err error) (out []reflect.Value) {
	for _, t := range h.results(at) {
		v := reflect.New(t).Elem()
		if err != nil && t == reflect.TypeFor[error]() {
			v.Set(reflect.ValueOf(err))
		}
		out = append(out, v)
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
