package sse

import (
	"testing"

	"go.uber.org/goleak"
)

// net/http's server waits 500 ms before it closes a connection whose request it has not read to its end.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
