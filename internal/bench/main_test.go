package bench

import (
	"testing"

	"go.uber.org/goleak"

	"parley/reference-server/bundled"
)

func TestMain(m *testing.M) {
	bundled.All.Child()
	goleak.VerifyTestMain(m)
}
