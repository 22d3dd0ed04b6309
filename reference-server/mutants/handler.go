package mutants

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"parley/reference-server/agentselect"
)

// Server is a faulty server.
type Server interface {
	http.Handler
	Close(ctx context.Context) error // as that of agentselect.Server
}

// Handler returns the mutant of that id. Policy, Inbound and Outbound of the options are replaced.
func Handler(id string, o agentselect.Options) (Server, error) {
	f, ok := faults()[id]
	if !ok {
		return nil, fmt.Errorf("no mutant %q", id)
	}
	return build(f, o)
}

func build(f fault, o agentselect.Options) (Server, error) {
	o.Policy, o.Inbound, o.Outbound = nil, nil, nil
	wrap := f(&o)
	server, err := agentselect.New(o)
	if err != nil {
		return nil, err
	}
	if wrap == nil {
		return server, nil
	}
	return &wrapped{Handler: wrap(server), server: server}, nil
}

type wrapped struct {
	http.Handler
	server *agentselect.Server
}

func (w *wrapped) Close(ctx context.Context) error { return w.server.Close(ctx) }

// registered are the implementations, by subject.
func registered() []map[string]fault {
	return []map[string]fault{
		idFaults, refusalFaults, availableFaults, listFaults, greetingFaults, configFaults, switchedFaults, messageFaults,
		sessionFaults, bindingFaults, defaultFaults, busyFaults, turnFaults, raceFaults, webFaults,
	}
}

// faults are all implementations by id.
func faults() map[string]fault {
	all := map[string]fault{}
	for _, some := range registered() {
		maps.Copy(all, some)
	}
	return all
}
