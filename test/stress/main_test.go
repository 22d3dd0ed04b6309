// Package stress_test holds the verdict against targets that are slow, full, crash, or mix up their clients.
package stress_test

import (
	"testing"

	"parley/test/suitetest"
)

func TestMain(m *testing.M) { suitetest.Main(m) }
