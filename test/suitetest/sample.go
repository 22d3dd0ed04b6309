package suitetest

import (
	"hash/fnv"
	"os"

	"parley/runner"
)

// Everything reports whether the tests take all targets, scenarios and mutants (PARLEY_MUTANTS=all, as in `make
// test-all`). By default they take samples, so that `make test` is quick; internal/leftout names what it omits.
func Everything() bool { return os.Getenv("PARLEY_MUTANTS") == "all" }

// OneIn has a run take one of n scenarios, or all if Everything. The ids decide which, so the sample comes from all
// over the suite and is the same for all targets. Scenarios of the preflight are always in it.
func OneIn(n uint32, o runner.Options) runner.Options {
	if Everything() {
		return o
	}
	o.Enough = func(pl runner.Planned) bool {
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(pl.ID))
		return pl.Stage == 0 && sum.Sum32()%n > 0
	}
	return o
}

// Some returns about n of the rows of a table, or all if Everything.
func Some[T any](rows []T, n int) []T {
	if Everything() {
		return rows
	}
	return Spread(rows, n)
}

// Spread returns about n of the elements, evenly distributed over the list, because neighbours are alike.
func Spread[T any](all []T, n int) (some []T) {
	for i := 0; i < len(all); i += max(1, len(all)/n) {
		some = append(some, all[i])
	}
	return some
}
