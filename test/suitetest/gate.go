package suitetest

import (
	"flag"
	"runtime"
	"strconv"
	"testing"

	"parley/driver"
	"parley/driver/browser"
)

// Most tests wait for targets that omit answers, which costs nothing: many of them run at once. Tests whose targets
// keep the processor busy need one of a few places, so that none is late because of the others.
const atOnce = 64

var (
	working  = make(chan struct{}, runtime.GOMAXPROCS(0))
	browsers = make(chan struct{}, 2*runtime.GOMAXPROCS(0))
)

// manyAtOnce sets -parallel unless the command line does.
func manyAtOnce() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(atOnce))
	}
}

// Works makes a test parallel and waits for a place among the working tests.
func Works(t *testing.T) {
	t.Helper()
	takes(t, working)
}

// InBrowser makes a test parallel and waits for a place among the browsers.
func InBrowser(t *testing.T) {
	t.Helper()
	takes(t, browsers)
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

func takes(t *testing.T, places chan struct{}) {
	t.Helper()
	t.Parallel()
	places <- struct{}{}
	t.Cleanup(func() { <-places })
}
