package relay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/connection"
)

// sized returns a host's envelope of the given number of bytes.
func sized(bytes int) string { return push(strings.Repeat("x", bytes-len(push("")))) }

func TestFrameLimit(t *testing.T) {
	both(t, func(_ *testing.T, b *bench, join func(role, session string) *party) {
		host, agent := join("host", "s"), join("agent", "s")
		largest := sized(int(DefaultLimits.Frame))
		host.send(largest)
		agent.want(largest)
		_ = host.Write(b.t.Context(), []byte(largest+" "))
		host.ended(websocket.StatusMessageTooBig)
		_ = host.Close()
		b.left(1)
		agent.send(ask("i"))
		agent.refused("i", proto.SessionNotActive)
	})
}

// A party that does not read is dropped without delaying any other party.
func TestSlowReader(t *testing.T) {
	for name, limits := range map[string]Limits{
		"frames": {Queue: 64},
		"bytes":  {QueueBytes: 1 << 20},
		"write":  {Write: 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, Options{Limits: limits})
			host, slow, agent := b.join("host", "s"), b.join("agent", "s"), b.join("agent", "s")
			frame := sized(64 << 10)
			for n := 0; len(b.server.allConnections()) == 3; n++ {
				host.send(frame)
				agent.want(frame)
			}
			agent.send(ask("q"))
			host.want(ask("q"))
			_ = slow.ws.CloseNow()
		})
	}
}

// A host that does not read leaves its agents like any other host.
func TestSlowHost(t *testing.T) {
	b := start(t, Options{Limits: Limits{QueueBytes: 100 << 10}})
	host, agent := b.attach("host", "s"), b.join("agent", "s")
	large := strings.Replace(ask("q"), "{}", `{"text":"`+strings.Repeat("x", 10<<10)+`"}`, 1)
	for range 10 {
		agent.send(large)
	}
	for range 10 {
		agent.refused("q", proto.SessionNotActive)
	}
	b.left(1)
	if _, err := host.Read(t.Context()); !errors.Is(err, connection.ErrSlow) {
		t.Errorf("read: %v", err)
	}
	if err := host.Write(t.Context(), []byte(push("x"))); !errors.Is(err, connection.ErrSlow) {
		t.Errorf("write: %v", err)
	}
	agent.quiet()
}

func TestTooManyConnections(t *testing.T) {
	b := start(t, Options{Limits: Limits{Connections: 2}})
	p := b.dial()
	b.attach("host", "s")
	_, res, err := websocket.Dial(t.Context(), b.url+proto.Path, &websocket.DialOptions{HTTPClient: b.http})
	if err == nil || res == nil || res.StatusCode != 503 {
		t.Errorf("third: %v, %v", res, err)
	}
	if _, err := b.server.Attach("s", "agent"); !errors.Is(err, connection.ErrMany) {
		t.Errorf("attach: %v", err)
	}
	_ = p.Close()
	b.left(1)
	b.join("agent", "s").quiet()
}

func TestTooManySessions(t *testing.T) {
	b := start(t, Options{Limits: Limits{Sessions: 2, Agents: 2}})
	first, _ := b.join("agent", "a"), b.join("host", "b")
	b.join("agent", "a")
	p := b.dial()
	for _, j := range []object{joining("j", "agent", "c"), joining("j", "host", "c"), joining("j", "agent", "a")} {
		p.send(j)
		p.refused("j", proto.SessionNotActive)
	}
	_ = first.Close()
	b.left(3)
	p.send(joining("j", "agent", "a"))
	p.want(joined("j", "agent", "a"))
}

func TestClose(t *testing.T) {
	both(t, func(t *testing.T, b *bench, join func(role, session string) *party) {
		host, agent := join("host", "s"), join("agent", "s")
		host.send(push("last"))
		host.quiet()
		done := make(chan struct{})
		go func() { defer close(done); b.close() }()
		agent.want(push("last"))
		agent.ended(websocket.StatusGoingAway)
		host.ended(websocket.StatusGoingAway)
		<-done
		if _, err := b.server.Attach("s", "host"); !errors.Is(err, errEnding) {
			t.Errorf("attach: %v", err)
		}
	})
}

// Close with a canceled context returns an error without waiting for OnAgent.
func TestCloseInHaste(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	b := start(t, Options{OnAgent: func(string) { close(entered); <-release }})
	p := b.dial()
	p.send(joining("j", "agent", "s"))
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.server.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	close(release)
	b.close()
}

// An agent that leaves while waiting at the gate leaves no trace.
func TestLeavesWhileJoining(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	b := start(t, Options{OnAgent: func(string) { close(entered); <-release }})
	p := b.dial()
	p.send(joining("j", "agent", "s"))
	<-entered
	joins := make(chan error, 1)
	go func() {
		_, err := b.server.Attach("s", "agent")
		joins <- err
	}()
	for _, c := range b.server.waiting(t, 2) {
		if c.party.Attached {
			c.End(connection.ErrEnded)
		}
	}
	if err := <-joins; err == nil {
		t.Error("it has joined")
	}
	close(release)
	p.want(joined("j", "agent", "s"))
}

// waiting returns the connections once there are n.
func (s *Server) waiting(t *testing.T, n int) []*conn {
	t.Helper()
	(&bench{t: t, server: s}).left(n)
	return s.allConnections()
}
