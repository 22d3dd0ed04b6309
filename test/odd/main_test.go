// Package odd_test checks that targets which conform in an unusual way do not fail.
package odd_test

import (
	"testing"

	"parley/test/suitetest"
)

func TestMain(m *testing.M) { suitetest.Main(m) }
