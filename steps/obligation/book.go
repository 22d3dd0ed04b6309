// Package obligation is the shared part of the models of the protocols: a Book of what a party owes. A model is a fold
// over the records of a session, without I/O, clock or goroutine. For each message it enters in its Book
//
//   - what the message obliges the party to (Owe), what it permits (Allow), and what it forbids (Hold), each with its
//     clauses and the words for a report;
//   - what each message of the party settles (Settle), and by that shows to hold or breaks.
//
// An obligation is due by a fence, which proves that everything before it has been handled (Fence), or by a limit that
// has passed (Expire). Absence is proved by these alone: without one, an obligation stays open, and its clauses are not
// shown.
//
// A finding of a model (Finding.Model) after its first deviation is a consequence of that one: Found marks it as such,
// and leaves out what it would show to hold. So a model never judges by a state that it cannot know any more.
//
// The packages called model below those of the protocols are examples.
package obligation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
)

// Absence is the Expected text of a finding that something was not published. Absence alone says little, so it counts
// only in a scenario that also shows the opposite.
const Absence = "absence"

// Message is a message as a model reads it from a record.
type Message interface {
	Record() int         // the number of its record
	Time() time.Duration // since the transcript began
	Title() string       // what kind of message it is, for texts
}

// Owed is a message that must or may come. About is what a protocol's Rate compares.
type Owed[M Message, A any] struct {
	What    string
	Cause   M
	Clauses []string // broken if it does not come; shown kept if it does
	Shown   []string // also shown kept if it comes
	About   A
	Match   func(M) bool
	Met     func(M) // called when it comes; may be nil

	// Amiss finds the message that came instead, and the clauses that it breaks; nil clauses: nothing. May be nil.
	Amiss func() (clauses []string, how string)
	// Late returns the clauses that it breaks when it comes after the fence it was due by; none: the fence was early. A
	// nil func: unknown.
	Late func(M) []string
	Like func(M) bool // matches messages of its kind, which are told as evidence if it is missing; may be nil
	// Queued reports whether what happened before a record leaves open whether it comes at all, so that it does not
	// expire; may be nil.
	Queued func(before int) bool

	Optional bool    // it may come
	Choice   *Choice // one of several alternatives is enough; nil: only this one
	Timed    bool    // due at a time, not by a fence
	Unfenced bool    // due by a limit, because it may take long: a fence proves nothing of it
	InTurn   bool    // such messages come in the order of their causes: a late one is not that of a later cause
	Passing  bool    // if optional, it expires at the next fence
	Unshown  bool    // that it comes keeps no clause: what it says does
	Waits    bool    // it does not expire after another alternative was taken
	Mere     bool    // if nothing like it came, the model knows the state all the same
	Done     bool    // it has come, has expired, or was found missing
	Proof    int     // a record that shows that its cause was handled, so that it is missing at the end; 0: none

	came  M     // the message that settled it
	state State // Open until the book says otherwise
}

// Due reports whether it must have come by the time everything before a record has been handled.
func (o *Owed[M, A]) Due(before int) bool {
	return !o.Done && !o.Optional && !o.Timed && !o.Unfenced && o.Cause.Record() < before && !o.Choice.taken
}

// Choice groups alternatives; it is taken once one of them has come.
type Choice struct{ taken bool }

// Taken makes a choice of which an alternative has come already.
func Taken(taken bool) *Choice { return &Choice{taken} }

// Book is what one party owes in one session, and the findings so far. It is not safe for concurrent use. Set Model
// and Rate before the first message.
type Book[M Message, A any] struct {
	Findings []verdict.Finding
	Model    string // the name of the model in its findings
	// Rate says how well a message matches what is owed; the best match settles. nil: the one that was entered first.
	Rate func(o *Owed[M, A], p M) int
	// Name says on which message something is owed, and what, for Tally; nil: nothing is counted.
	Name func(o *Owed[M, A]) (on, owes string)
	// Duties collects the obligations with their clauses, for a chart; nil: nothing is collected
	Duties Duties
	Tally  Tally // what became of the obligations; may be shared by the books of a transcript
	Loose  bool  // nothing is owed any more: what is entered is optional
	// Patient is for traffic whose fences may be answered early: what is due by a fence may still come until the end.
	Patient bool
	Until   string // how a text says up to when nothing came, with a verb for the record; "": by a fence

	all     []*Owed[M, A] // as they were entered
	owed    []*Owed[M, A] // those that are not done
	held    []hold
	heard   []Heard[M, A]
	overdue []overdue[M, A]
	latest  int    // the record of the last message that Delivered was told of
	handled int    // everything before this record has been handled
	told    []bool // by finding: Fresh has returned it
	kept    int    // the first findings, which are no deviations
}

// hold lists clauses that forbid a reaction to a message. A violation shows as a message that nothing calls for; at the
// next fence the clauses count as kept.
type hold struct {
	cause   int
	clauses []string
}

// Heard is a message of the party, and the owed one that it settled; As is nil if nothing called for it.
type Heard[M Message, A any] struct {
	Message M
	As      *Owed[M, A]
}

