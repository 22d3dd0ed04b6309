package suitetest

import (
	"flag"
	"runtime"
	"strconv"
	"testing"

	"parley/internal/tier"
	"parley/transport/driver"
	"parley/transport/driver/browser"
)

// Most tests wait for targets that omit answers, which costs nothing: many of them run at once. Tests whose targets
// keep the processor busy need one of a few places, two per processor, so that none is late because of the others.
const atOnce = 64

var working = make(chan struct{}, 2*runtime.GOMAXPROCS(0))

// manyAtOnce sets -parallel unless the command line does.
func manyAtOnce() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(atOnce))
	}
}

// AwaitTurn makes a test parallel and waits for a place among the working tests.
func AwaitTurn(t *testing.T) {
	t.Helper()
	t.Parallel()
	working <- struct{}{}
	t.Cleanup(func() { <-working })
}

// InBrowser makes a test parallel and waits until no other test has pages (tier.Page).
func InBrowser(t *testing.T) {
	t.Helper()
	t.Parallel()
	tier.Page(t)
}

// AwaitTurnOn is Works for a test that judges a target of a protocol, and InBrowser if that is a page.
func AwaitTurnOn(t *testing.T, protocol string) {
	t.Helper()
	if protocol == "agent-client" {
		InBrowser(t)
		return
	}
	AwaitTurn(t)
}

// Browser returns a browser that the subtests of t share: starting one for each costs more processor time than most of
// them need.
func Browser(t *testing.T) driver.Driver {
	t.Helper()
	b := browser.New(browser.Options{})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}
