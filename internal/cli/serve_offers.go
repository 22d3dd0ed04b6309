package cli

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/internal/words"
	"parley/reference-server/launch"
)

// offer is a role of a protocol that can be served, with its own flags.
type offer struct {
	protocol string
	role     launch.Role
	flags    *pflag.FlagSet
	serving  launch.Serving
}

// offers are the choices of a command line.
type offers []*offer

func offersOf(targets ...launch.Target) offers {
	var out offers
	for _, t := range targets {
		for _, r := range t.Roles {
			o := &offer{protocol: t.Protocol, role: r, flags: pflag.NewFlagSet(r.Name, pflag.ContinueOnError)}
			if r.Serve.Flags != nil {
				o.serving = r.Serve.Flags(o.flags)
			} else {
				o.serving.Make = func(launch.Place) (launch.Handler, error) { return r.Make(launch.Options{}) }
			}
			out = append(out, o)
		}
	}
	return out
}

// flags adds the flags of all offers and of servers in general to a command. The returned function serves the chosen
// offer.
func (os offers) flags(c *cobra.Command) func(c *cobra.Command, protocol string, s *streams) error {
	var o serveOptions
	var role string
	f := c.Flags()
	f.StringVar(&o.addr, "addr", "127.0.0.1:8124", "`ADDRESS` to listen on; port 0 takes a free one")
	if roles := os.roles(); len(roles) > 1 {
		f.StringVar(&role, "role", "", "`ROLE` to serve in: "+words.Either(roles)+" (default "+roles[0]+")")
	}
	for _, one := range os {
		one.flags.VisitAll(func(own *pflag.Flag) {
			if f.Lookup(own.Name) == nil {
				f.AddFlag(own)
			}
		})
	}
	f.StringVar(&o.token, "token", "", "`TOKEN` that every request must carry")
	f.StringVar(&o.cert, "tls-cert", "", "PEM `FILE` of the certificate")
	f.StringVar(&o.key, "tls-key", "", "PEM `FILE` of its key")
	f.StringArrayVar(&o.origins, "allow-origin", nil,
		"`ORIGIN` of pages that may call, besides loopback ones; may be repeated; null and * are accepted")
	f.BoolVar(&o.insecure, "insecure", false, "let other machines in without --token or TLS")
	return func(c *cobra.Command, protocol string, s *streams) error {
		o.listening = c.Flags().Changed("addr")
		one, err := os.choose(protocol, role, c.Flags())
		if err != nil {
			return err
		}
		return one.serve(c.Context(), o, s)
	}
}

// roles returns the roles of the offers without repetition; none for a single protocol without roles.
func (os offers) roles() []string {
	var all []string
	for _, one := range os {
		all = append(all, one.role.Name)
	}
	return unique(all)
}

// owns reports whether a flag belongs to an offer.
func (os offers) owns(flag string) bool {
	return slices.ContainsFunc(os, func(one *offer) bool { return one.flags.Lookup(flag) != nil })
}

// choose returns the offer of a protocol in a role, with the given flags applied. It rejects flags of other offers.
func (os offers) choose(protocol, role string, f *pflag.FlagSet) (*offer, error) {
	if err := knownProtocols([]string{protocol}); err != nil {
		return nil, err
	}
	if bundle.Find(protocol) == nil {
		return nil, usagef("--protocol %s: it has no bundled server", protocol)
	}
	mine := slices.DeleteFunc(slices.Clone(os), func(one *offer) bool { return one.protocol != protocol })
	var foreign error
	f.Visit(func(given *pflag.Flag) {
		if foreign == nil && os.owns(given.Name) && !mine.owns(given.Name) {
			i := slices.IndexFunc(os, func(one *offer) bool { return one.flags.Lookup(given.Name) != nil })
			foreign = usagef("--%s: applies to %s, but this is the server of %s (give --protocol %[2]s, or leave it out)",
				given.Name, os[i].protocol, protocol)
		}
	})
	if foreign != nil {
		return nil, foreign
	}
	role, err := oneRole(protocol, given(role))
	if err != nil {
		return nil, err
	}
	return mine.inRole(cmp.Or(role, suite.Roles(protocol)[0]), f)
}

// inRole returns the offer of a role among those of one protocol.
func (os offers) inRole(role string, f *pflag.FlagSet) (*offer, error) {
	i := slices.IndexFunc(os, func(one *offer) bool { return one.role.Name == role })
	chosen := os[i]
	var failed error
	f.Visit(func(given *pflag.Flag) {
		own := chosen.flags.Lookup(given.Name)
		switch {
		case failed != nil:
		case own != nil && own != given: // another offer has a flag of the same name
			failed = own.Value.Set(given.Value.String())
		case own == nil && os.owns(given.Name):
			i := slices.IndexFunc(os, func(one *offer) bool { return one.flags.Lookup(given.Name) != nil })
			failed = usagef("--%s: applies to the role %s, but this is the role %s (give --role %[2]s, or leave it out)",
				given.Name, os[i].role.Name, role)
		}
	})
	return chosen, failed
}
