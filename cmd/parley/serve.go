package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"parley/protocol/agentclient"
	"parley/protocol/agentselect"
	"parley/protocol/externalagent"
	"parley/protocol/sessionchat"
	"parley/protocol/sessionruntime"
	"parley/reference-server/bundled"
	"parley/target"
)

// grace is how long connections and turns may take to end.
const grace = 800 * time.Millisecond

// serveOptions are the flags of parley serve.
type serveOptions struct {
	protocol, role, addr string
	token, cert, key     string
	origins              []string
	insecure             bool

	agents string // of agent-select, and of agent-client, whose page has one beside it

	db, model, modelURL string // of session-chat
	idle                time.Duration

	stdio               bool // of session-runtime
	inputAck, cancelAck time.Duration
	listening           bool // --addr was given

	logs, catalogue string // of external-agent's host
	url, session    string // of its agent
}

func serveCommand(s *streams) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a bundled server, for clients of yours",
		Long: `Serve a bundled server until it is interrupted. Its URL is the first line on stdout; stderr tells of connections and of what
happens on them. Conversations are answered by the model of the suite, which does as the user's text tells it: [[hold N]],
[[tool N name {…}]], [[fail N 500]], [[echo N]] and so on; any other text is answered by "ok".

  agent-select   /events and what belongs to it, and the WebSocket /agents/ws; its own flag is --agents
  agent-client   a page, whose URL is the first, by which people talk to the agent-select server beside it, or to another one; the
                 flags of agent-select are that server's
  session-chat   the WebSocket /chat/ws; its own flags are --db, --idle, --model-url and --model. With --model-url its
                 conversations are answered by a model behind an OpenAI-compatible API; a key that this wants is taken
                 from ` + modelKey + `
  session-runtime the WebSocket /bus/ws, whose URL is the second line on stdout: the client is the message bus. Its own flags are
                 --input-ack, --cancel-ack and --stdio. With --stdio it does not listen: the client is who started it, and
                 each line on stdin and on stdout is one JSON message. It ends with its stdin
  external-agent the WebSocket /agent/ws, whose URL is the second line on stdout, in one of three roles:
                 --role host   a relay with a host that books cinema tickets; the first URL is that of a page which shows a
                               booking, and by which its participant speaks; its own flags are --logs and --catalogue
                 --role relay  a relay alone, which hosts and agents join
                 --role agent  no server, but an agent that books a ticket at --url: stderr tells what it does, stdout what
                               came of it. Exit 0 when it has booked, and 1 when not

With --token every request needs the header "Authorization: Bearer TOKEN", or ?token=TOKEN where a client cannot set headers,
as with EventSource and WebSocket in a browser. An address that other machines can reach needs --token and TLS.`,
		Example: `  parley serve
  parley serve --agents ~/.snow/main-agents.toml --allow-origin null
  parley serve --protocol agent-client
  parley serve --protocol session-chat --db sessions.db --model-url http://localhost:11434/v1 --model llama3.2
  parley serve --protocol session-runtime --input-ack 2s --cancel-ack 2s
  parley serve --protocol session-runtime --stdio
  parley serve --protocol external-agent --logs logs
  parley serve --protocol external-agent --role agent --url ws://127.0.0.1:8124/agent/ws
  parley serve --addr :8443 --token "$TOKEN" --tls-cert cert.pem --tls-key key.pem`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.listening = c.Flags().Changed("addr")
			return serve(c.Context(), o, s)
		},
	}
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", agentselect.Protocol, "`PROTOCOL` to serve")
	f.StringVar(&o.role, "role", "", "`ROLE` to serve in: host, relay or agent (external-agent; default host)")
	f.StringVar(&o.addr, "addr", "127.0.0.1:8124", "`ADDRESS` to listen on; port 0 takes a free one")
	f.StringVar(&o.agents, "agents", "", "TOML `FILE` of custom agents; changes take effect while serving (agent-select,\nagent-client)")
	f.StringVar(&o.db, "db", "", "SQLite `FILE` of the sessions, made where it is missing (session-chat; default in memory)")
	f.DurationVar(&o.idle, "idle", 0, "`DURATION` after which a session that nobody uses leaves memory (session-chat; default 10m)")
	f.StringVar(&o.modelURL, "model-url", "", "base `URL` of the OpenAI-compatible API that answers (session-chat; default the model of the suite)")
	f.StringVar(&o.model, "model", "", "`NAME` of the model that is asked for where a chat names none (session-chat; default default)")
	f.BoolVar(&o.stdio, "stdio", false, "do not listen: speak on stdin and stdout, a JSON message per line (session-runtime)")
	f.DurationVar(&o.inputAck, "input-ack", 0, "`DURATION` after which an INPUT_ACK counts as missing, where the set-up frame gives none\n(session-runtime; default 10s)")
	f.DurationVar(&o.cancelAck, "cancel-ack", 0, "`DURATION` after which a CANCEL_ACK counts as missing, in the same way (session-runtime;\ndefault 10s)")
	f.StringVar(&o.logs, "logs", "", "`DIR` of the study logs, made where it is missing (external-agent; default a temporary one)")
	f.StringVar(&o.catalogue, "catalogue", "", "YAML `FILE` of what is on at the cinema (external-agent; default built in)")
	f.StringVar(&o.url, "url", "", "`URL` of the relay and host that the agent books at (external-agent, role agent)")
	f.StringVar(&o.session, "session", "", "`NAME` of the relay session that the agent joins (external-agent, role agent;\ndefault default)")
	f.StringVar(&o.token, "token", "", "`TOKEN` that every request must carry")
	f.StringVar(&o.cert, "tls-cert", "", "PEM `FILE` of the certificate")
	f.StringVar(&o.key, "tls-key", "", "PEM `FILE` of its key")
	f.StringArrayVar(&o.origins, "allow-origin", nil, "`ORIGIN` of pages that may call, besides loopback ones; may be repeated, null and * are known")
	f.BoolVar(&o.insecure, "insecure", false, "let other machines in without --token or TLS")
	return c
}

