package obligation

import (
	"slices"

	"parley/features/verdict"
)

// State says what has become of something owed or permitted.
type State int

const (
	Open    State = iota // it has not come, and may still come
	Came                 // it has come
	Missing              // it is owed, and was found missing
	Lapsed               // it has not come, and is not due any more
	Unknown              // nothing like it was entered
)

// State returns what has become of it.
func (o *Owed[M, A]) State() State {
	if o.state == Open && o.Done {
		return Lapsed
	}
	return o.state
}

// Fate returns what was entered last among what fits, and what has become of it. What has come goes before what is
// missing, and that before what is open.
func (b *Book[M, A]) Fate(fits func(*Owed[M, A]) bool) (State, M) {
	best, came := Unknown, *new(M)
	rank := []State{Unknown, Lapsed, Open, Missing, Came}
	for _, o := range slices.Backward(b.all) {
		if state := o.State(); slices.Index(rank, state) > slices.Index(rank, best) && fits(o) {
			best, came = o.State(), o.came
		}
	}
	return best, came
}

// Owes reports whether something that fits is owed and has not come.
func (b *Book[M, A]) Owes(fits func(*Owed[M, A]) bool) bool {
	return slices.ContainsFunc(b.owed, func(o *Owed[M, A]) bool {
		return !o.Done && !o.Optional && !o.Choice.taken && fits(o)
	})
}

// Note enters what has come before it was owed.
func (b *Book[M, A]) Note(o *Owed[M, A], came M) {
	o.Done, o.came, o.state = true, came, Came
	b.all = append(b.all, o)
	b.Keep(came, append(slices.Clone(o.Clauses), o.Shown...)...)
}

// Fresh returns the findings up to a record that it has not returned before, as Found has them.
func (b *Book[M, A]) Fresh(last int) []verdict.Finding {
	at := b.deviation()
	b.told = append(b.told, make([]bool, len(b.Findings)-len(b.told))...)
	var fresh []verdict.Finding
	for i, f := range b.Findings {
		if !b.told[i] && f.At <= last {
			b.told[i], fresh = true, append(fresh, f)
		}
	}
	return follow(fresh, at)
}

// follow marks the findings of a model after its first deviation, in record at, as consequences, and leaves out what
// they would show to hold; at < 0: it has none.
func follow(all []verdict.Finding, at int) []verdict.Finding {
	out := all[:0]
	for _, f := range all {
		f.Follows = at >= 0 && f.Model != "" && f.At > at
		if !f.Follows || !f.OK {
			out = append(out, f)
		}
	}
	return out
}
