//go:build unix

package stdio

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain turns this binary into a peer when it is started as one; see peer_test.go.
func TestMain(m *testing.M) {
	if os.Getenv("FAKE_PEER") != "" {
		peer()
		return
	}
	goleak.VerifyTestMain(m)
}
