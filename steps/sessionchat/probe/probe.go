// Package probe examines how a running server speaks session-chat, and writes its profile.
package probe

import (
	"context"

	"parley/steps/probe"
)

// Guide returns how to probe targets of session-chat.
func Guide() probe.Guide {
	return probe.Guide{
		Profile: profile,
		Text: `session-chat: the probe tries the default path and a few common ones, or the path of a ws URL. It
sends one chat, one ping and one message of an unknown type, and learns the shapes of messages from the answers, as
far as it understands their names. The chat creates one session.`,
		Examples: []string{
			"parley init --protocol session-chat http://localhost:3000",
			"parley init --protocol session-chat ws://localhost:3000/my/socket",
		},
	}
}

// profile examines the target and returns the text of its profile.
func profile(ctx context.Context, s *probe.Session) (string, error) {
	p := &inquiry{s}
	return draft(s, p.all(ctx)), nil
}
