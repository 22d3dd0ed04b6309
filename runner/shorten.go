package runner

import (
	"context"
	"slices"
	"time"

	"parley/features/verdict"
	"parley/steps"
)

// steadily is how often a failing sequence has to fail again before one try of a shorter one counts.
const steadily = 3

// shorten leaves lines out of the failing sequence as long as what remains is legal and breaks one of the clauses that
// the sequence broke: first many at once, then one by one, at last in pairs, whose lines make sense only together. It
// ends when nothing more can be left out, or at the limit.
func (e *exploration) shorten(ctx context.Context, rules steps.Shortener, limit time.Duration) {
	found, end := e.failing, time.Now().Add(limit)
	broken := brokenBy(found.res)
	fails := func(lines []string) bool {
		for range e.patience() {
			if ctx.Err() != nil || time.Now().After(end) {
				return false
			}
			shortest := e.failing
			res := e.try(ctx, lines)
			if res != nil && res.Outcome == verdict.Failed && slices.ContainsFunc(brokenBy(*res), func(mark string) bool {
				return slices.Contains(broken, mark)
			}) {
				return true
			}
			e.failing = shortest
		}
		return false
	}
	e.steady = true
	for range steadily {
		e.steady = e.steady && fails(found.lines)
	}
	lines := found.lines
	without := func(out ...int) bool { // the last line judges
		var less []string
		for i, line := range lines {
			if !slices.Contains(out, i) {
				less = append(less, line)
			}
		}
		if !rules.Legal(less) || !fails(less) {
			return false
		}
		lines = less
		return true
	}
	for size := len(lines) / 2; size > 0; size /= 2 {
		for i := 0; i < len(lines)-1; {
			if !without(upTo(i, min(i+size, len(lines)-1))...) {
				i += size
			}
		}
	}
	for more := true; more; {
		more = false
		for i := len(lines) - 2; i >= 0; i-- {
			more = without(i) || more
			for j := i - 1; j >= 0 && i < len(lines)-1; j-- {
				more = without(j, i) || more
			}
		}
	}
}

// upTo lists the numbers from one up to another, which is left out.
func upTo(from, to int) (all []int) {
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}
