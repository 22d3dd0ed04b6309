package host

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childLogs); dir != "" {
		serveChild(dir)
		return
	}
	goleak.VerifyTestMain(m)
}