// overdue is an owed message that had not come by a fence.
type overdue[M Message, A any] struct {
	*Owed[M, A]
	found        int           // index of the finding that says so
	asked, fence int           // the records that sent and answered the fence
	at           time.Duration // when it was answered
}

const byFence = "up to the fence (record %d)"

// Owe enters a message that must come.
func (b *Book[M, A]) Owe(o *Owed[M, A]) *Owed[M, A] {
	o.Optional = o.Optional || b.Loose
	if o.Choice == nil {
		o.Choice = &Choice{}
	}
	if b.owed = append(b.owed, o); !b.Patient { // else no step waits for it, and there may be many
		b.all = append(b.all, o)
	}
	b.count(o, Coverage{Owed: 1})
	return o
}

// Allow enters a message that may come.
func (b *Book[M, A]) Allow(cause M, what string, match func(M) bool) *Owed[M, A] {
	return b.Owe(&Owed[M, A]{What: what, Cause: cause, Match: match, Optional: true})
}

// Hold records that clauses forbid a reaction to a message.
func (b *Book[M, A]) Hold(cause M, clauses ...string) {
	b.held = append(b.held, hold{cause.Record(), clauses})
}

// Take marks a choice as taken: its other alternatives become optional.
func (b *Book[M, A]) Take(c *Choice) {
	c.taken = true
	for _, o := range b.owed {
		if o.Choice == c && !o.Done {
			o.Optional, o.Passing = true, !o.Waits
		}
	}
}

// Delivered notes a message to the party, which may be the cause of what comes after it.
func (b *Book[M, A]) Delivered(m M) { b.latest = m.Record() }

// Expects reports whether a message would settle something owed or permitted.
func (b *Book[M, A]) Expects(p M) bool { return b.best(p) >= 0 }

func (b *Book[M, A]) best(p M) int {
	best, most := -1, 0
	for i, o := range b.owed {
		if o.Done || !o.Match(p) {
			continue
		}
		if rate := b.rate(o, p); best < 0 || rate > most {
			best, most = i, rate
		}
	}
	return best
}

func (b *Book[M, A]) rate(o *Owed[M, A], p M) int {
	if b.Rate == nil {
		return 0
	}
	return b.Rate(o, p)
}

// Settle takes a message of the party. It returns the owed message that it settles, nil if there is none, and whether
// something called for it: also what was due by an earlier fence. If it matches several owed messages, the best match
// is settled.
func (b *Book[M, A]) Settle(p M) (o *Owed[M, A], calledFor bool) {
	if slices.ContainsFunc(b.overdue, func(o overdue[M, A]) bool { return o.InTurn && o.Match(p) }) {
		b.heard = append(b.heard, Heard[M, A]{Message: p})
		return nil, b.behindFence(p)
	}
	i := b.best(p)
	if i < 0 {
		calledFor = b.behindFence(p)
		b.heard = append(b.heard, Heard[M, A]{Message: p})
		return nil, calledFor
	}
	o = b.owed[i]
	b.owed = slices.Delete(b.owed, i, i+1)
	b.Fulfil(o, p)
	return o, true
}

// Fulfil takes a message of the party as what is owed or permitted by o, which is not done. Settle does so for the best
// match alone.
func (b *Book[M, A]) Fulfil(o *Owed[M, A], p M) {
	b.heard = append(b.heard, Heard[M, A]{p, o})
	o.Done = true
	o.came, o.state = p, Came
	b.count(o, Coverage{Settled: 1})
	b.Take(o.Choice)
	if !o.Unshown {
		b.Keep(p, append(slices.Clone(o.Clauses), o.Shown...)...)
	}
	if o.Met != nil {
		o.Met(p)
	}
}

// Each calls do for everything owed or permitted that has neither come nor expired.
func (b *Book[M, A]) Each(do func(*Owed[M, A])) {
	for _, o := range b.owed {
		if !o.Done {
			do(o)
		}
	}
}

// Forget keeps a book bounded: it drops what is done, and the oldest of what was heard, held and owed, so that at most
// twice so many of each are kept.
func (b *Book[M, A]) Forget(most int) {
	if n := len(b.heard) - most; n > most {
		b.heard = slices.Delete(b.heard, 0, n)
	}
	if n := len(b.held) - most; n > most {
		b.held = slices.Delete(b.held, 0, n)
	}
	if len(b.owed) > 2*most {
		b.owed = slices.DeleteFunc(b.owed, func(o *Owed[M, A]) bool { return o.Done })
		b.owed = slices.Delete(b.owed, 0, max(0, len(b.owed)-most))
	}
}

// Prove finds what is missing at the end although its cause was handled (Owed.Proof).
func (b *Book[M, A]) Prove() {
	for _, o := range b.owed {
		if o.Proof > 0 && o.Due(o.Proof) {
			o.Done = true
			b.missing(o, fmt.Sprintf(cmp.Or(b.Until, byFence), o.Proof))
		}
	}
}

// Handled returns the record before which everything has been handled.
func (b *Book[M, A]) Handled() int { return b.handled }

