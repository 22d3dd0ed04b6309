package probe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"parley/internal/deadline"
	proto "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
	"parley/steps/probe"
	"parley/target"
)

// watch starts an agent, lets it book at the bundled host, and drops its first connection to see whether it
// reconnects.
type watch struct {
	*inquiry
	frames chan frame
	broken atomic.Bool // its connection was dropped
}

// frame is the part of an agent's message that a probe reads.
type frame struct {
	Type    string     `json:"type"`
	Payload proto.Join `json:"payload"`
}

// all watches the agent. What it does not do in time is noted.
func (p *watch) all(ctx context.Context) error {
	p.frames = make(chan frame, 1000)
	server, url, err := p.serve(ctx)
	if err != nil {
		return err
	}
	defer server()
	caller, ok := p.Target.(target.Caller)
	if !ok {
		return errors.New("the target cannot be called: it is not an agent")
	}
	session := "parley-init-" + rand.Text()[:8]
	called, err := caller.Call(ctx, target.CallOptions{URL: url, Session: session})
	if err != nil {
		return err
	}
	defer within(5*time.Second, called.Stop)
	p.follow(ctx, called, session)
	return nil
}

// follow notes what the agent does.
func (p *watch) follow(ctx context.Context, called target.Called, session string) {
	times := p.wire().Agent
	first, why := p.next(ctx, called, times.Join, "")
	switch {
	case first.Type == "":
		p.Note("agent", "it did not connect and send a message: %s", why)
		return
	case first.Type != proto.RelayJoin:
		p.Note("agent", "it connects, but sends %q first instead of relay.join", first.Type)
		return
	}
	p.Note("agent", "it connects, and joins as %q", first.Payload.Role)
	if got := first.Payload.SessionID; got != session {
		p.Note("session", "it joins the relay session %q, regardless of the one that it is given", got)
		p.wire().Session = got
	} else {
		p.Note("session", "it joins the relay session that it is given")
		p.wire().Session = "s-{nonce}"
	}
	if call, why := p.next(ctx, called, times.Pace, proto.ToolCall); call.Type == "" {
		p.Note("agent", "it does not call a tool of the bundled host: %s", why)
		p.Note("reconnect", "whether it reconnects was not tried, as that follows a call; if it does, add reconnect to "+
			"capabilities")
		return
	}
	p.Note("agent", "it calls tools of the bundled host")
	if again, why := p.next(ctx, called, times.Join, proto.RelayJoin); again.Type == "" {
		p.Note("reconnect", "its connection was cut, and it did not reconnect: %s", why)
		return
	}
	p.Note("reconnect", "its connection was cut, and it reconnected")
	p.Profile.Capabilities = []string{binding.Reconnect}
}

// next waits for a message of a type, or any for "". Otherwise it says why none came.
func (p *watch) next(ctx context.Context, called target.Called, limit target.Duration, kind string) (frame, string) {
	late, cancel := deadline.WithLimit(ctx, limit.Duration)
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
			late, cancel = deadline.WithLimit(ctx, min(limit.Duration, 200*time.Millisecond)) // for messages in transit
		case <-late.Done():
			if ctx.Err() != nil {
				return frame{}, "interrupted"
			}
			if called.Exited() != nil && gone == nil {
				why := fmt.Sprintf("its process has ended, %v; %s", called.ExitErr(), probe.Shorten(called.Stderr()))
				return frame{}, strings.TrimRight(why, "; ")
			}
			return frame{}, fmt.Sprintf("no such message within %v", limit)
		}
	}
}

// serve starts the host for the agent and a proxy between the two. The returned function stops both.
func (p *watch) serve(ctx context.Context) (end func(), url string, err error) {
	if p.Counterpart == nil {
		return nil, "", errors.New("this build has no bundled host for the agent")
	}
	host, err := p.Counterpart.Launch(ctx, target.LaunchOptions{})
	if err != nil {
		return nil, "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		within(time.Second, host.Stop)
		return nil, "", err
	}
	to := "ws" + strings.TrimPrefix(host.BaseURL(), "http")
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.between(w, r, to+r.URL.RequestURI()) })}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	return func() {
		within(2*time.Second, host.Stop)
		_ = server.Close()
		<-served
	}, "ws://" + l.Addr().String() + p.wire().WS.Path, nil
}

// between proxies the messages between an agent and the host until one of them ends.
func (p *watch) between(w http.ResponseWriter, r *http.Request, to string) {
	agent, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer agent.CloseNow()
	host, _, err := websocket.Dial(r.Context(), to, nil)
	if err != nil {
		return
	}
	defer host.CloseNow()
	agent.SetReadLimit(int64(p.Profile.Limits.MaxEvent))
	host.SetReadLimit(-1)
	go func() {
		defer agent.CloseNow()
		for {
			kind, data, err := host.Read(r.Context())
			if err != nil || agent.Write(r.Context(), kind, data) != nil {
				return
			}
		}
	}()
	for {
		kind, data, err := agent.Read(r.Context())
		if err != nil {
			return
		}
		if p.breaksOff(data) {
			_ = agent.Close(websocket.StatusGoingAway, "parley init")
			return
		}
		if host.Write(r.Context(), kind, data) != nil {
			return
		}
	}
}

// breaksOff notes what the agent sends, and reports whether to drop its connection now: at its first call.
func (p *watch) breaksOff(data []byte) bool {
	var seen frame
	if json.Unmarshal(data, &seen) != nil {
		seen = frame{Type: "an invalid envelope"}
	}
	select {
	case p.frames <- seen:
	default: // the agent sends more than is read
	}
	return seen.Type == proto.ToolCall && !p.broken.Swap(true)
}

// within calls end with a time limit.
func within(limit time.Duration, end func(context.Context) error) {
	ctx, cancel := deadline.WithLimit(context.Background(), limit)
	defer cancel()
	_ = end(ctx)
}
