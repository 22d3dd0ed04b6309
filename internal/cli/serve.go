package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/protocol/messages"
	"parley/reference-server/launch"
	"parley/reference-server/web"
	"parley/target"
)

// grace is how long connections and turns may take to end.
const grace = 800 * time.Millisecond

// serveOptions are the flags common to all servers.
type serveOptions struct {
	addr, token, cert, key string
	origins                []string
	remote                 bool // others may connect without token or TLS
	listening              bool // --listen was given
}

const untilInterrupted = `It runs until interrupted. The first line on stdout is the URL of a server; connections and
what happens on them are logged to stderr.

`

const aboutServing = `With --token every request needs the header "Authorization: Bearer TOKEN", or ?token=TOKEN if a
client cannot set headers, as with EventSource and WebSocket in a browser. An address that other machines can
reach requires --token and TLS.

GET /asyncapi.json describes the messages of the protocol, as an AsyncAPI document.`

// serveCommand has a subcommand for each protocol. Used directly, it takes --protocol and the flags of all of them.
func serveCommand(s *streams) *cobra.Command {
	var protocol string
	known := offersOf(bundle...)
	c := &cobra.Command{
		Use:   "serve [PROTOCOL]",
		Short: "Serve a bundled server for your own clients",
		Long: `Serve a bundled server (default ` + bundle[0].Protocol + `).

` + untilInterrupted + withModels() + aboutServing,
		Example: examplesOf(bundle...),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownProtocol("serve", args[0], bundle.Protocols())
		},
	}
	run := known.addFlags(c)
	f := c.Flags()
	f.StringVar(&protocol, "protocol", bundle[0].Protocol, "`PROTOCOL` to serve")
	f.VisitAll(func(f *pflag.Flag) {
		f.Hidden = f.Hidden || f.Name == "protocol" || f.Name == "role" || known.ownsFlag(f.Name)
	})
	c.RunE = func(c *cobra.Command, _ []string) error { return run(c, protocol, s) }
	for _, t := range bundle {
		c.AddCommand(serveProtocolCommand(t, s))
	}
	return c
}

// serveProtocolCommand serves one protocol.
func serveProtocolCommand(t launch.Target, s *streams) *cobra.Command {
	model := ""
	if answersByModel(t) {
		model = launch.Directives + "\n\n"
	}
	c := &cobra.Command{
		Use:     t.Protocol,
		Short:   "Serve " + t.Short,
		Long:    strings.TrimSpace(longOf(t)) + "\n\n" + untilInterrupted + model + aboutServing,
		Example: examplesOf(t),
		Args:    noArgs,
	}
	run := offersOf(t).addFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error { return run(c, t.Protocol, s) }
	return c
}

// answersByModel reports whether the suite's model answers the conversations of a server of the protocol.
func answersByModel(t launch.Target) bool {
	return slices.ContainsFunc(t.Roles, func(r launch.Role) bool { return r.Serve.Model })
}

// withModels explains the model of the servers that have one.
func withModels() string {
	var names []string
	for _, t := range bundle {
		if answersByModel(t) {
			names = append(names, t.Protocol)
		}
	}
	return "A client of " + words.Either(names) + " talks to a model.\n\n" + launch.Directives + "\n\n"
}

// longOf describes what is served, in each role if there are several.
func longOf(t launch.Target) string {
	if len(t.Roles) == 1 {
		return t.Roles[0].Serve.Long
	}
	text := fmt.Sprintf("Serve %s. There are %d roles:\n\n", t.Short, len(t.Roles))
	for _, r := range t.Roles {
		text += fmt.Sprintf("  --role %-6s %s\n", r.Name, strings.ReplaceAll(r.Serve.Long, "\n", "\n                "))
	}
	return text
}

