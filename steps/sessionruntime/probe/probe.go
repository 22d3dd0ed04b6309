// Package probe finds out how an orchestrator speaks session-runtime, and writes its profile.
package probe

import (
	"context"

	"parley/steps/probe"
)

// Guide returns the guide for probing session-runtime targets.
func Guide() probe.Guide {
	return probe.Guide{
		Profile: profile,
		Text: `session-runtime: the probe tries the default path and a few common ones, or the path of a ws URL. It
sets up sessions and plays every party on their bus. From what the orchestrator publishes it learns whether a fence
is answered, where the fields of messages are, and what an accepted turn is called. How turns end is left to doctor.
After -- comes the command of an orchestrator that speaks over stdin and stdout; it is started once.`,
		Examples: []string{
			"parley init --protocol session-runtime http://localhost:3000",
			"parley init --protocol session-runtime -- python3 adapter.py",
		},
	}
}

// profile probes the target and returns the text of its profile.
func profile(ctx context.Context, s *probe.Session) (string, error) {
	p := &inquiry{s}
	if s.Profile.Command == nil {
		p.socket(ctx)
	} else {
		p.process(ctx)
	}
	return draft(s), nil
}
