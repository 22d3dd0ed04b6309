// Command reference-server serves a bundled target alone, to be tried by hand or tested like any other.
//
//	reference-server --addr 127.0.0.1:8124 --agents ~/.snow/main-agents.toml
//	reference-server --protocol session-chat --db sessions.db --model-url http://127.0.0.1:11434/v1
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"parley/model/openai"
	selectproto "parley/protocol/agentselect"
	chatproto "parley/protocol/sessionchat"
	"parley/reference-server/agentselect"
	"parley/reference-server/sessionchat"
)

// grace is how long streams and turns may take to end.
const grace = 5 * time.Second

// modelKey is the environment variable of the key that --model-url may want. It has a name of its own, so that no key meant
// for somebody else is sent there.
const modelKey = "PARLEY_MODEL_KEY"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := Run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "reference-server:", err)
		os.Exit(1)
	}
}

// config is what the command line says.
type config struct {
	addr, protocol string
	agents         string        // of agent-select
	db, modelURL   string        // of session-chat
	idle           time.Duration // of session-chat
}

// Run serves until ctx ends. The first line on stdout is the URL.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	handler, err := c.server(slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		return errors.Join(err, handler.Close(ctx))
	}
	fmt.Fprintf(stdout, "http://%s\n", listener.Addr())
	return serve(ctx, listener, handler)
}

// parse reads the command line. A flag of one protocol is an error with the other.
func parse(args []string, stderr io.Writer) (c config, err error) {
	flags := flag.NewFlagSet("reference-server", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.addr, "addr", "127.0.0.1:8124", "address to listen on; port 0 takes a free one")
	flags.StringVar(&c.protocol, "protocol", selectproto.Protocol, "agent-select or session-chat")
	flags.StringVar(&c.agents, "agents", "", "agent-select: TOML file of custom agents; changes take effect while serving")
	flags.StringVar(&c.db, "db", "", "session-chat: `file` of the sessions; in memory without it")
	flags.DurationVar(&c.idle, "idle", 10*time.Minute, "session-chat: a session that nobody used for so long leaves memory")
	flags.StringVar(&c.modelURL, "model-url", "", "session-chat: base `URL` of an OpenAI-compatible model, such as "+
		"http://127.0.0.1:9/v1, with its key in "+modelKey+"; the built-in brain answers without it")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q: there are flags only", flags.Arg(0))
	}
	owner := map[string]string{
		"agents": selectproto.Protocol,
		"db":     chatproto.Protocol, "idle": chatproto.Protocol, "model-url": chatproto.Protocol,
	}
	flags.Visit(func(f *flag.Flag) {
		if f.Value.String() == "" {
			err = errors.Join(err, fmt.Errorf("--%s is empty: give it a value, or leave it out", f.Name))
		}
		if of := owner[f.Name]; of != "" && of != c.protocol {
			err = errors.Join(err, fmt.Errorf("--%s is for --protocol %s", f.Name, of))
		}
	})
	if c.idle <= 0 {
		err = errors.Join(err, fmt.Errorf("--idle %v is not more than nothing: write it like 30s or 10m", c.idle))
	}
	return c, errors.Join(err, onLoopback(c.addr), isHTTP(c.modelURL))
}

// isHTTP refuses what is no base URL; "" is none.
func isHTTP(base string) error {
	u, err := url.Parse(base)
	if base == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	return fmt.Errorf("--model-url %q is no http URL: write it like http://127.0.0.1:9/v1", base)
}

// server is a bundled server.
type server interface {
	http.Handler
	Close(ctx context.Context) error
}

func (c config) server(log *slog.Logger) (server, error) {
	switch c.protocol {
	case selectproto.Protocol:
		return agentselect.New(agentselect.Options{AgentsFile: c.agents, Logger: log})
	case chatproto.Protocol:
		return c.chatServer(log)
	}
	return nil, fmt.Errorf("--protocol %q: there are %s and %s", c.protocol, selectproto.Protocol, chatproto.Protocol)
}

func (c config) chatServer(log *slog.Logger) (server, error) {
	o := sessionchat.Options{DB: c.db, Idle: c.idle, Logger: log}
	if c.modelURL == "" {
		return sessionchat.New(o)
	}
	client := openai.New(c.modelURL, os.Getenv(modelKey))
	o.Backend = client
	s, err := sessionchat.New(o)
	return withModel{s, client}, err
}

// withModel is a server that asks a model elsewhere.
type withModel struct {
	server
	client *openai.Client
}

func (w withModel) Close(ctx context.Context) error {
	defer w.client.Close()
	return w.server.Close(ctx)
}

// onLoopback refuses an address that other machines could reach: this server asks nobody who they are.
func onLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--addr %s is no loopback address; parley serve listens wider, with a token and TLS", addr)
	}
	return nil
}

func serve(ctx context.Context, listener net.Listener, handler server) error {
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	var failed error
	stopped := false
	select {
	case failed = <-served:
		stopped = true
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	// The streams first: Shutdown waits for requests to end, and those never would.
	err := errors.Join(failed, handler.Close(ctx), web.Shutdown(ctx))
	if !stopped {
		<-served
	}
	return err
}
