//go:build race

package simulator_test

// raced says that the race detector is on, which makes each record several
// times slower.
const raced = true
