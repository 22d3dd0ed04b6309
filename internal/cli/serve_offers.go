package cli

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/internal/words"
	"parley/protocol/messages"
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

// addFlags adds the flags of all offers and of servers in general to a command. The returned function serves the chosen
// offer.
func (os offers) addFlags(c *cobra.Command) func(c *cobra.Command, protocol string, s *streams) error {
	var o serveOptions
	var role string
	f := c.Flags()
	f.StringVar(&o.addr, "listen", "127.0.0.1:8124", "`ADDRESS` to listen on; port 0 takes a free one")
	if roles := os.offeredRoles(); len(roles) > 1 {
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
	f.BoolVar(&o.remote, "allow-remote", false, "let other machines in without --token or TLS")
	return func(c *cobra.Command, protocol string, s *streams) error {
		o.listening = c.Flags().Changed("listen")
		one, err := os.chooseOffer(protocol, role, c.Flags())
		if err != nil {
			return err
		}
		return one.serveUntilDone(c.Context(), o, s)
	}
}

// offeredRoles returns the roles of the offers without repetition; none for a single protocol without roles.
func (os offers) offeredRoles() []string {
	var all []string
	for _, one := range os {
		all = append(all, one.role.Name)
	}
	return withoutDuplicates(all)
}

// ownsFlag reports whether a flag belongs to an offer.
func (os offers) ownsFlag(flag string) bool {
	return slices.ContainsFunc(os, func(one *offer) bool { return one.flags.Lookup(flag) != nil })
}

// chooseOffer returns the offer of a protocol in a role, with the given flags applied. It rejects flags of other
// offers.
func (os offers) chooseOffer(protocol, role string, f *pflag.FlagSet) (*offer, error) {
	if err := knownProtocols([]string{protocol}); err != nil {
		return nil, err
	}
	if bundle.Find(protocol) == nil {
		return nil, usagef("--protocol %s: it has no bundled server", protocol)
	}
	mine := slices.DeleteFunc(slices.Clone(os), func(one *offer) bool { return one.protocol != protocol })
	var foreign error
	f.Visit(func(given *pflag.Flag) {
		if foreign == nil && os.ownsFlag(given.Name) && !mine.ownsFlag(given.Name) {
			i := slices.IndexFunc(os, func(one *offer) bool { return one.flags.Lookup(given.Name) != nil })
			foreign = usagef("--%s: applies to %s, but this is the server of %s (give --protocol %[2]s, or leave it out)",
				given.Name, os[i].protocol, protocol)
		}
	})
	if foreign != nil {
		return nil, foreign
	}
	role, err := oneRole(protocol, givenList(role))
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
		case own == nil && os.ownsFlag(given.Name):
			i := slices.IndexFunc(os, func(one *offer) bool { return one.flags.Lookup(given.Name) != nil })
			failed = usagef("--%s: applies to the role %s, but this is the role %s (give --role %[2]s, or leave it out)",
				given.Name, os[i].role.Name, role)
		}
	})
	return chosen, failed
}

//go:embed welcome.css
var welcomeStyle string

