package proof_test

import (
	"hash/fnv"
	"os"

	"parley/runner"
)

// everything reports whether the tests take all scenarios, targets and mutants (PARLEY_MUTANTS=all). By default they
// take samples, since `make test` has to be quick.
func everything() bool { return os.Getenv("PARLEY_MUTANTS") == "all" }

// oneIn has a run take one of n scenarios, or all with PARLEY_MUTANTS=all. Ids decide which, so the sample comes from
// everywhere, and is the same for all targets.
func oneIn(n uint32, o runner.Options) runner.Options {
	if everything() {
		return o
	}
	o.Enough = func(pl runner.Planned) bool {
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(pl.ID))
		return pl.Stage == 0 && sum.Sum32()%n > 0
	}
	return o
}
