package mutants

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"net/http"

	"parley/reference-server/agentselect"
	"parley/reference-server/catalogue"
)

// Mutant is a row of the catalogue.
type Mutant = catalogue.Mutant

//go:embed catalogue.yaml
var catalogueYAML []byte

var rows = catalogue.Reader(catalogueYAML)

// All returns the catalogue, in its order.
func All() []Mutant { return rows() }

//go:embed load.yaml
var loadYAML []byte

var underLoad = catalogue.New(loadYAML, loadFaults)

// Load returns the catalogue of the faults that only a load shows, in its order.
func Load() []Mutant { return underLoad.All() }

// Server is a faulty server.
type Server interface {
	http.Handler
	Close(ctx context.Context) error // as for agentselect.Server
}

// Handler returns the mutant with that id. It replaces Policy, Inbound and Outbound of the options.
func Handler(id string, o agentselect.Options) (Server, error) {
	f, ok := faults()[id]
	if one := loadFaults[id]; one != nil {
		f, ok = one, true
	}
	if !ok {
		return nil, fmt.Errorf("no mutant %q", id)
	}
	return build(f, o)
}

func build(f fault, o agentselect.Options) (Server, error) {
	o.Policy, o.Inbound, o.Outbound = rules{}, nil, nil
	own := options{Options: o}
	f(&own)
	server, err := agentselect.New(own.Options)
	if err != nil {
		return nil, err
	}
	if own.wrap == nil {
		return server, nil
	}
	return &wrapped{Server: server, handler: own.wrap(server)}, nil
}

// wrapped is a server behind a faulty handler.
type wrapped struct {
	*agentselect.Server
	handler http.Handler
}

func (w *wrapped) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.handler.ServeHTTP(rw, r) }

// registered returns the implementations by subject.
func registered() []map[string]fault {
	return []map[string]fault{
		idFaults, refusalFaults, availableFaults, listFaults, greetingFaults, configFaults, switchedFaults, messageFaults,
		sessionFaults, bindingFaults, defaultFaults, busyFaults, turnFaults, raceFaults, webFaults,
		cutFaults, leftoverFaults, endingFaults,
	}
}

// faults returns all implementations by id.
func faults() map[string]fault {
	all := map[string]fault{}
	for _, some := range registered() {
		maps.Copy(all, some)
	}
	return all
}
