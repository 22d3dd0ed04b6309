package cli

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/internal/unixurl"
	"parley/runner"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/target"
	"parley/transport/transcript"
)

// declareFlags defines the flags.
func (o *proxyOptions) declareFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", "",
		"`PROTOCOL` to judge by (default that of the profile, or of what the URL speaks)")
	f.StringVar(&o.to, "target", "", "`URL` of the server, or the file of a profile that has it")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "`ADDR` for clients, where port 0 is a free one")
	f.DurationVar(&o.for_, "for", 0, "end after `TIME`, such as 10m (default at Ctrl-C)")
	f.StringVar(&o.cert, "tls-cert", "", "listen with https: PEM `FILE` of the certificate")
	f.StringVar(&o.key, "tls-key", "", "PEM `FILE` of its key")
	f.StringVar(&o.token, "token", "", "`TOKEN` that every client needs; the server does not see it")
	f.BoolVar(&o.remote, "allow-remote", false, "let other machines in without --token or TLS")
	o.link.declareFlags(f)
	o.judgingOptions.declareFlags(f, "parley-results/proxy")
	f.StringVar(&o.recording, "record", "", "record the traffic in `FILE`, message by message")
	o.spans.declareFlags(f)
	f.StringVar(&o.faults, "faults", "", "inject the faults in `FILE` into the traffic; clients are then not judged")
	f.StringVar(&o.console, "console", "", "show the traffic on a page at `ADDR`; it can hold and edit messages")
	f.StringVar(&o.consoleKey, "console-token", "", "`TOKEN` that the page needs")
}

// checkFlags checks the flags, and returns what they ask for.
func (o *proxyOptions) checkFlags(ctx context.Context, s *streams) (proxy.Options, *runner.Passive, error) {
	var none proxy.Options
	if o.profile == "" {
		if err := o.link.nameOneProtocol(ctx, &o.to, &o.protocol, s); err != nil {
			return none, nil, err
		}
	}
	p, profile, err := o.judgedProtocol()
	if err != nil {
		return none, nil, err
	}
	out := proxy.Options{Protocol: p, Profile: profile, Strict: o.strict, Listen: o.listen, To: o.to, Token: o.token}
	if err := o.checkAddresses(&out); err != nil {
		return none, nil, err
	}
	if out.Roles, err = o.judgedRoles(p, nil); err != nil {
		return none, nil, err
	}
	if o.faults != "" { // what clients get is not what the server has sent
		out.Roles = slices.DeleteFunc(out.Roles, func(r proxy.Role) bool { return r.Side == proxy.Client })
		if len(out.Roles) == 0 {
			return none, nil, usagef("--faults: clients are not judged then (name the --role of a server, or leave it out)")
		}
	}
	if err := o.checkDemands(p, out.Roles); err != nil {
		return none, nil, err
	}
	collect, err := o.collector(out.Roles, "", runner.PassiveOptions{Profile: profile, URL: o.to,
		Insecure: out.ToTLS != nil && out.ToTLS.InsecureSkipVerify})
	if _, bad := o.consoleDoor(); bad != nil {
		err = bad
	}
	return out, collect, err
}

