package target

import (
	"context"
	"strings"
)

// NewLauncher launches what a profile describes.
func NewLauncher(p *Profile) Launcher { return launcher{p} }

type launcher struct{ p *Profile }

func (l launcher) Launch(ctx context.Context, o LaunchOptions) (Running, error) {
	in, err := Start(ctx, l.p, o)
	if err != nil {
		return nil, err
	}
	return in, nil
}

// Private needs a command on a port of its own, and a configuration that instances do not share.
func (l launcher) Private() bool {
	own := l.p.Agents.File == "" || strings.HasPrefix(l.p.Agents.File, "{dir}")
	return l.p.Command != nil && strings.Contains(l.p.URL, anyPort) && own
}
