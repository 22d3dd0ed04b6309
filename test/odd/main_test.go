// Package odd_test holds the verdict against targets that are right in an unusual way: none of them fails.
package odd_test

import (
	"testing"

	"parley/test/suitetest"
)

func TestMain(m *testing.M) { suitetest.Main(m) }
