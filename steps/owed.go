package steps

import (
	"fmt"
	"slices"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/transport/driver"
)

// Only an act can be answered: a step judges only what was sent in its scenario and reached the target. Whatever else
// it expects is not tested at once, and the reason names the act that is missing. This file has the rule; acts are
// known by the numbers of their records (Wait.After), by connections that did not open, and by what earlier steps have
// left behind (StepsAfter).

// NotOwed returns the Miss of a step that expects something which no act has asked for.
func NotOwed(format string, args ...any) *verdict.Miss {
	return &verdict.Miss{NotOwed: true, Reason: fmt.Sprintf(format, args...)}
}

// unasked returns why nothing is owed that would end a wait; nil if something may be.
func (w *World) unasked(e Wait) *verdict.Miss {
	if err := w.unopened[e.Conn]; err != nil {
		return NotOwed("%s could not connect: %v", e.Conn, err)
	}
	if e.After <= 0 && !e.Greeting {
		return NotOwed("nothing was sent that it would answer")
	}
	return nil
}

// notOwedError wraps the error of an opening that says nothing about the target.
type notOwedError struct{ error }

func (e *notOwedError) Unwrap() error { return e.error }

// openedWith records how an opening ended, and returns its error.
func (w *World) openedWith(o driver.OpenOptions, err error, interrupted bool) error {
	if err == nil {
		w.connects = true
		delete(w.unopened, o.Party)
		return nil
	}
	if w.unopened == nil {
		w.unopened = map[string]error{}
	}
	w.unopened[o.Party] = err
	// What no preflight has tried may be the wrong address, until a connection shows that it is right.
	if interrupted || w.live && !w.connects {
		return &notOwedError{err}
	}
	return err
}

// owed reports whether a check judges anything: it saw something, or waited for what an act had asked for.
func owed(c verdict.Finding) bool { return c.OK || c.Miss == nil || !c.Miss.NotOwed }

// unowed returns the error of a step with a check of what is not owed; nil if every check judges.
func unowed(checks []verdict.Finding) error {
	i := slices.IndexFunc(checks, func(c verdict.Finding) bool { return !owed(c) })
	if i < 0 {
		return nil
	}
	return &NotTestedError{Reason: checks[i].Miss.Reason}
}

// StepsAfter registers steps that need what earlier steps leave behind, such as a session. missing returns the error
// that says what is missing, mostly a *NotTestedError, and nil if nothing is: then the steps are executed.
func StepsAfter(sc *godog.ScenarioContext, missing func() error, register func()) {
	h, ok := holding.Load(sc)
	if !ok {
		register()
		return
	}
	all := h.(*handlers)
	outer := all.missing
	all.missing = func() error {
		if outer != nil {
			if err := outer(); err != nil {
				return err
			}
		}
		return missing()
	}
	register()
	all.missing = outer
}
