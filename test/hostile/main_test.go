// Package hostile_test has the catalogue of hostile peers: servers, orchestrators, relays, agents, pages, processes,
// hooks and files that break off, flood, lie, hang or never end. Each is met by `parley` in a process of its own. None
// may hang it, make it grow or crash, pass a clause that it does not show, or leave anything behind; one sentence says
// who is to blame.
package hostile_test

import (
	"os"
	"testing"

	"parley/internal/cli"
	"parley/reference-server/bundled"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// asHarness in the environment makes the test binary the program parley.
const asHarness = "PARLEY_HOSTILE_HARNESS"

func TestMain(m *testing.M) {
	if os.Getenv(asHarness) != "" {
		cli.Main(cli.Parts{Protocols: protocols.All, Targets: bundled.All, Kills: bundled.Kills})
	}
	suitetest.Main(m)
}
