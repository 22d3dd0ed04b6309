// Package tier has each test say when it runs: always, in `make test` but not in `make quick`, or at night; and
// whether it opens pages, which run one at a time.
package tier

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// The reasons that tests are left out for, as `go test -v` prints them; internal/gotest counts them.
const (
	AtNight = "left out: make test-all runs it"
	InTest  = "left out: make test runs it"
)

// All reports whether everything runs, and not samples (PARLEY_TESTS=all, as in `make test-all`).
func All() bool { return os.Getenv("PARLEY_TESTS") == "all" }

// Night leaves a test to `make test-all`: whole sets of which `make test` has a part, and what takes the most of the
// processor.
func Night(t testing.TB) {
	t.Helper()
	if !All() {
		t.Skip(AtNight)
	}
}

// Long leaves a test out of `make quick` (go test -short): one that runs programs or whole suites again.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip(InTest)
	}
}

// Page is Long for a test that opens pages, and has one of these run at a time on this machine: the end of a browser
// takes the kernel ten times as long beside another one. A parallel test calls it behind t.Parallel. Its subtests
// may call it again, but must not be parallel: they could wait for a place that a test waiting for the page has.
func Page(t testing.TB) {
	t.Helper()
	Long(t)
	if !pages.awaitTurn(t.Name()) {
		return
	}
	unlock, err := lock()
	if err != nil {
		pages.releaseTurn()
		t.Fatalf("lock the pages: %v", err)
	}
	t.Cleanup(func() {
		if err := unlock(); err != nil {
			t.Error(err)
		}
		pages.releaseTurn()
	})
}

var pages turn

// turn is whose turn it is among the tests of a process; a subtest shares its parent's.
type turn struct {
	mu     sync.Mutex
	name   sync.Mutex
	holder string
}

// awaitTurn waits for the turn. It returns false where an ancestor has it.
func (p *turn) awaitTurn(test string) bool {
	p.name.Lock()
	of := p.holder
	p.name.Unlock()
	if of != "" && strings.HasPrefix(test, of+"/") {
		return false
	}
	p.mu.Lock()
	p.name.Lock()
	defer p.name.Unlock()
	p.holder = test
	return true
}

func (p *turn) releaseTurn() {
	p.name.Lock()
	p.holder = ""
	p.name.Unlock()
	p.mu.Unlock()
}

// Sample leaves all but about n of the rows of a table to the night: those in between, as neighbours are alike.
func Sample(t testing.TB, row, of, n int) {
	t.Helper()
	if row%max(1, of/max(1, n)) != 0 {
		Night(t)
	}
}

// AllPages is Page for a package whose tests nearly all open pages, called around testing.M.Run.
func AllPages() (unlock func()) {
	unlocked, err := lock()
	if err != nil {
		panic(fmt.Sprintf("lock the pages: %v", err))
	}
	return func() { _ = unlocked() }
}
