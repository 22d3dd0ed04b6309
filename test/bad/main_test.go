// Package bad_test holds the verdict against targets that do not speak their protocol: none of them passes, and none
// hangs the suite.
package bad_test

import (
	"testing"

	"parley/test/suitetest"
)

func TestMain(m *testing.M) { suitetest.Main(m) }