// examplesOf lists example command lines.
func examplesOf(targets ...launch.Target) string {
	var lines []string
	for _, t := range targets {
		for i, r := range t.Roles {
			for _, args := range r.Serve.Examples {
				line := "  parley serve " + t.Protocol
				if i > 0 {
					line += " --role " + r.Name
				}
				lines = append(lines, strings.TrimRight(line+" "+args, " "))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// serveUntilDone serves until ctx ends, which is a regular end.
func (one *offer) serveUntilDone(ctx context.Context, o serveOptions, s *streams) error {
	speaks := one.serving.Speaks != nil && one.serving.Speaks()
	certificate, err := o.checkFlags("--listen", one.role.Serve.NotServer, speaks)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(s.Err, nil))
	at := launch.Place{AllowOrigins: o.origins, Log: log, In: s.In, Out: s.Out, Err: s.Err}
	if speaks || one.role.Serve.NotServer != "" {
		err := one.serving.Run(ctx, at)
		if errors.Is(err, launch.ErrInVain) {
			return exitError{verdict.ExitNonConformant}
		}
		return err
	}
	handler, err := one.serving.Make(at)
	if err != nil {
		return err
	}
	listener, err := listenAt("--listen", o.addr)
	if err != nil {
		return errors.Join(err, handler.Close(ctx))
	}
	scheme := "http"
	if certificate != nil {
		scheme, listener = "https", secureListener(listener, *certificate)
	}
	one.printAddress(s.Out, scheme, listener.Addr(), handler)
	var inside http.Handler = handler
	if !one.role.Serve.Page {
		inside = one.serveWelcome(scheme, listener.Addr(), o.token != "", handler)
	}
	inside = one.serveAsyncAPI(scheme, listener.Addr(), inside)
	guarded := rememberToken(o.token, listener.Addr(), certificate != nil, requireToken(o.token, inside))
	host, _, _ := net.SplitHostPort(o.addr)
	door := web.RequestGuard{AnyName: o.token != "" || !isLoopback(host)}
	server := door.NewServer(logEnds(log, one.role.Serve.Paths, guarded))
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	return serveUntil(ctx, server, listener, handler)
}

// secureListener returns a TLS listener.
func secureListener(l net.Listener, certificate tls.Certificate) net.Listener {
	return tls.NewListener(l, &tls.Config{
		Certificates: []tls.Certificate{certificate},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"http/1.1"}, // a WebSocket is an upgrade of HTTP/1.1
	})
}

// printAddress prints the server's address and the messages of the handler.
func (one *offer) printAddress(w io.Writer, scheme string, at net.Addr, handler launch.Handler) {
	fmt.Fprintf(w, "%s://%s\n", scheme, at)
	for _, e := range one.role.Serve.Announce {
		url := fmt.Sprintf("%s://%s%s", scheme, at, e.Path)
		if e.Method == launch.Socket {
			url = strings.Replace(url, "http", "ws", 1)
		}
		fmt.Fprintln(w, url)
	}
	if t, ok := handler.(launch.StartupReporter); ok {
		for _, line := range t.StartupLines() {
			fmt.Fprintln(w, line)
		}
	}
}

// checkFlags validates the flags of servers, and loads the certificate; nil without one. notServer says why the role is
// not a server, if so; speaks: the offer uses stdin and stdout.
func (o *serveOptions) checkFlags(flag, notServer string, speaks bool) (*tls.Certificate, error) {
	switch {
	case speaks:
		return nil, o.checkDoors("and with --stdio there is no listener (leave it out)", o.listening)
	case notServer != "":
		return nil, o.checkDoors("and "+notServer, false)
	}
	host, _, err := net.SplitHostPort(o.addr)
	if err != nil {
		return nil, usagef("%s: %v (write it like 127.0.0.1:8124)", flag, err)
	}
	withTLS := o.cert != "" || o.key != ""
	switch {
	case withTLS && o.cert == "":
		return nil, usagef("--tls-key: there is no --tls-cert")
	case withTLS && o.key == "":
		return nil, usagef("--tls-cert: there is no --tls-key")
	case !isLoopback(host) && !o.remote && (o.token == "" || !withTLS):
		const mend = "give --token, --tls-cert and --tls-key, or say --allow-remote"
		return nil, usagef("%s %s: other machines could reach it (%s)", flag, o.addr, mend)
	case !withTLS:
		return nil, nil
	}
	pair, err := target.Pair(o.cert, o.key)
	if err != nil {
		return nil, usagef("--tls-%v", err)
	}
	return &pair, nil
}

// checkDoors rejects server flags for an offer that is not a server, with the reason.
func (o *serveOptions) checkDoors(why string, listening bool) error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--listen", listening}, {"--token", o.token != ""}, {"--tls-cert", o.cert != ""}, {"--tls-key", o.key != ""},
		{"--allow-origin", len(o.origins) > 0}, {"--allow-remote", o.remote},
	} {
		if f.given {
			return usagef("%s: applies to servers, %s", f.name, why)
		}
	}
	return nil
}

