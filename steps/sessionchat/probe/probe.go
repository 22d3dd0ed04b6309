// Package probe asks a running server what it speaks of session-chat, and writes its profile.
package probe

import (
	"context"

	"parley/probe"
)

// Guide is how targets of session-chat are probed.
func Guide() probe.Guide {
	return probe.Guide{
		Profile: profile,
		Text: `session-chat is tried at the default path and a few usual ones, or at that of a ws URL: one chat, one ping and
one message of no known type tell how its messages look, as far as their names can be understood. The chat makes one
session.`,
		Examples: []string{
			"parley init --protocol session-chat http://localhost:3000",
			"parley init --protocol session-chat ws://localhost:3000/my/socket",
		},
	}
}

// profile asks the target, and gives the text of its profile.
func profile(ctx context.Context, s *probe.Session) (string, error) {
	p := &inquiry{s}
	return draft(s, p.all(ctx)), nil
}
