//go:build !race

package simulator_test

const raced = false