// welcomePolicy lets the page have its own style sheet, and nothing else.
var welcomePolicy = func() string {
	sum := sha256.Sum256([]byte(welcomeStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

//go:embed welcome.html
var welcomeText string

var welcomePage = template.Must(template.New("welcome").Parse(welcomeText))

// greeting is the answer to / of a server without its own page.
type greeting struct {
	Title, About string
	Token        bool // every request needs one
	Endpoints    []greetedEndpoint
	Commands     []greetedCommand
	First        string // what a client sends first
	Style        template.CSS
}

// greetedEndpoint is an endpoint at the address that the client used. Link is its URL if a click may show it.
type greetedEndpoint struct{ Method, URL, About, Link string }

// greetedCommand is a command line to try.
type greetedCommand struct{ About, Line string }

// plainHost is a host that can appear unquoted in a command line.
var plainHost = regexp.MustCompile(`\A[A-Za-z0-9.:\[\]-]+\z`)

// serveWelcome answers GET / with a description of the server, as HTML for browsers and as plain text for others; next
// handles everything else.
// at is the address of the server for clients without a usable Host header.
func (one *offer) serveWelcome(scheme string, at net.Addr, token bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" || r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		host := r.Host
		if !plainHost.MatchString(host) {
			host = at.String()
		}
		g := one.newGreeting(scheme, host, token)
		var body bytes.Buffer
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Vary", "Accept")
		if wantsHTML(r) {
			h.Set("Content-Type", "text/html; charset=utf-8")
			h.Set("Content-Security-Policy", welcomePolicy)
			if err := welcomePage.Execute(&body, g); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		} else {
			h.Set("Content-Type", "text/plain; charset=utf-8")
			body.WriteString(g.terminalText())
		}
		_, _ = w.Write(body.Bytes()) // a client that has gone misses it
	})
}

// wantsHTML reports whether a client accepts HTML by name, as browsers do.
func wantsHTML(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/html")
}

// newGreeting describes the server at a host.
func (one *offer) newGreeting(scheme, host string, token bool) greeting {
	s := one.role.Serve
	g := greeting{Title: "Parley: " + one.protocol, About: s.About, Token: token, First: s.First,
		Style: template.CSS(welcomeStyle)}
	g.Title += ", role " + one.role.Name
	base := scheme + "://" + host
	endpoints := s.Endpoints
	if messages.AsyncAPI(one.protocol, host, false) != nil {
		endpoints = append(slices.Clone(endpoints), asyncAPI)
	}
	for _, e := range endpoints {
		out := greetedEndpoint{Method: e.Method, URL: base + e.Path, About: e.About}
		switch e.Method {
		case launch.Socket:
			out.URL = strings.Replace(out.URL, "http", "ws", 1)
		case http.MethodGet:
			out.Link = e.Path
		}
		g.Endpoints = append(g.Endpoints, out)
	}
	g.Commands = one.exampleCommands(base, token)
	return g
}

// exampleCommands are three command lines to try with the server at a URL.
func (one *offer) exampleCommands(base string, token bool) []greetedCommand {
	fetch := greetedCommand{"Check that it is running", "curl " + base + launch.Health.Path}
	for _, e := range one.role.Serve.Endpoints {
		if e.Method == launch.Stream {
			fetch = greetedCommand{"Watch its events", "curl -N " + base + e.Path}
			break
		}
	}
	named, lines := "--protocol "+one.protocol, "'protocol: "+one.protocol+"'"
	if len(suite.Roles(one.protocol)) > 1 {
		named += " --role " + one.role.Name
		lines += " 'role: " + one.role.Name + "'"
	}
	talk, run := named+" "+base, named+" --target "+base
	before := ""
	if token {
		fetch.Line += ` -H "Authorization: Bearer $TOKEN"`
		// A URL cannot carry a token, but a profile can; it names the variable and does not contain its value.
		lines += " 'url: " + base + `' 'headers: {Authorization: "Bearer ${TOKEN}"}'`
		before = `printf '%s\n' ` + lines + " > served.yaml && "
		talk, run = "served.yaml", "--target served.yaml"
	}
	return []greetedCommand{
		fetch,
		{"Talk to it step by step, judged as you go", before + program + " connect " + talk},
		{"Run the whole suite against it", before + program + " run " + run},
	}
}

// terminalText is the greeting for a terminal.
func (g greeting) terminalText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", g.Title, g.About)
	if g.Token {
		b.WriteString("Every request needs the token: Authorization: Bearer TOKEN, or ?token=TOKEN.\n" +
			"The commands take it from $TOKEN.\n")
	}
	b.WriteString("\nEndpoints:\n")
	for _, e := range g.Endpoints {
		fmt.Fprintf(&b, "  %-9s %s  %s\n", e.Method, e.URL, e.About)
	}
	b.WriteString("\nTry:\n")
	for _, c := range g.Commands {
		fmt.Fprintf(&b, "  %s\n", c.Line)
	}
	if g.First != "" {
		fmt.Fprintf(&b, "\nBy hand, send this first:\n  %s\n", g.First)
	}
	return b.String()
}