// isLoopback reports whether a host is reachable from this machine only. The empty host means every address of the
// machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// serveUntil serves until ctx ends, then ends all requests within grace.
func serveUntil(ctx context.Context, server *http.Server, l net.Listener, handler launch.Handler) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	// Streams first: Shutdown waits for requests to end, and streams never would. What does not end in time is cut off.
	err := handler.Close(ctx)
	if server.Shutdown(ctx) != nil {
		err = errors.Join(err, server.Close())
	}
	<-served
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// rememberToken admits a page that was opened with ?token=, although the files it loads and its WebSocket carry no
// token. A client that has shown the token gets a cookie that replaces it until the server ends. The cookie is not a
// copy of the token, since servers on other ports of the same machine see it too. With the cookie, a browser may call
// from the server's own origin, whatever its name. Without a token, remember does nothing.
func rememberToken(token string, at net.Addr, secure bool, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	name, value := "parley", rand.Text()
	if _, port, err := net.SplitHostPort(at.String()); err == nil {
		name += "-" + port
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := requestToken(r)
		if shown == "" {
			if c, err := r.Cookie(name); err == nil && equalSecrets(c.Value, value) {
				r = r.Clone(r.Context())
				r.Header.Set("Authorization", "Bearer "+token)
				if from, err := url.Parse(r.Header.Get("Origin")); err == nil && from.Host == r.Host {
					r.Header.Del("Origin")
				}
			}
		} else if r.URL.Path == "/" && equalSecrets(shown, token) {
			http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, Secure: secure,
				SameSite: http.SameSiteStrictMode})
		}
		next.ServeHTTP(w, r)
	})
}

// equalSecrets compares secrets in constant time.
func equalSecrets(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// asyncAPI is where a server describes its messages. No bundled server has anything else there.
var asyncAPI = launch.Endpoint{Method: http.MethodGet, Path: "/asyncapi.json",
	About: "its messages, as an AsyncAPI document"}

// serveAsyncAPI answers GET /asyncapi.json with the AsyncAPI document of the protocol, at the address that the client
// used; next handles everything else, and that as well if the protocol has no document.
func (one *offer) serveAsyncAPI(scheme string, at net.Addr, next http.Handler) http.Handler {
	if messages.AsyncAPI(one.protocol, at.String(), false) == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != asyncAPI.Path || r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		host := r.Host
		if !plainHost.MatchString(host) {
			host = at.String()
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(messages.AsyncAPI(one.protocol, host, scheme == "https")) // a client that has gone misses it
	})
}

// logEnds logs the end of the connections at the given paths.
func logEnds(log *slog.Logger, sockets []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		next.ServeHTTP(w, r)
		if slices.Contains(sockets, r.URL.Path) {
			after := time.Since(began).Round(time.Millisecond)
			log.Info("connection ended", "path", r.URL.Path, "remote", r.RemoteAddr, "after", after)
		}
	})
}

// requireToken rejects requests without the token. It admits CORS preflights of browsers, which cannot carry one.
func requireToken(token string, next http.Handler) http.Handler {
	return guardWith(token, next, func(w http.ResponseWriter, text string) {
		http.Error(w, text, http.StatusUnauthorized)
	})
}

// guardWith is guard with the answer for requests without the token.
func guardWith(token string, next http.Handler, refuse func(w http.ResponseWriter, text string)) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
		// Comparing digests keeps the timing from revealing the length too.
		got := sha256.Sum256([]byte(requestToken(r)))
		if !preflight && subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Access-Control-Allow-Origin", "*") // any page may learn that it needs a token, but nothing else
			refuse(w, "a token is needed: Authorization: Bearer TOKEN, or ?token=TOKEN")
			return
		}
		next.ServeHTTP(w, withoutToken(r))
	})
}

// requestToken returns the token of a request.
func requestToken(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return r.URL.Query().Get("token")
}

// withoutToken returns a request with its token removed.
func withoutToken(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del("Authorization")
	q := r.URL.Query()
	if q.Has("token") {
		q.Del("token")
		r.URL.RawQuery = q.Encode()
		r.RequestURI = r.URL.RequestURI()
	}
	return r
}
