// Package probe finds out how a running server speaks agent-select, and writes its profile.
package probe

import (
	"context"

	"parley/steps/probe"
)

// Guide returns the guide for probing agent-select targets.
func Guide() probe.Guide {
	return probe.Guide{
		Profile: profile,
		Text: `agent-select: the probe uses the paths of the default binding. It finds out which transports the
server offers, what its events look like, how a request names its connection, where the id of a session is, and
which optional features seem to exist. It opens connections, creates sessions and switches their agents.`,
		Examples: []string{
			"parley init http://localhost:3000",
			"parley init http://localhost:3000/api --out my.yaml",
		},
	}
}

// profile probes the target and returns the text of its profile.
func profile(ctx context.Context, s *probe.Session) (string, error) {
	p := &inquiry{Session: s}
	p.all(ctx)
	return draft(s), nil
}
