package proxy

import (
	"slices"

	"parley/steps"
	"parley/steps/obligation"
)

// newOwing returns what follows the debts of a tape; nil if the protocol has no model of the role, or if only whole
// tapes show which records a test of the role would have (steps.Witness).
func (r *judgedRole) newOwing(conn string) *steps.Owing {
	if _, filters := r.protocol.(steps.Witness); filters {
		return nil
	}
	return steps.NewOwing(r.protocol, r.Name, conn, obligation.Foreign)
}

// Modelled reports whether what some side owes is known at all: it has a model.
func (p *Proxy) Modelled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.all, func(one *tape) bool { return one.owing != nil }) ||
		slices.ContainsFunc(p.single, func(r *judgedRole) bool { return r.newOwing("") != nil })
}

// Owed returns what each side owes now, the oldest first: at most steps.MostOwed, and how many there are. Record is
// the number in Options.Record. Secrets are removed, but not from At. Each record is read once, by whoever asks next.
// What the traffic leaves unknown is not listed.
func (p *Proxy) Owed() (list []steps.Owed, count int) {
	p.mu.Lock()
	all := append(p.all[:len(p.all):len(p.all)], p.tapes...)
	p.mu.Unlock()
	redact := p.secrets.newRedactor()
	for _, one := range all {
		if one.owing == nil || one.whyPartly() != "" {
			continue
		}
		some, n := one.owing.Read(one.t)
		p.mu.Lock()
		numbers := one.numbers // only appended to
		p.mu.Unlock()
		for i := range some {
			some[i] = some[i].Redacted(redact.String)
			o := &some[i]
			if page := one.t.Page(o.Record-1, 1); len(page) > 0 {
				o.At = page[0]
			}
			o.Record = numbers.of(o.Record)
		}
		list, count = steps.JoinOwed(list, some), count+n
	}
	return list, count
}
