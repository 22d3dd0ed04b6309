package obligation

import (
	"fmt"
	"slices"
	"time"

	"parley/features/verdict"
)

// Keep records that clauses were kept.
func (b *Book[M, A]) Keep(at M, clauses ...string) {
	if len(b.told) == len(b.Findings) { // what has been told stays as it was
		b.Findings = append(b.Findings, AddKept(nil, at.Record(), b.Model, clauses...)...)
		return
	}
	b.Findings = AddKept(b.Findings, at.Record(), b.Model, clauses...)
}

// AddKept adds to findings that a record shows clauses to hold. What one record shows is one finding, however often it
// is called. The array of its Clauses may grow later: do not append to it.
func AddKept(to []verdict.Finding, record int, model string, clauses ...string) []verdict.Finding {
	if len(clauses) == 0 {
		return to
	}
	if n := len(to) - 1; n >= 0 && to[n].OK && to[n].At == record && to[n].Model == model && to[n].Expected == "" {
		to[n].Clauses = append(to[n].Clauses, clauses...)
		return to
	}
	const usual = 4
	of := append(make([]string, 0, max(usual, len(clauses))), clauses...)
	return append(to, verdict.Finding{Clauses: of, OK: true, At: record, Model: model})
}

// Fail records that clauses were broken by what the party did or omitted. From then on its view of the session may
// differ from the model's.
func (b *Book[M, A]) Fail(at M, clauses []string, expected, observed string, args ...any) {
	b.FailAt(at.Record(), clauses, expected, observed, args...)
}

// FailAt is Fail at a record.
func (b *Book[M, A]) FailAt(record int, clauses []string, expected, observed string, args ...any) {
	b.Findings = append(b.Findings, verdict.Finding{Clauses: clauses, Expected: expected,
		Observed: fmt.Sprintf(observed, args...), At: record, Model: b.Model})
}

// Check records clauses kept or broken.
func (b *Book[M, A]) Check(ok bool, at M, clauses []string, expected, observed string, args ...any) {
	if ok {
		b.Keep(at, clauses...)
		return
	}
	b.Fail(at, clauses, expected, observed, args...)
}

// Member records clauses kept or broken by the content of a message that was due. Either way the model stays in step.
func (b *Book[M, A]) Member(ok bool, at M, clauses []string, expected, observed string, args ...any) {
	f := verdict.Finding{Clauses: clauses, OK: ok, At: at.Record()}
	if !ok {
		f.Expected, f.Observed = expected, fmt.Sprintf(observed, args...)
	}
	b.Findings = append(b.Findings, f)
}

// Found returns the findings in the order of their records: all up to the first deviation of the model, and after that
// only violations, marked as consequences, and findings that do not depend on the model.
func (b *Book[M, A]) Found() []verdict.Finding {
	all := slices.Clone(b.Findings)
	slices.SortStableFunc(all, func(a, b verdict.Finding) int { return a.At - b.At })
	return follow(all, b.deviation())
}

// FoundAt is Found for the findings at one record.
func (b *Book[M, A]) FoundAt(record int) (found []verdict.Finding) {
	for i := range b.Findings {
		if b.Findings[i].At == record {
			found = append(found, b.Findings[i])
		}
	}
	return follow(found, b.deviation())
}

// deviation returns the record of the first deviation of the model; -1 if there is none.
func (b *Book[M, A]) deviation() int {
	at := -1
	for i := range b.Findings {
		if f := &b.Findings[i]; !f.OK && f.Model != "" && (at < 0 || f.At < at) {
			at = f.At
		}
	}
	return at
}

// Heard lists the messages of the party so far, oldest first. The slice is the book's own.
func (b *Book[M, A]) Heard() []Heard[M, A] { return b.heard }

// InPlace returns the last matching message after a record that nothing called for.
func (b *Book[M, A]) InPlace(after int, fits func(M) bool) (found M, ok bool) {
	for _, h := range b.heard {
		if h.Message.Record() > after && h.As == nil && fits(h.Message) {
			found, ok = h.Message, true
		}
	}
	return found, ok
}

// Due reports whether a message must have come by the time everything before a record has been handled.
func (b *Book[M, A]) Due(before int) bool {
	return slices.ContainsFunc(b.owed, func(o *Owed[M, A]) bool { return o.Due(before) })
}

// Overdue counts the messages that were due by a fence and have not come since either.
func (b *Book[M, A]) Overdue() int { return len(b.overdue) }

// Close ends the book: its findings stay, and nothing is due any more.
func (b *Book[M, A]) Close() { b.owed, b.overdue, b.held = nil, nil, nil }

// Entry is what a party owes at a moment, for people.
type Entry struct {
	Session string        `json:"session,omitzero"` // "" if there is but one
	What    string        `json:"what"`
	Or      []string      `json:"or,omitzero"` // what else would settle it
	Clauses []string      `json:"clauses"`
	Record  int           `json:"record"` // the message that obliges it to this
	Cause   string        `json:"cause"`  // what that message is
	Since   time.Duration `json:"since"`  // when that message was, since the transcript began
}

// Owing lists what the party owes now, oldest first: not what it may do, nor what comes at a time only. After a
// deviation that is unknown, and it lists nothing.
func (b *Book[M, A]) Owing() (out []Entry) {
	if b.Deviated() {
		return nil
	}
	at := map[*Choice]int{} // of several ways, the first is an entry, and has the others
	for _, o := range b.owed {
		if o.Done || o.Optional || o.Timed || o.Choice.taken || len(o.Clauses) == 0 {
			continue
		}
		if i, told := at[o.Choice]; told {
			if e := &out[i]; o.What != e.What && !slices.Contains(e.Or, o.What) {
				e.Or = append(e.Or, o.What)
			}
			continue
		}
		at[o.Choice] = len(out)
		out = append(out, Entry{What: o.What, Clauses: o.Clauses, Record: o.Cause.Record(), Cause: o.Cause.Title(),
			Since: o.Cause.Time()})
	}
	return out
}

// Deviated reports whether a finding is a deviation of the model. Findings are looked at once: of those before the
// first deviation none becomes one, and that one may be withdrawn (behindFence).
func (b *Book[M, A]) Deviated() bool {
	for ; b.kept < len(b.Findings); b.kept++ {
		if f := &b.Findings[b.kept]; !f.OK && f.Model != "" {
			return true
		}
	}
	return false
}
