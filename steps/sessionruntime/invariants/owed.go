package invariants

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/monitor"
)

// owed is something that has to be published, or may be.
type owed struct {
	what    string
	cause   Message
	clauses []string // broken when it does not come; shown when it does
	shown   []string // shown as well when it comes
	match   func(Message) bool
	met     func(Message) // what follows when it comes; may be nil
	// what is there in its place, and which clauses that breaks; nil clauses: nothing; may be nil
	amiss func() (clauses []string, how string)
	// the clauses that it breaks behind the fence that it was due by; none: it was the fence that was early; nil: nobody
	// knows
	late     func(p Message) []string
	of       Kind   // what it is, if it is always the same
	turn     *turn  // that it is about; nil: the one that the cause names
	agent    string // that it is about; "": the one that the cause names
	name     string // that it often has; "": any
	optional bool
	choice   *choice // of several, one is enough; nil: this one
	timed    bool    // due at a time, and not by a fence
	passing  bool    // what is optional comes by the next fence, or not at all
	waits    bool    // but this, whatever was chosen in its place
	copy     bool    // of what was told already, or will be
	done     bool
}

// choice is made once one of its ways was taken.
type choice struct{ taken bool }

// owe notes something that has to come.
func (m *Model) owe(o *owed) *owed {
	o.optional = o.optional || m.loose
	if o.choice == nil {
		o.choice = &choice{}
	}
	m.owed = append(m.owed, o)
	return o
}

// allow notes something that may come.
func (m *Model) allow(cause Message, what string, match func(Message) bool) *owed {
	return m.owe(&owed{what: what, cause: cause, match: match, optional: true})
}

// take makes a choice: its other ways need not be taken any more.
func (m *Model) take(c *choice) {
	c.taken = true
	for _, o := range m.owed {
		if o.choice == c && !o.done {
			o.optional, o.passing = true, !o.waits
		}
	}
}

// Published takes in what the orchestrator has published. Of several that it may be, it is the one of which it says
// most: by its mark, its turn, its trace; of those that it says as much of, one that has to come.
func (m *Model) Published(p Message) {
	best := -1
	for i, o := range m.owed {
		if !o.done && o.match(p) && (best < 0 || o.fits(p) > m.owed[best].fits(p)) {
			best = i
		}
	}
	if best < 0 && m.behindFence(p) {
		m.heard = append(m.heard, heard{Message: p})
		return
	}
	if best < 0 {
		m.heard = append(m.heard, heard{Message: p})
		m.uncalledFor(p)
		return
	}
	o := m.owed[best]
	m.heard = append(m.heard, heard{p, o})
	o.done = true
	m.owed = slices.Delete(m.owed, best, best+1)
	m.take(o.choice)
	m.keep(p, append(slices.Clone(o.clauses), o.shown...)...)
	if o.met != nil {
		o.met(p)
	}
}

// heard is what was published, and what it was taken for; nil: for nothing that was due, or might come.
type heard struct {
	Message
	as *owed
}

// fits tells how much a message says of what is owed: more is better.
func (o *owed) fits(p Message) int {
	turn, trace, agent := o.cause.Turn, o.cause.Trace, o.agent
	if o.turn != nil {
		turn, trace = o.turn.id, o.turn.trace
	}
	if agent == "" {
		agent = o.cause.AgentID
	}
	most := 0
	for _, id := range []struct {
		owed, got string
		weight    int
	}{{Token(o.cause.Payload), Token(p.Payload), 64}, {turn, p.Turn, 32}, {trace, p.Trace, 16}, {agent, p.AgentID, 8},
		{o.cause.Tx, p.Tx, 4}, {o.name, p.Subtype, 3}} {
		switch {
		case id.owed == "" || id.got == "":
		case id.owed == id.got:
			most += id.weight
		default:
			most -= id.weight
		}
	}
	switch {
	case !o.optional:
		most += 2
	case o.copy:
		most++
	}
	return most
}

