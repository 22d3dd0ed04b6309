package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"parley/internal/stall"
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/target"
)

// agentProbe starts an agent, lets it book at the bundled host, and breaks off its first connection to see whether it comes
// back.
type agentProbe struct {
	notebook
	profile *target.Profile // what is found out goes into it
	run     target.Running
	frames  chan frame
	broken  bool // its connection was broken off; guarded by the relay's lock
}

// frame is what a probe looks at in an agent's message.
type frame struct {
	Type    string     `json:"type"`
	Payload proto.Join `json:"payload"`
}

// all watches the agent. Whatever it does not do in time is told.
func (p *agentProbe) all(ctx context.Context) error {
	p.frames = make(chan frame, 1000)
	server, url, err := p.serve()
	if err != nil {
		return err
	}
	defer server()
	caller, ok := p.run.(target.Caller)
	if !ok {
		return errors.New("the target cannot be called: it is no agent")
	}
	session := "parley-init-" + rand.Text()[:8]
	called, err := caller.Call(ctx, target.CallOptions{URL: url, Session: session})
	if err != nil {
		return err
	}
	defer within(5*time.Second, called.Stop)
	p.watch(ctx, called, session)
	return nil
}

// watch follows what the agent does.
func (p *agentProbe) watch(ctx context.Context, called target.Called, session string) {
	times := p.profile.ExternalAgent.Agent
	first, why := p.next(ctx, called, times.Join, "")
	switch {
	case first.Type == "":
		p.note("agent", "it does not connect and say something: %s", why)
		return
	case first.Type != proto.RelayJoin:
		p.note("agent", "it connects, and begins with %q in the place of relay.join", first.Type)
		return
	}
	p.note("agent", "it connects, and joins as %q", first.Payload.Role)
	if got := first.Payload.SessionID; got != session {
		p.note("session", "it joins the relay session %q, whatever it is told", got)
		p.profile.ExternalAgent.Session = got
	} else {
		p.note("session", "it joins the relay session that it is told")
		p.profile.ExternalAgent.Session = "s-{nonce}"
	}
	if call, why := p.next(ctx, called, times.Pace, proto.ToolCall); call.Type == "" {
		p.note("agent", "it does not call a tool of the bundled host: %s", why)
		return
	}
	p.note("agent", "it calls tools of the bundled host")
	if again, why := p.next(ctx, called, times.Join, proto.RelayJoin); again.Type == "" {
		p.note("reconnect", "its connection was broken off, and it did not come back: %s", why)
		return
	}
	p.note("reconnect", "its connection was broken off, and it came back")
	p.profile.Capabilities = []string{target.Reconnect}
}

// next waits for a message of a type, "" for any; or says why none came.
func (p *agentProbe) next(ctx context.Context, called target.Called, limit target.Duration, kind string) (frame, string) {
	late, cancel := stall.WithLimit(ctx, limit.Duration)
	defer func() { cancel() }()
	gone := called.Exited()
	for {
		select {
		case f := <-p.frames:
			if kind == "" || f.Type == kind {
				return f, ""
			}
		case <-gone:
			gone = nil
			cancel()
			late, cancel = stall.WithLimit(ctx, min(limit.Duration, 200*time.Millisecond)) // for what is still on its way
		case <-late.Done():
			if ctx.Err() != nil {
				return frame{}, "interrupted"
			}
			if called.Exited() != nil && gone == nil {
				return frame{}, strings.TrimRight(fmt.Sprintf("its process has ended, %v; %s", called.ExitErr(), shorten(called.Stderr())), "; ")
			}
			return frame{}, fmt.Sprintf("nothing of the kind within %v", limit)
		}
	}
}

// serve serves the bundled relay and host for the agent. The returned function ends that.
func (p *agentProbe) serve() (end func(), url string, err error) {
	handler, err := externalagent.New(externalagent.Options{Relay: relay.Options{Inbound: p.see}})
	if err != nil {
		return nil, "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		within(time.Second, handler.Close)
		return nil, "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	return func() {
		within(2*time.Second, handler.Close)
		_ = server.Close()
		<-served
	}, "ws://" + l.Addr().String() + p.profile.ExternalAgent.WS.Path, nil
}

// see is the relay's Inbound: it tells of what the agent sends, and breaks off the connection at its first call.
func (p *agentProbe) see(r relay.Relay, from relay.Party, f relay.Frame) []relay.Frame {
	if from.Attached {
		return []relay.Frame{f}
	}
	var seen frame
	if json.Unmarshal(f.Data, &seen) != nil {
		seen = frame{Type: "what is no envelope"}
	}
	select {
	case p.frames <- seen:
	default: // it says more than anybody reads
	}
	if seen.Type == proto.ToolCall && !p.broken {
		p.broken = true
		r.End(from.Conn, websocket.CloseError{Code: websocket.StatusGoingAway, Reason: "parley init"})
		return nil
	}
	return []relay.Frame{f}
}
