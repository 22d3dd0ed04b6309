// Command reference-server serves the bundled agent-select target alone, to be tried by hand or tested like any other.
//
//	reference-server --addr 127.0.0.1:8124 --agents ~/.snow/main-agents.toml
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
	"os"
	"os/signal"
	"syscall"
	"time"

	"parley/reference-server/agentselect"
)

// grace is how long streams and turns may take to end.
const grace = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := Run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "reference-server:", err)
		os.Exit(1)
	}
}

// Run serves until ctx ends. The first line on stdout is the URL.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("reference-server", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8124", "address to listen on; port 0 takes a free one")
	agents := flags.String("agents", "", "TOML file of custom agents; changes take effect while serving")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := onLoopback(*addr); err != nil {
		return err
	}
	handler, err := agentselect.New(agentselect.Options{
		AgentsFile: *agents,
		Logger:     slog.New(slog.NewTextHandler(stderr, nil)),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "http://%s\n", listener.Addr())
	return serve(ctx, listener, handler)
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

func serve(ctx context.Context, listener net.Listener, handler *agentselect.Server) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	// The streams first: Shutdown waits for requests to end, and those never would.
	err := errors.Join(handler.Close(ctx), server.Shutdown(ctx))
	<-served
	return err
}