// missing is what has not come by a fence.
func (m *Model) missing(o *owed, fence int, now time.Duration) {
	ways := []*owed{o} // any of them would do, and all are missing: that is told once
	for _, other := range m.owed {
		if other != o && !other.done && other.choice == o.choice && other.cause.N == o.cause.N {
			ways, other.done = append(ways, other), true
		}
	}
	var like []string
	for _, h := range m.heard {
		fits := slices.ContainsFunc(ways, func(o *owed) bool { return o.match(h.Message) })
		of := slices.ContainsFunc(ways, func(o *owed) bool { return o.of != Other && h.Kind() == o.of })
		switch {
		case fits && h.N > o.cause.N && h.as != nil && h.as.optional: // that may have been this
			return
		case fits || h.N > o.cause.N && of:
			like = append(like, h.told(o.cause.N))
		}
	}
	clauses, how := o.clauses, ""
	if o.amiss != nil {
		if broken, is := o.amiss(); broken != nil {
			clauses, how = broken, is
		}
	}
	const most = 3
	switch {
	case how != "":
	case len(like) == 0:
		how = fmt.Sprintf("nothing of the kind up to the fence (record %d)", fence)
	default:
		how = fmt.Sprintf("not this one, up to the fence (record %d): there is %s", fence,
			strings.Join(like[max(0, len(like)-most):], "; "))
	}
	m.fail(Message{N: o.cause.N}, clauses, o.what, "%s", how)
	m.overdue = append(m.overdue, overdue{owed: o, found: len(m.Findings) - 1, asked: m.handled, fence: fence, at: now})
}

// overdue is what had not come by a fence.
type overdue struct {
	*owed
	found        int           // the finding that says so
	asked, fence int           // the records by which the fence was asked, and answered
	at           time.Duration // when it was answered
}

// behindFence takes what comes behind the fence that it was due by. Where nothing was delivered meanwhile, it is the
// fence that was answered too early, of which no clause speaks; otherwise it may have another cause, and the finding
// tells what it looks like.
func (m *Model) behindFence(p Message) bool {
	for i, o := range m.overdue {
		if !o.match(p) {
			continue
		}
		m.overdue = slices.Delete(m.overdue, i, i+1)
		var broken []string
		if o.late != nil {
			broken = o.late(p)
		}
		if m.latest < o.asked || o.late != nil && len(broken) == 0 {
			m.Findings[o.found] = monitor.Finding{Clauses: o.clauses, OK: true, At: p.N, Model: m.name}
		} else {
			m.Findings[o.found].Observed = fmt.Sprintf("it came %.1f ms behind the fence (record %d), as record %d: does the "+
				"adapter answer before pending tasks have run?",
				float64((p.At-o.at).Microseconds())/1000, o.fence, p.N)
			if o.late == nil {
				return true
			}
			m.Findings[o.found].Clauses = broken
		}
		m.take(o.choice)
		if o.met != nil {
			o.met(p)
		}
		return true
	}
	return false
}

// told says what was published, and what it was taken for.
func (h heard) told(cause int) string {
	how := "which nothing has called for"
	switch {
	case h.N < cause:
		how = "which came before it was due"
	case h.as != nil:
		how = fmt.Sprintf("which was taken for %s, because of record %d", h.as.what, h.as.cause.N)
	}
	return fmt.Sprintf("%s (record %d), %s", h.Name(), h.N, how)
}

// was reports whether a message of a kind was published: then what is missing is not missing always.
func (m *Model) was(k Kind) bool {
	return slices.ContainsFunc(m.heard, func(h heard) bool { return h.Kind() == k })
}

// inPlace is the last message behind a record that nothing has called for, and that fits.
func (m *Model) inPlace(cause Message, fits func(Message) bool) (found Message, ok bool) {
	for _, h := range m.heard {
		if h.N > cause.N && h.as == nil && fits(h.Message) {
			found, ok = h.Message, true
		}
	}
	return found, ok
}

// elsewhere tells of a message that is what is owed, apart from whom it is for, or how it is called: that breaks other
// clauses.
func (m *Model) elsewhere(cause Message, clauses []string, fits func(Message) bool) func() ([]string, string) {
	return func() ([]string, string) {
		if p, ok := m.inPlace(cause, fits); ok {
			return clauses, fmt.Sprintf("%s (record %d): %s", p.Name(), p.N, clip(p.Payload))
		}
		return nil, ""
	}
}
