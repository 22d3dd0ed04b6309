package externalagent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/steps"
)

// tries is how often the host departs from its flow where an agent that takes too long for its next act, as under
// load, shows nothing.
const tries = 3

// planAgain makes the host depart from its flow once more, at the next fitting call, up to tries times in all. The
// caller holds the play's lock.
func (s *suite) planAgain(t turn, fits func(call, result object) bool, do func(turn) []any) {
	if s.agent.departed++; s.agent.departed < tries {
		t.plans = append(t.plans, &plan{n: t.went + 1, fits: fits, do: do})
	}
}

// judgeUntilPrompt judges what an agent does at a departure, and at those that planAgain adds, until one has shown
// something. judge says why its departure has shown nothing, or returns "".
func (s *suite) judgeUntilPrompt(ctx context.Context, judge func(context.Context) (slow string, err error)) error {
	why := ""
	for range tries {
		slow, err := judge(ctx)
		var missing *steps.NotTestedError
		switch {
		case errors.As(err, &missing) && why != "":
			return steps.NotTestedf("%s; and then %s", why, missing.Reason)
		case err != nil || slow == "":
			return err
		}
		s.Note("%s", slow)
		why = slow
		s.agent.planned++
	}
	return steps.NotTestedf("%s", why)
}

// tooSlow says why a wait of a given length has shown nothing of an agent that took this long for its next act. It
// returns "" if the wait was long enough.
func tooSlow(given, took time.Duration, what string) string {
	if took <= given {
		return ""
	}
	return fmt.Sprintf("the agent took %s for its next message and was given %s in which %s: its silence may be due to "+
		"that",
		took.Round(time.Millisecond), given.Round(time.Millisecond), what)
}
