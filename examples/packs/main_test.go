package packs_test

import (
	"os"
	"testing"

	"parley/reference-server/bundled"
)

// TestMain: the binary also serves as a bundled target.
func TestMain(m *testing.M) {
	bundled.All.Child()
	os.Exit(m.Run())
}
