package target

import (
	"context"
	"strings"

	"parley/protocol/agentselect"
)

// NewLauncher launches what a profile describes. The Running of a target that Dials is a Caller, that of one which PipesOnly
// is a Piper, that of a page in a folder is nothing beyond; that of another is an *Instance.
func NewLauncher(p *Profile) Launcher {
	switch {
	case p.Dials():
		return agentLauncher{p}
	case p.PipesOnly():
		return pipeLauncher{p}
	case p.AgentClient.Folder != "":
		return pageLauncher{p}
	}
	return launcher{p}
}

type launcher struct{ p *Profile }

func (l launcher) Launch(ctx context.Context, o LaunchOptions) (Running, error) {
	in, err := Start(ctx, l.p, o)
	if err != nil {
		return nil, err
	}
	return in, nil
}

// Private needs a command on a port of its own, and, where scenarios change the configuration, one that instances do
// not share. Those of agent-select alone do.
func (l launcher) Private() bool {
	file := l.p.Agents.File
	shared := l.p.Protocol == agentselect.Protocol && file != "" && !strings.HasPrefix(file, "{dir}")
	return l.p.Command != nil && strings.Contains(l.p.URL, anyPort) && !shared
}
