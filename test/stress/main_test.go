// Package stress_test checks the verdicts on targets that are slow or full, crash, or mix up their clients.
package stress_test

import (
	"testing"

	"parley/test/suitetest"
)

func TestMain(m *testing.M) { suitetest.Main(m) }
