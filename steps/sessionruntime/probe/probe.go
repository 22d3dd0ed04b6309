// Package probe asks an orchestrator what it speaks of session-runtime, and writes its profile.
package probe

import (
	"context"

	"parley/probe"
)

// Guide is how targets of session-runtime are probed.
func Guide() probe.Guide {
	return probe.Guide{
		Profile: profile,
		Text: `session-runtime is tried at the default path and a few usual ones, or at that of a ws URL: the probe sets
sessions up, and is every party on their bus. Whether a fence is answered, where the fields of messages are, and what an
accepted turn is called, it takes from what is published; how turns end, doctor examines. Behind -- stands the command of
an orchestrator that speaks over stdin and stdout: it is started once.`,
		Examples: []string{
			"parley init --protocol session-runtime http://localhost:3000",
			"parley init --protocol session-runtime -- python3 adapter.py",
		},
	}
}

// profile asks the target, and gives the text of its profile.
func profile(ctx context.Context, s *probe.Session) (string, error) {
	p := &inquiry{s}
	if s.Profile.Command == nil {
		p.socket(ctx)
	} else {
		p.process(ctx)
	}
	return draft(s), nil
}
