package diagnosis

import (
	"cmp"
	"math"
	"slices"

	"parley/reports"
	"parley/reports/causes"
)

// Resemble names the known faults of a protocol's targets in a role that break a clause in the same way as the given
// failures, whose scenario is unknown. Faults come first that explain most of all failures, then those of whose
// breaches most are among them. Explained is the share of the failures; Likeness is not known without scenarios. At
// most Named.
func Resemble(protocol, role, clause string, failures []reports.Failure) []reports.Likeness {
	set, err := knownSet(setName(protocol, role))
	if err != nil || set == nil {
		return nil // the file is ours, and a test reads it: nothing depends on it here
	}
	return set.resemble(clause, failures)
}

func (s *Set) resemble(clause string, failures []reports.Failure) []reports.Likeness {
	found := map[clauseKind]float64{}
	total := 0.0
	for _, f := range failures {
		k := clauseKind{f.Clause, causes.ID(causes.Kind(f.Expected), causes.Kind(f.Observed))}
		if found[k] == 0 {
			found[k] = s.rarityOf(Finding{Clause: k.clause, Kind: k.kind})
			total += found[k]
		}
	}
	type rated struct {
		reports.Likeness
		met float64 // share of the fault's kinds that are among the failures
	}
	var all []rated
	for _, n := range s.breaks[clause] {
		f := &s.faults[n]
		explained, met, same := 0.0, 0, false
		for k, weight := range found {
			if f.index.kinds[k] {
				explained, met, same = explained+weight, met+1, same || k.clause == clause
			}
		}
		if same {
			all = append(all, rated{reports.Likeness{Fault: f.ID, Why: f.Why,
				Explained: math.Round(explained/total*1000) / 1000}, float64(met) / float64(len(f.index.kinds))})
		}
	}
	slices.SortFunc(all, func(a, b rated) int {
		return cmp.Or(cmp.Compare(b.Explained, a.Explained), cmp.Compare(b.met, a.met), cmp.Compare(a.Fault, b.Fault))
	})
	var out []reports.Likeness
	for _, one := range all[:min(len(all), Named)] {
		out = append(out, one.Likeness)
	}
	return out
}
