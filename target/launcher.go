package target

import (
	"context"
	"strings"
)

// NewLauncher returns the launcher for a profile. The Running is a Caller if the target Dials, a Piper if it
// PipesOnly, whatever Kind.Launcher makes if that is set, and otherwise an *Instance.
func NewLauncher(p *Profile) Launcher {
	if own := p.kind.Launcher; own != nil {
		if l := own(p); l != nil {
			return l
		}
	}
	switch {
	case p.Dials():
		return agentLauncher{p}
	case p.PipesOnly():
		return pipeLauncher{p}
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

// Private reports whether there is a command on a port or socket of its own and, if scenarios change the configuration,
// one that instances do not share.
func (l launcher) Private() bool {
	file := l.p.Agents.File
	shared := l.p.kind.Configures && file != "" && !strings.HasPrefix(file, "{dir}")
	own := portIn(l.p.URL) != "" || strings.HasPrefix(l.p.URL, "unix://"+anyDir)
	return l.p.Command != nil && own && !shared
}
