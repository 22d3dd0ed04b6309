package terminal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/steps"
)

// printOwed prints what the target owes now: what, since when, because of which record, and by which clauses.
func (t *Terminal) printOwed(context.Context, []string) error {
	list, count, modelled := t.o.Session.Owed()
	switch {
	case !modelled:
		return fmt.Errorf("what is owed is not known: %s has no model yet", t.o.Session.Protocol())
	case count > 0:
	case t.o.Session.Unowed() != "":
		t.printText("  what is owed is not known any more: %s", t.o.Session.Unowed())
	default:
		t.printText("  nothing is owed")
	}
	for _, o := range list {
		t.printText("%s", t.describeOwed(o, time.Now()))
	}
	if more := count - len(list); more > 0 {
		t.printText("  and %d more", more)
	}
	return nil
}

// describeOwed describes a debt in a few lines: with what would settle it, and what its first clause says.
func (t *Terminal) describeOwed(o steps.Owed, now time.Time) string {
	settles := "it"
	if len(o.Or) > 0 {
		settles += ", or " + strings.Join(o.Or, ", or ")
	}
	in := ""
	if o.Session != "" {
		in = " in " + o.Session
	}
	lines := []string{fmt.Sprintf("  the %s owes %s%s, %d s, %s", o.By, o.What, in, int(o.Age(now).Seconds()),
		strings.Join(o.Clauses, " ")),
		fmt.Sprintf("      because of record %d, %s; %s settles that", o.Record, o.Cause, settles)}
	if row, ok := t.o.Session.Ledger().Row(o.Clauses[0]); ok {
		lines = append(lines, fmt.Sprintf("      %s %s: %s (.explain %[1]s)", row.ID, row.Level, row.Text))
	}
	return strings.Join(lines, "\n")
}

// tellOwed prints in a line what a step or a message has made the target owe that has not come by now. mark is the
// record before.
func (t *Terminal) tellOwed(ctx context.Context, mark int) {
	owed := func() []steps.Owed {
		list, _, _ := t.o.Session.Owed()
		return slices.DeleteFunc(list, func(o steps.Owed) bool { return o.Record <= mark })
	}
	if len(owed()) == 0 {
		return
	}
	if !t.o.Steady { // which has waited
		timer := time.NewTimer(Quiet)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
	var all []string
	for _, o := range owed() {
		all = append(all, fmt.Sprintf("%s (%s)", o.What, o.Demands()))
	}
	if len(all) > 0 {
		t.printText("%s", t.paint.dim("  owed: "+strings.Join(all, ", ")))
	}
}

// tellWaits prints what the running step waits for that is owed, until ctx ends: after a while, and then whenever it
// has waited twice as long.
func (t *Terminal) tellWaits(ctx context.Context) {
	began := time.Now()
	for next := t.o.TellWaits; next > 0; next *= 2 {
		timer := time.NewTimer(time.Until(began.Add(next)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if text := t.o.Session.Wait(); text != "" {
			t.printText("%s", t.paint.dim("  "+text))
		}
	}
}
