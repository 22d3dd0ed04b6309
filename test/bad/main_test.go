// Package bad_test checks the verdicts on targets that do not speak their protocol: none passes, and none hangs the
// suite.
package bad_test

import (
	"testing"

	"parley/test/suitetest"
)

func TestMain(m *testing.M) { suitetest.Main(m) }
