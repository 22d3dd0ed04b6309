package sessionchat

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if db := os.Getenv(childDB); db != "" {
		serveChild(db)
		return
	}
	goleak.VerifyTestMain(m)
}
