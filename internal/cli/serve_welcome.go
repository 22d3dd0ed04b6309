package cli

import (
	"bytes"
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

	"parley/protocol/messages"
	"parley/reference-server/launch"
)

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

// welcome answers GET / with a description of the server, as HTML for browsers and as plain text for others; next
// handles everything else.
// at is the address of the server for clients without a usable Host header.
func (one *offer) welcome(scheme string, at net.Addr, token bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" || r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		host := r.Host
		if !plainHost.MatchString(host) {
			host = at.String()
		}
		g := one.greet(scheme, host, token)
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
			body.WriteString(g.text())
		}
		_, _ = w.Write(body.Bytes()) // a client that has gone misses it
	})
}

// wantsHTML reports whether a client accepts HTML by name, as browsers do.
func wantsHTML(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/html")
}

// greet describes the server at a host.
func (one *offer) greet(scheme, host string, token bool) greeting {
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
	g.Commands = one.commands(base, token)
	return g
}

// commands are three command lines to try with the server at a URL.
func (one *offer) commands(base string, token bool) []greetedCommand {
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

// text is the greeting for a terminal.
func (g greeting) text() string {
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