// Fence records that everything before record before has been handled, as the answer in record at, at time now, shows.
func (b *Book[M, A]) Fence(before, at int, now time.Duration) {
	b.handled = before
	b.owed = slices.DeleteFunc(b.owed, func(o *Owed[M, A]) bool { return o.Done })
	b.held = slices.DeleteFunc(b.held, func(h hold) bool {
		if h.cause < before {
			b.Findings = append(b.Findings,
				verdict.Finding{Clauses: h.clauses, OK: true, Expected: Absence, At: at, Model: b.Model})
		}
		return h.cause < before
	})
	for _, o := range b.owed {
		o.Done = o.Done || o.Optional && o.Passing && o.Cause.Record() < before && (o.Queued == nil || !o.Queued(before))
		switch {
		case !o.Due(before):
		case b.Patient:
			o.Proof = max(o.Proof, at)
		default:
			o.Done = true
			found := len(b.Findings)
			if b.missing(o, fmt.Sprintf(byFence, at)) {
				b.overdue = append(b.overdue, overdue[M, A]{Owed: o, found: found, asked: b.handled, fence: at, at: now})
			}
		}
	}
}

// Expire finds missing what is owed and was waited for in vain until a limit was over; how says for how long.
func (b *Book[M, A]) Expire(which func(*Owed[M, A]) bool, how string) {
	for _, o := range b.owed {
		if !o.Done && !o.Optional && !o.Choice.taken && which(o) {
			o.Done = true
			b.missing(o, how)
		}
	}
}

// missing reports an owed message that has not come by the time that by says. It returns false if a message that was
// permitted may have been meant for it.
func (b *Book[M, A]) missing(o *Owed[M, A], by string) bool {
	ways := []*Owed[M, A]{o} // any of them would do: their absence is reported once
	for _, other := range b.owed {
		if other != o && !other.Done && other.Choice == o.Choice && other.Cause.Record() == o.Cause.Record() {
			ways, other.Done = append(ways, other), true
		}
	}
	var like []string
	for _, h := range b.heard {
		after := h.Message.Record() > o.Cause.Record()
		fits := slices.ContainsFunc(ways, func(o *Owed[M, A]) bool { return o.Match(h.Message) })
		of := slices.ContainsFunc(ways, func(o *Owed[M, A]) bool { return o.Like != nil && o.Like(h.Message) })
		switch {
		case fits && after && h.As != nil && h.As.Optional: // it may have been meant for this
			return false
		case fits || after && of:
			like = append(like, h.told(o.Cause.Record()))
		}
	}
	clauses, how := o.Clauses, ""
	if o.Amiss != nil {
		if broken, is := o.Amiss(); broken != nil {
			clauses, how = broken, is
		}
	}
	const most = 3
	mere := o.Mere && how == "" && len(like) == 0
	switch {
	case how != "":
	case len(like) == 0:
		how = "no such message " + by
	default:
		how = "not this one, " + by + ": there is " + strings.Join(like[max(0, len(like)-most):], "; ")
	}
	b.FailAt(o.Cause.Record(), clauses, o.What, "%s", how)
	if mere {
		b.Findings[len(b.Findings)-1].Model = ""
	}
	b.count(o, Coverage{Missing: 1})
	for _, way := range ways {
		way.state = Missing
	}
	return true
}

// behindFence takes a message that comes after the fence it was due by. If nothing was delivered meanwhile, the fence
// was answered too early, which breaks no clause; otherwise it may have another cause, and the finding says what it
// looks like.
func (b *Book[M, A]) behindFence(p M) bool {
	for i, o := range b.overdue {
		if !o.Match(p) {
			continue
		}
		b.overdue = slices.Delete(b.overdue, i, i+1)
		var broken []string
		if o.Late != nil {
			broken = o.Late(p)
		}
		if b.latest < o.asked || o.Late != nil && len(broken) == 0 {
			b.Findings[o.found] = verdict.Finding{Clauses: append(slices.Clone(o.Clauses), o.Shown...), OK: true,
				At: p.Record(), Model: b.Model}
			o.came, o.state = p, Came
		} else {
			b.Findings[o.found].Observed = fmt.Sprintf("it came %.1f ms after the fence (record %d), as record %d: does the "+
				"adapter answer before pending tasks have run?",
				float64((p.Time()-o.at).Microseconds())/1000, o.fence, p.Record())
			if o.Late == nil {
				return true
			}
			b.Findings[o.found].Clauses = broken
		}
		b.Take(o.Choice)
		if o.Met != nil {
			o.Met(p)
		}
		return true
	}
	return false
}

// told describes a message and what it settled.
func (h Heard[M, A]) told(cause int) string {
	how := "which nothing requires"
	switch {
	case h.Message.Record() < cause:
		how = "which came too early"
	case h.As != nil:
		how = fmt.Sprintf("which was treated as %s, because of record %d", h.As.What, h.As.Cause.Record())
	}
	return fmt.Sprintf("%s (record %d), %s", h.Message.Title(), h.Message.Record(), how)
}

// Latest returns the record of the last message that Delivered was told of.
func (b *Book[M, A]) Latest() int { return b.latest }