// served is how the bundled server of a protocol's role is served.
type served struct {
	make    func(serveOptions, *slog.Logger) (bundled.Handler, error)
	sockets []string // paths of its connections
	told    bool     // the URL of the first of them is told too
	paged   bool     // there is a page at /

	// run is what is done in the place of serving, where it is no server.
	run func(context.Context, serveOptions, *slog.Logger, *streams) error
}

// serving has the bundled servers by protocol and role.
var serving = map[string]map[string]served{
	agentselect.Protocol:    {target.Server: {make: serveAgentSelect, sockets: []string{"/events", "/agents/ws"}}},
	agentclient.Protocol:    {agentclient.Client: {make: serveAgentClient, sockets: []string{"/events", "/agents/ws"}, paged: true}},
	sessionchat.Protocol:    {target.Server: {make: serveSessionChat, sockets: []string{sessionchat.Path}}},
	sessionruntime.Protocol: {target.Server: {make: serveSessionRuntime, sockets: []string{sessionruntime.Path}, told: true}},
	externalagent.Protocol: {
		externalagent.Host:  {make: serveHost, sockets: []string{externalagent.Path}, told: true, paged: true},
		externalagent.Relay: {make: serveRelay, sockets: []string{externalagent.Path}, told: true},
		externalagent.Agent: {run: runAgent},
	},
}

// serve serves until ctx ends, which is its regular end.
func serve(ctx context.Context, o serveOptions, s *streams) error {
	certificate, err := o.check()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(s.Err, nil))
	if o.stdio {
		return speakSessionRuntime(ctx, o, log, s)
	}
	served := serving[o.protocol][o.role]
	if served.run != nil {
		return served.run(ctx, o, log, s)
	}
	o, forget, err := o.withLogs()
	if err != nil {
		return err
	}
	defer forget()
	handler, err := served.make(o, log)
	if err != nil {
		return err
	}
	listener, err := listen(o.addr)
	if err != nil {
		return errors.Join(err, handler.Close(ctx))
	}
	scheme := "http"
	if certificate != nil {
		scheme = "https"
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"http/1.1"}}) // a WebSocket is an upgrade of HTTP/1.1
	}
	served.tell(s.Out, scheme, listener.Addr(), o)
	door := guard(o.token, handler)
	if served.paged {
		door = remember(o.token, listener.Addr(), certificate != nil, door)
	}
	server := &http.Server{Handler: watch(log, served.sockets, door),
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	return serveUntil(ctx, server, listener, handler)
}

// tell tells where the server is, and where it keeps its logs.
func (v served) tell(w io.Writer, scheme string, at net.Addr, o serveOptions) {
	fmt.Fprintf(w, "%s://%s\n", scheme, at)
	if v.told {
		fmt.Fprintf(w, "%s://%s%s\n", strings.Replace(scheme, "http", "ws", 1), at, v.sockets[0])
	}
	if o.logs != "" {
		fmt.Fprintf(w, "logs in %s\n", o.logs)
	}
}

// check tells what is wrong with the flags, and loads the certificate, nil without one. It settles the role.
func (o *serveOptions) check() (*tls.Certificate, error) {
	if err := o.checkProtocol(); err != nil {
		return nil, err
	}
	switch {
	case o.stdio:
		return nil, o.checkDoors("and with --stdio nobody listens (leave it out)")
	case serving[o.protocol][o.role].run != nil:
		return nil, o.checkDoors("and the role " + o.role + " is none (leave it out; a token goes into --url: ?token=TOKEN)")
	}
	host, _, err := net.SplitHostPort(o.addr)
	if err != nil {
		return nil, usagef("--addr: %v (write it like 127.0.0.1:8124)", err)
	}
	withTLS := o.cert != "" || o.key != ""
	switch {
	case withTLS && o.cert == "":
		return nil, usagef("--tls-key: there is no --tls-cert")
	case withTLS && o.key == "":
		return nil, usagef("--tls-cert: there is no --tls-key")
	case !loopback(host) && !o.insecure && (o.token == "" || !withTLS):
		return nil, usagef("--addr %s: other machines could reach it (give --token, --tls-cert and --tls-key, or say --insecure)", o.addr)
	case !withTLS:
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, usagef("--tls-cert, --tls-key: %v", err)
	}
	return &pair, nil
}

