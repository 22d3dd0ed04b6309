package runner

import (
	"cmp"

	"parley/reports"
	"parley/target"
)

// options returns the options that results record.
func (r *run) options() *reports.Options {
	o := &reports.Options{AllowIncomplete: r.o.AllowIncomplete, Baseline: r.o.Baseline != nil, Faults: r.o.Faults != nil,
		Explore: r.o.Explore, CutPoints: r.o.CutPoints}
	for _, f := range r.o.Own {
		o.Features = append(o.Features, f.Path)
	}
	return o
}

// eitherOptions returns the options of two runs of one command, which may differ in their baselines.
func eitherOptions(a, b *reports.Options) *reports.Options {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	both := *a
	both.Baseline = a.Baseline || b.Baseline
	return &both
}

func originOf(p *target.Profile) reports.Origin {
	switch {
	case p.Bundled:
		return reports.FromBundle
	case p.Path != "":
		return reports.FromProfile
	default:
		return reports.FromAddress
	}
}
