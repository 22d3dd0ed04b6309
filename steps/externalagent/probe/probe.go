// Package probe asks a relay or host what it speaks of external-agent, or watches an agent, and writes its profile.
// An agent meets probe.Session.Counterpart, the bundled host, which needs no script.
package probe

import (
	"context"

	"parley/probe"
	"parley/steps/externalagent/binding"
)

// Guide is how targets of external-agent are probed.
func Guide() probe.Guide {
	return probe.Guide{
		Profile: profile,
		Text: `external-agent is tried at the default path and a few usual ones, or at that of a ws URL: whether relay.join is
answered, and a host is there or a relay alone, whether other relay sessions have a host too and two agents can be in
one, which tools are announced, and where error codes are. The probe starts study sessions and ends them; it books
nothing.

An agent connects to the harness. With --role agent the words behind -- are the command that starts it, in which {url}
and {session} stand for what it is told; it is started once, meets the bundled host, and loses its connection there.
Without a command the profile is that of an agent which connects by itself, and is to be filled in.`,
		Examples: []string{
			"parley init --protocol external-agent ws://localhost:3000/agent/ws",
			"parley init --protocol external-agent --role agent -- ./my-agent --url '{url}' --session '{session}'",
		},
	}
}

// profile asks the target, and gives the text of its profile.
func profile(ctx context.Context, s *probe.Session) (string, error) {
	p := &inquiry{s}
	switch {
	case !s.Profile.Dials():
		p.all(ctx)
		return draft(s), nil
	case s.Target == nil:
		s.Profile.Name = "my agent"
		binding.Of(s.Profile).Agent.Listen = "127.0.0.1:8080"
		return draftAgent(s), nil
	}
	if err := (&watch{inquiry: p}).all(ctx); err != nil {
		return "", err
	}
	return draftAgent(s), nil
}
