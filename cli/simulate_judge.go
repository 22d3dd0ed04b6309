package cli

import (
	"context"
	"slices"

	"parley/simulator/console"
	"parley/simulator/counterpart"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/target"
)

// between judges both sides of a play between a program and somebody's server, as parley proxy does, each side by the
// messages that it received and sent: a proxy behind the play judges the server, and one before it the program. So
// neither is blamed for what was held, edited or dropped between them.
type between struct {
	protocol steps.Protocol
	profile  *target.Profile
	o        console.PlayOptions
}

// judgesBetween returns the judge of a play, which the options of its party then lead through.
func judgesBetween(c *counterpart.Options, o console.PlayOptions) (*between, error) {
	p, err := suite.Find(o.Protocol)
	if err != nil {
		return nil, err
	}
	b := &between{protocol: p, profile: namesAt(p.Kind(), o.To), o: o}
	start := c.Start
	c.Start = func(ctx context.Context, mutant, at string) (counterpart.Peer, error) {
		peer, err := start(ctx, mutant, at)
		if err != nil {
			return peer, err
		}
		return b.behind(peer)
	}
	if b.has(proxy.Client) {
		c.Listen = ""
	}
	return b, nil
}

// namesAt is the profile of a server of which only the URL is known.
func namesAt(kind target.Kind, url string) *target.Profile {
	p := kind.New()
	p.Protocol, p.Name, p.URL = kind.Protocol, url, url
	if kind.Locate != nil && !slices.Contains(kind.Drivers, target.Browser) {
		kind.Locate(p) // a URL may have the path of the socket
	}
	return p
}

// roles returns the roles of a side whose clauses traffic alone can decide.
func (b *between) roles(side proxy.Side) []proxy.Role {
	all, err := proxy.RolesOf(b.protocol, nil)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(r proxy.Role) bool { return r.Side != side || len(r.Monitors) == 0 })
}

func (b *between) has(side proxy.Side) bool { return len(b.roles(side)) > 0 }

// open opens a proxy that judges one side.
func (b *between) open(side proxy.Side, listen, to string) (*proxy.Proxy, error) {
	return proxy.Open(proxy.Options{Protocol: b.protocol, Profile: b.profile, Roles: b.roles(side), Listen: listen, To: to,
		Found: func(f proxy.Found) {
			if b.o.Found != nil {
				b.o.Found(f.Failure, f.Record)
			}
		}})
}

// behind judges the server.
func (b *between) behind(peer counterpart.Peer) (counterpart.Peer, error) {
	if !b.has(proxy.Server) {
		return peer, nil
	}
	p, err := b.open(proxy.Server, "", peer.URL)
	if err != nil {
		return peer, err
	}
	return counterpart.Peer{URL: p.URL(), Stop: func() {
		_ = p.Close() // what is lost is a live finding
		if peer.Stop != nil {
			peer.Stop()
		}
	}}, nil
}

// before judges the program, which then connects to a proxy before the play.
func (b *between) before(p console.Player) (console.Player, error) {
	if !b.has(proxy.Client) {
		return p, nil
	}
	front, err := b.open(proxy.Client, b.o.Listen, p.URL())
	if err != nil {
		p.Close()
		return nil, err
	}
	return &fronted{p, front}, nil
}

// fronted is a play behind a proxy.
type fronted struct {
	console.Player
	front *proxy.Proxy
}

// URL implements console.Player.
func (f *fronted) URL() string { return f.front.URL() }

// Close implements console.Player.
func (f *fronted) Close() {
	f.Player.Close()
	_ = f.front.Close() // what is lost is a live finding
}
