package main

import (
	"log/slog"
	"net/http"

	"parley/reference-server/agentclient"
	"parley/reference-server/bundled"
)

// besidePage is a server of agent-select with the page of agent-client at the same origin. The paths of the page are its own.
type besidePage struct {
	bundled.Handler // the server
	page            *agentclient.Page
}

// serveAgentClient makes the bundled page, and the bundled agent-select server that it talks to.
func serveAgentClient(o serveOptions, log *slog.Logger) (bundled.Handler, error) {
	h, err := serveAgentSelect(o, log)
	if err != nil {
		return nil, err
	}
	return besidePage{h, agentclient.New(agentclient.Options{})}, nil
}

// ServeHTTP implements http.Handler.
func (b besidePage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.page.Has(r.URL.Path) {
		b.page.ServeHTTP(w, r)
		return
	}
	b.Handler.ServeHTTP(w, r)
}
