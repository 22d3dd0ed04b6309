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
func sized(bytes int) string { return hostMessage(strings.Repeat("x", bytes-len(hostMessage("")))) }

func TestFrameLimit(t *testing.T) {
	both(t, func(_ *testing.T, b *bench, join func(role, session string) *party) {
		host, agent := join("host", "s"), join("agent", "s")
		largest := sized(int(DefaultLimits.Frame))
		host.send(largest)
		agent.wantMessage(largest)
		_ = host.Write(b.t.Context(), []byte(largest+" "))
		host.wantEnd(websocket.StatusMessageTooBig)
		_ = host.Close()
		b.awaitLeft(1)
		agent.send(agentRequest("i"))
		agent.wantRefusal("i", proto.SessionNotActive)
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
			b := startServer(t, Options{Limits: limits})
			host, slow, agent := b.join("host", "s"), b.join("agent", "s"), b.join("agent", "s")
			frame := sized(64 << 10)
			for n := 0; len(b.server.allConnections()) == 3; n++ {
				host.send(frame)
				agent.wantMessage(frame)
			}
			agent.send(agentRequest("q"))
			host.wantMessage(agentRequest("q"))
			_ = slow.ws.CloseNow()
		})
	}
}

// A host that does not read leaves its agents like any other host.
func TestSlowHost(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{QueueBytes: 100 << 10}})
	host, agent := b.attach("host", "s"), b.join("agent", "s")
	large := strings.Replace(agentRequest("q"), "{}", `{"text":"`+strings.Repeat("x", 10<<10)+`"}`, 1)
	for range 10 {
		agent.send(large)
	}
	for range 10 {
		agent.wantRefusal("q", proto.SessionNotActive)
	}
	b.awaitLeft(1)
	if _, err := host.Read(t.Context()); !errors.Is(err, connection.ErrSlow) {
		t.Errorf("read: %v", err)
	}
	if err := host.Write(t.Context(), []byte(hostMessage("x"))); !errors.Is(err, connection.ErrSlow) {
		t.Errorf("write: %v", err)
	}
	agent.wantNothing()
}

func TestTooManyConnections(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{Connections: 2}})
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
	b.awaitLeft(1)
	b.join("agent", "s").wantNothing()
}

func TestTooManySessions(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{Sessions: 2, Agents: 2}})
	first, _ := b.join("agent", "a"), b.join("host", "b")
	b.join("agent", "a")
	p := b.dial()
	for _, j := range []object{joining("j", "agent", "c"), joining("j", "host", "c"), joining("j", "agent", "a")} {
		p.send(j)
		p.wantRefusal("j", proto.SessionNotActive)
	}
	_ = first.Close()
	b.awaitLeft(3)
	p.send(joining("j", "agent", "a"))
	p.wantMessage(joined("j", "agent", "a"))
}

func TestClose(t *testing.T) {
	both(t, func(t *testing.T, b *bench, join func(role, session string) *party) {
		host, agent := join("host", "s"), join("agent", "s")
		host.send(hostMessage("last"))
		host.wantNothing()
		done := make(chan struct{})
		go func() { defer close(done); b.close() }()
		agent.wantMessage(hostMessage("last"))
		agent.wantEnd(websocket.StatusGoingAway)
		host.wantEnd(websocket.StatusGoingAway)
		<-done
		if _, err := b.server.Attach("s", "host"); !errors.Is(err, errEnding) {
			t.Errorf("attach: %v", err)
		}
	})
}

// Close with a canceled context returns an error without waiting for OnAgent.
func TestCloseInHaste(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	b := startServer(t, Options{OnAgent: func(string) { close(entered); <-release }})
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
	b := startServer(t, Options{OnAgent: func(string) { close(entered); <-release }})
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
	p.wantMessage(joined("j", "agent", "s"))
}

// waiting returns the connections once there are n.
func (s *Server) waiting(t *testing.T, n int) []*conn {
	t.Helper()
	(&bench{t: t, server: s}).awaitLeft(n)
	return s.allConnections()
}
