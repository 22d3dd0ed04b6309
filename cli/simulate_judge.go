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

// judgeBehind has somebody's server, which answers in a play, judged as parley proxy does, by a proxy in front of it:
// by the messages that it received and sent itself, so that it is not blamed for what was held, edited or dropped. The
// program on the other side is judged by the play.
func judgeBehind(c *counterpart.Options, o console.PlayOptions) error {
	p, err := suite.Find(o.Protocol)
	if err != nil {
		return err
	}
	roles, err := serversOf(p)
	if err != nil || len(roles) == 0 {
		return err
	}
	start := c.Start
	c.Start = func(ctx context.Context, mutant, at string) (counterpart.Peer, error) {
		peer, err := start(ctx, mutant, at)
		if err != nil {
			return peer, err
		}
		front, err := proxy.Open(proxy.Options{Protocol: p, Profile: namesAt(p.Kind(), o.To), Roles: roles, To: peer.URL,
			Found: func(f proxy.Found) {
				if o.Found != nil {
					o.Found(f.Failure, f.Record)
				}
			}})
		if err != nil {
			return peer, err
		}
		return counterpart.Peer{URL: front.URL(), Stop: func() {
			_ = front.Close() // what is lost is a live finding
			if peer.Stop != nil {
				peer.Stop()
			}
		}}, nil
	}
	return nil
}

// serversOf returns the roles of servers whose clauses traffic alone can decide.
func serversOf(p steps.Protocol) ([]proxy.Role, error) {
	all, err := proxy.RolesOf(p, nil)
	return slices.DeleteFunc(all, func(r proxy.Role) bool { return r.Side != proxy.Server || len(r.Monitors) == 0 }), err
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
