// Package proof_test proves that the suite finds faults: every mutant is killed by its own clauses only, and servers
// in other languages conform.
package proof_test

import (
	"testing"

	"parley/test/suitetest"
)

func TestMain(m *testing.M) { suitetest.Main(m) }
