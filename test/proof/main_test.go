// Package proof_test proves that the suite bites: every mutant is killed, by its clauses alone, and servers in other
// languages conform.
package proof_test

import (
	"testing"

	"parley/test/suitetest"
)

func TestMain(m *testing.M) { suitetest.Main(m) }
