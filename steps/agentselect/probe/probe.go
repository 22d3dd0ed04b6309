// Package probe asks a running server what it speaks of agent-select, and writes its profile.
package probe

import (
	"context"

	"parley/probe"
)

// Guide is how targets of agent-select are probed.
func Guide() probe.Guide {
	return probe.Guide{
		Profile: profile,
		Text: `agent-select is tried at the paths of the default binding: the transports that it offers, how its events look,
how a request tells its connection, where a session's id is, and which optional features seem to be there. The probe
opens connections, creates sessions and switches their agents.`,
		Examples: []string{
			"parley init http://localhost:3000",
			"parley init http://localhost:3000/api --out my.yaml",
		},
	}
}

// profile asks the target, and gives the text of its profile.
func profile(ctx context.Context, s *probe.Session) (string, error) {
	p := &inquiry{Session: s}
	p.all(ctx)
	return draft(s), nil
}
