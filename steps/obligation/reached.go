package obligation

import (
	"cmp"
	"slices"
)

// Reached says how often an obligation arose, and what became of it.
type Reached struct {
	On   string `json:"on"`
	Owes string `json:"owes"`
	Coverage
}

// Reaching is a Model that counts its obligations.
type Reaching interface {
	Model
	Reached() []Reached // sorted by On, then by Owes
}

// Tally counts obligations by what they are called.
type Tally map[[2]string]*Coverage

// Add counts one obligation.
func (t Tally) Add(on, owes string, c Coverage) {
	key := [2]string{on, owes}
	if t[key] == nil {
		t[key] = &Coverage{}
	}
	of := t[key]
	of.Owed, of.Settled, of.Missing = of.Owed+c.Owed, of.Settled+c.Settled, of.Missing+c.Missing
}

// List returns the counts, sorted.
func (t Tally) List() (out []Reached) {
	for key, c := range t {
		out = append(out, Reached{On: key[0], Owes: key[1], Coverage: *c})
	}
	slices.SortFunc(out, func(a, b Reached) int { return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.Owes, b.Owes)) })
	return out
}

// count counts what became of an obligation, if it is one and has a name.
func (b *Book[M, A]) count(o *Owed[M, A], c Coverage) {
	if b.Tally == nil || b.Name == nil || len(o.Clauses) == 0 || c.Owed > 0 && o.Optional {
		return
	}
	on, owes := b.Name(o)
	if owes == "" {
		return
	}
	b.Tally.Add(on, owes, c)
	if b.Duties != nil && c.Missing == 0 {
		b.Duties.Note(on, owes, append(slices.Clone(o.Clauses), o.Shown...)...)
	}
}
