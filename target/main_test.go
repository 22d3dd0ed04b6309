//go:build unix

package target

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain turns this binary into a fake target when it is started as one; see fake_test.go.
func TestMain(m *testing.M) {
	if mode := os.Getenv("FAKE_TARGET"); mode != "" {
		fakeTarget(mode)
		return
	}
	goleak.VerifyTestMain(m)
}
