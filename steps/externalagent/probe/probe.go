// Package probe probes a relay, a host or an agent of external-agent and writes its profile. An agent meets
// probe.Session.Counterpart, the bundled host, which needs no script.
package probe

import (
	"context"

	"parley/steps/externalagent/binding"
	"parley/steps/probe"
)

// Guide describes how targets of external-agent are probed.
func Guide() probe.Guide {
	return probe.Guide{
		Profile: profile,
		Text: `external-agent: the probe tries the default path and a few common ones, or the path of a ws URL. It
finds out whether relay.join is answered, whether there is a host or only a relay, whether other relay sessions have
a host and admit two agents, which tools are announced, and where error codes are. It starts study sessions and ends
them; it books nothing.

An agent connects to the harness. With --role agent the words after -- are the command that starts it; {url} and
{session} in it are replaced. The agent is started once, meets the bundled host, and loses its connection there.
Without a command the profile is that of an agent that connects by itself, with gaps to fill in.`,
		Examples: []string{
			"parley init --protocol external-agent ws://localhost:3000/agent/ws",
			"parley init --protocol external-agent --role agent -- ./my-agent --url '{url}' --session '{session}'",
		},
	}
}

// profile probes the target and returns the text of its profile.
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