// checkProtocol refuses a protocol that no bundled server speaks, and the flags of another one than is served.
func (o *serveOptions) checkProtocol() error {
	if err := knownProtocols([]string{o.protocol}); err != nil {
		return err
	}
	if _, ok := serving[o.protocol]; !ok {
		return usagef("--protocol %s: there is no bundled server of it", o.protocol)
	}
	beside := o.protocol // the server that is served, a page or none beside it
	if beside == agentclient.Protocol {
		beside = agentselect.Protocol
	}
	for _, f := range []struct {
		name, protocol string
		given          bool
	}{
		{"--agents", agentselect.Protocol, o.agents != ""},
		{"--db", sessionchat.Protocol, o.db != ""},
		{"--idle", sessionchat.Protocol, o.idle != 0},
		{"--model", sessionchat.Protocol, o.model != ""},
		{"--model-url", sessionchat.Protocol, o.modelURL != ""},
		{"--stdio", sessionruntime.Protocol, o.stdio},
		{"--input-ack", sessionruntime.Protocol, o.inputAck != 0},
		{"--cancel-ack", sessionruntime.Protocol, o.cancelAck != 0},
		{"--logs", externalagent.Protocol, o.logs != ""},
		{"--catalogue", externalagent.Protocol, o.catalogue != ""},
		{"--url", externalagent.Protocol, o.url != ""},
		{"--session", externalagent.Protocol, o.session != ""},
	} {
		if f.given && f.protocol != beside {
			return usagef("%s: that is for %s, and this is the server of %s (say --protocol %[2]s, or leave it out)",
				f.name, f.protocol, o.protocol)
		}
	}
	return o.checkRole()
}

// checkRole settles the role, and refuses the flags of another one.
func (o *serveOptions) checkRole() error {
	role, err := oneRole(o.protocol, given(o.role))
	if err != nil {
		return err
	}
	o.role = cmp.Or(role, target.Roles(o.protocol)[0])
	for _, f := range []struct {
		name, role string
		given      bool
	}{
		{"--logs", externalagent.Host, o.logs != ""},
		{"--catalogue", externalagent.Host, o.catalogue != ""},
		{"--url", externalagent.Agent, o.url != ""},
		{"--session", externalagent.Agent, o.session != ""},
	} {
		if f.given && f.role != o.role {
			return usagef("%s: that is for the role %s, and this is the role %s (say --role %[2]s, or leave it out)", f.name, f.role, o.role)
		}
	}
	return nil
}

// checkDoors refuses the flags of servers for what is none, and says why it is none.
func (o *serveOptions) checkDoors(why string) error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--addr", o.stdio && o.listening}, {"--token", o.token != ""}, {"--tls-cert", o.cert != ""}, {"--tls-key", o.key != ""},
		{"--allow-origin", len(o.origins) > 0}, {"--insecure", o.insecure},
	} {
		if f.given {
			return usagef("%s: that is for servers, %s", f.name, why)
		}
	}
	return nil
}

// loopback tells whether only this machine reaches a host. The empty host is every address of the machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// listen listens, or tells that the server could not be started.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%s is in use (port 0 takes a free one)", addr)
	}
	return nil, &target.StartError{Command: []string{"parley", "serve"}, Reason: "cannot be started", Err: err}
}

// serveUntil serves until ctx ends, then ends what goes on, within grace.
func serveUntil(ctx context.Context, server *http.Server, l net.Listener, handler bundled.Handler) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	// The streams first: Shutdown waits for requests to end, and those never would. What does not end in time is cut off.
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

// watch logs the end of connections, which are at these paths.
func watch(log *slog.Logger, sockets []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		next.ServeHTTP(w, r)
		if slices.Contains(sockets, r.URL.Path) {
			log.Info("connection ended", "path", r.URL.Path, "remote", r.RemoteAddr, "after", time.Since(began).Round(time.Millisecond))
		}
	})
}

// guard lets nobody in without the token. Preflights of browsers, which can carry none, are let through.
func guard(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
		// Digests are compared, so that the time tells nothing of the length either.
		got := sha256.Sum256([]byte(carried(r)))
		if !preflight && subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a token is needed: Authorization: Bearer TOKEN, or ?token=TOKEN", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, withoutToken(r))
	})
}

// carried is the token that a request carries.
func carried(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return r.URL.Query().Get("token")
}

// withoutToken is a request that no longer shows its token to anybody.
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
