//go:build unix

package target

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"parley/internal/deadline"
)

// TestMain turns this binary into a fake target when it is started as one; see fake_target_test.go.
func TestMain(m *testing.M) {
	if mode := os.Getenv("FAKE_TARGET"); mode != "" {
		fakeTarget(mode)
		return
	}
	go deadline.Watch(context.Background())
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("parley/internal/deadline.Watch"))
}
