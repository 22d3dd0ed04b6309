package suitetest

import (
	"hash/fnv"

	"parley/internal/tier"
	"parley/runner"
)

// OneIn has a run take one of n scenarios, or all at night. The ids decide which, so the sample comes from all
// over the suite and is the same for all targets. Scenarios of the preflight are always in it.
func OneIn(n uint32, o runner.Options) runner.Options {
	if tier.All() {
		return o
	}
	o.Enough = func(pl runner.Planned) bool {
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(pl.ID))
		return pl.Stage == 0 && sum.Sum32()%n > 0
	}
	return o
}
