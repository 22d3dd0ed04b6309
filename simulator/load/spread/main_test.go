package spread

import (
	"testing"

	"go.uber.org/goleak"

	"parley/reference-server/bundled"
	"parley/simulator/load"
	"parley/steps/protocols"
	"parley/target"
)

// TestMain makes the program of the tests a bundled server, or a worker, if it is started as one.
func TestMain(m *testing.M) {
	bundled.All.Child()
	Child(shop())
	goleak.VerifyTestMain(m)
}

func shop() load.Workshop {
	return load.Workshop{Protocols: protocols.All, Bundled: func(protocol string) *target.Profile {
		if s := bundled.All.Separate(protocols.Kinds(), protocol, "", "", 0); s != nil {
			return s.Profile
		}
		return nil
	}}
}
