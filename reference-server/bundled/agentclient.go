package bundled

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"

	proto "parley/protocol/agentclient"
	"parley/reference-server/agentclient"
	"parley/target"
)

// agentClientProfile describes the bundled page.
func agentClientProfile() *target.Profile {
	p := target.DefaultFor(proto.Protocol)
	p.Name = "bundled agent-client"
	Unhurry(&p.Limits)
	p.Capabilities = []string{target.SessionList}
	// It has a field for the server's address too. To type there takes a twentieth of the suite's time.
	p.AgentClient.Server.Parameter, p.AgentClient.Hooks.ServerURL = "server", ""
	return p
}

// PageLauncher serves bundled pages.
type PageLauncher struct {
	Patch func(name string, body []byte) []byte // of a mutant; nil: the correct page
}

// Private implements target.Launcher: each launch is a server of its own.
func (l *PageLauncher) Private() bool { return true }

// Launch implements target.Launcher.
func (l *PageLauncher) Launch(context.Context, target.LaunchOptions) (target.Running, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the bundled page: %w", err)
	}
	s := &pageServer{url: "http://" + ln.Addr().String(), served: make(chan error, 1),
		http: &http.Server{Handler: agentclient.New(agentclient.Options{Patch: l.Patch}), ReadHeaderTimeout: unhurried}}
	go func() { s.served <- s.http.Serve(ln) }()
	return s, nil
}

// pageServer is one bundled page.
type pageServer struct {
	inProcess
	http    *http.Server
	url     string
	served  chan error
	once    sync.Once
	stopped error
}

// BaseURL implements target.Running.
func (s *pageServer) BaseURL() string { return s.url }

// Stop implements target.Running.
func (s *pageServer) Stop(context.Context) error {
	s.once.Do(func() {
		s.stopped = s.http.Close()
		<-s.served
	})
	return s.stopped
}