// judgedProtocol returns the protocol, and the profile that has the names on the wire.
func (o *proxyOptions) judgedProtocol() (steps.Protocol, *target.Profile, error) {
	if err := knownProtocols(givenList(o.protocol)); err != nil {
		return nil, nil, err
	}
	if o.to = asURL(o.to); o.to != "" && !strings.Contains(o.to, "://") {
		if o.profile != "" {
			return nil, nil, usagef("--profile: the target %s is a profile already (leave one out, or name a URL)", o.to)
		}
		o.to, o.profile = "", o.to
	}
	var profile *target.Profile
	if o.profile != "" {
		var err error
		if profile, err = suite.Kinds().Load(o.profile); err != nil {
			return nil, nil, err
		}
		if o.protocol != "" && o.protocol != profile.Protocol {
			return nil, nil, usagef("--protocol %s: %s speaks %s (leave --protocol out)", o.protocol, o.profile,
				profile.Protocol)
		}
		o.protocol = profile.Protocol
		if o.to == "" && len(o.command) == 0 {
			if o.to = profile.URL; o.to == "" {
				return nil, nil, usagef("--target: %s has no url (name the URL of the server, and the file with --profile)",
					o.profile)
			}
		}
	}
	if o.protocol == "" {
		o.protocol = suite.Kinds()[0].Protocol
	}
	p, err := suite.Find(o.protocol)
	if err != nil {
		return nil, nil, err
	}
	kind := p.Kind()
	if err := o.checkTo(kind); err != nil {
		return nil, nil, err
	}
	if profile == nil {
		profile = kind.New()
		profile.Protocol, profile.Name = o.protocol, "what is behind the proxy"
		if o.to != "" {
			profile.URL, profile.Name = o.to, transcript.MaskURLs(o.to)
			if kind.Locate != nil && !slices.Contains(kind.Drivers, target.Browser) {
				kind.Locate(profile) // a URL may have the path of the socket
			}
			o.to = profile.URL
		} else {
			profile.Name = o.command[0]
		}
	}
	return p, profile, nil
}

// checkTo checks where the traffic goes.
func (o *proxyOptions) checkTo(kind target.Kind) error {
	switch {
	case len(o.command) > 0 && o.to != "":
		return usagef("--target: the traffic goes to a command or to a URL, not to both (leave one out)")
	case len(o.command) > 0 && !slices.Contains(kind.Drivers, target.Stdio):
		return usagef("--: %s is not spoken on stdin and stdout (name a URL)", o.protocol)
	case len(o.command) > 0:
		for _, f := range []struct{ name, value string }{{"--tls-cert", o.cert}, {"--tls-key", o.key}, {"--token", o.token},
			{o.link.firstGiven(), o.link.firstGiven()}} {
			if f.value != "" {
				return usagef("%s: before a command nobody listens (leave it out)", f.name)
			}
		}
		return nil
	case o.to == "" && slices.Contains(kind.Drivers, target.Stdio):
		return usagef("--target is missing: the URL of the server (or a command after --)")
	case o.to == "":
		return usagef("--target is missing: the URL of the server")
	}
	if unixurl.Is(o.to) {
		if _, _, err := unixurl.Split(o.to); err != nil {
			return usagef("--target: %q is not the URL of a unix socket (write it like unix:///run/server.sock)", o.to)
		}
		return nil
	}
	u, err := url.Parse(o.to)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
		return usagef("--target: %q is not the URL of a server (write it like http://localhost:3000)", o.to)
	}
	return nil
}

// checkAddresses checks the flags about addresses and TLS.
func (o *proxyOptions) checkAddresses(out *proxy.Options) error {
	if len(o.command) > 0 {
		return nil
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return usagef("--listen: %v (write it like 127.0.0.1:8124)", err)
	}
	withTLS := o.cert != "" || o.key != ""
	switch {
	case withTLS && o.cert == "":
		return usagef("--tls-key: there is no --tls-cert")
	case withTLS && o.key == "":
		return usagef("--tls-cert: there is no --tls-key")
	case !isLoopback(host) && !o.remote && (o.token == "" || !withTLS):
		return usagef("--listen %s: other machines could reach it (give --token, --tls-cert and --tls-key, or say "+
			"--allow-remote)", o.listen)
	}
	if withTLS {
		pair, err := target.Pair(o.cert, o.key)
		if err != nil {
			return usagef("--tls-%v", err)
		}
		out.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	return o.toServer(out)
}

// toServer puts the flags about the connections to the server into the options.
func (o *proxyOptions) toServer(out *proxy.Options) error {
	var err error
	if out.ToTLS, err = o.link.tlsConfig(); err != nil {
		return err
	}
	if out.ToTLS == nil {
		out.ToTLS = out.Profile.TLSConfig()
	}
	for _, text := range o.link.headers {
		if err := addHeader(out.Profile, text); err != nil {
			return err
		}
		name, _, _ := strings.Cut(text, ":")
		if out.Header == nil {
			out.Header = http.Header{}
		}
		out.Header.Set(strings.TrimSpace(name), out.Profile.Headers[strings.TrimSpace(name)])
	}
	return nil
}
