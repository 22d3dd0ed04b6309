//go:build race

package simulator_test

// raced: the race detector watches, which makes each record several times slower.
const raced = true
