package stub

import (
	"testing"

	"go.uber.org/goleak"
)

// After a body that is too large, net/http keeps the connection's goroutine for half a second, so that the client can
// read the answer before the reset.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
