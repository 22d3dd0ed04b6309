package bundled

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"parley/model/openai"
	booking "parley/protocol/externalagent"
	proto "parley/protocol/sessionchat"
	bus "parley/protocol/sessionruntime"
	"parley/reference-server/sessionchat"
)

// The environment by which a launcher tells this program that it is to be a bundled server. PARLEY_PORT and
// PARLEY_MODEL_URL come from package target.
const (
	childServer = "PARLEY_BUNDLED"       // the protocol
	childDB     = "PARLEY_BUNDLED_DB"    // file of the sessions
	childFault  = "PARLEY_BUNDLED_FAULT" // id of a mutant
	childRole   = "PARLEY_BUNDLED_ROLE"  // of external-agent
	childLogs   = "PARLEY_BUNDLED_LOGS"  // folder of its logs
)

// Child makes this process the bundled server that a launcher has started it as, and ends it; in any other process it
// returns at once. Every program that judges the bundled targets calls it first, tests in TestMain.
func Child() {
	switch os.Getenv(childServer) {
	case "":
		return
	case proto.Protocol:
		end(serveChat)
	case booking.Protocol:
		end(serveBooking)
	case bus.Protocol:
		end(serveRuntime)
	}
	fmt.Fprintf(os.Stderr, "%s: no bundled server of %q\n", childServer, os.Getenv(childServer))
	os.Exit(2)
}

// end serves, and ends the process.
func end(serve func() error) {
	if err := serve(); err != nil {
		fmt.Fprintf(os.Stderr, "bundled %s: %v\n", os.Getenv(childServer), err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveChat serves session-chat.
func serveChat() error {
	o := sessionchat.Options{
		DB: os.Getenv(childDB), Unsynced: true, Idle: idleOf(os.Getenv(childFault)), Limits: chatLimits,
		Backend: openai.New(os.Getenv("PARLEY_MODEL_URL")+"/v1", ""),
	}
	handler, err := chatHandler(os.Getenv(childFault), o)
	if err != nil {
		return err
	}
	return serve(handler)
}

// serveBooking serves a relay, or relay and host.
func serveBooking() error {
	handler, err := bookingHandler(os.Getenv(childRole), os.Getenv(childFault), os.Getenv(childLogs))
	if err != nil {
		return err
	}
	return serve(handler)
}

// serve serves until the process is told to end, and then closes in order.
func serve(handler Handler) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PARLEY_PORT"))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: unhurried}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err = handler.Close(grace)
	_ = server.Close()
	<-served
	return err
}

// chatHandler makes the correct server, or one with a fault.
func chatHandler(fault string, o sessionchat.Options) (Handler, error) {
	if fault != "" {
		return faultyChat(fault, o)
	}
	return sessionchat.New(o)
}
