package trafficview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/steps"
)

// mostDebts is how many of the debts are shown above the state line.
const mostDebts = 3

// debtLines are the oldest debts, one on a line.
func (s *screen) debtLines() (lines []string) {
	for _, o := range s.owed[:min(len(s.owed), mostDebts)] {
		lines = append(lines, s.paint(yellow, DebtLine(o, time.Now())))
	}
	if more := s.debts - len(lines); more > 0 && len(lines) > 0 {
		last := &lines[len(lines)-1]
		*last += s.paint(yellow, fmt.Sprintf(" · and %d more: o lists them", more))
	}
	return lines
}

// DebtLine is a debt on a line: who owes what, since when, by which clauses, and because of which message.
func DebtLine(o steps.Owed, now time.Time) string {
	on := ""
	if o.Conn != "" {
		on = " on " + o.Conn
	}
	return fmt.Sprintf("the %s owes%s %s · %d s · %s · message %d", o.By, on, o.What, int(o.Age(now).Seconds()),
		o.Demands(), o.Record)
}

// listLines are all debts, the chosen one with what would settle it, and what its clauses say.
func (s *screen) listLines() (lines []string) {
	chosen := 0
	for i, o := range s.owed {
		line := "  " + DebtLine(o, time.Now())
		if i != s.debt {
			lines = append(lines, line)
			continue
		}
		chosen = len(lines)
		lines = append(lines, s.paint(reversed, line))
		lines = append(lines, s.wrap("      it comes because of "+o.Cause+s.inSession(o))...)
		if len(o.Or) > 0 {
			lines = append(lines, s.wrap("      this would settle it, too: "+strings.Join(o.Or, ", or "))...)
		}
		for _, id := range o.Clauses {
			if s.v.o.Explain != nil {
				lines = append(lines, s.wrap("      "+id+" "+s.v.o.Explain(id))...)
			}
		}
	}
	if more := s.debts - len(s.owed); more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	if len(s.owed) == 0 {
		lines = append(lines, "", "  nothing is owed")
	}
	return lines[max(0, min(chosen, len(lines)-s.rows())):]
}

// inSession says in which session something is owed.
func (s *screen) inSession(o steps.Owed) string {
	if o.Session == "" {
		return ""
	}
	return ", in session " + o.Session
}

// goToCause shows the message because of which the chosen debt is owed, also if the filter does not show it.
func (s *screen) goToCause() {
	s.listing = false
	if s.debt >= len(s.owed) {
		return
	}
	n := s.owed[s.debt].Record
	at := func() int {
		return slices.IndexFunc(s.shown, func(i int) bool { return s.items[i].r.N == n })
	}
	if at() < 0 && s.filter != "" {
		s.filter = ""
		s.applyFilter()
	}
	if i := at(); i >= 0 {
		s.at, s.follow, s.inspect, s.scroll = i, false, true, 0
	} else {
		s.notice = fmt.Sprintf("message %d is not kept any more", n)
	}
}
