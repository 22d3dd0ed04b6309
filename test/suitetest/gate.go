package suitetest

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

// Most tests wait for targets that leave answers out, and cost nothing meanwhile: many of them run at once. Those
// whose targets work all the time take a place among few, so that none is late because of the others.
const atOnce = 64

var (
	working  = make(chan struct{}, runtime.GOMAXPROCS(0))
	browsers = make(chan struct{}, 2*runtime.GOMAXPROCS(0))
)

// manyAtOnce sets -parallel, unless the command line does.
func manyAtOnce() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(atOnce))
	}
}

// Works makes a test parallel, and waits until one more may work.
func Works(t *testing.T) {
	t.Helper()
	takes(t, working)
}

// InBrowser makes a test parallel, and waits until one more browser may run.
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
