package suitetest

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

// Most tests wait for targets that leave out answers, which costs nothing: many of them run at once. Tests whose
// targets keep the processor busy need one of a few places, so that none is late because of the others.
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

func takes(t *testing.T, places chan struct{}) {
	t.Helper()
	t.Parallel()
	places <- struct{}{}
	t.Cleanup(func() { <-places })
}
