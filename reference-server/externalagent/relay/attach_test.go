package relay

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	proto "parley/protocol/externalagent"
)

func TestAttachRefused(t *testing.T) {
	b := startServer(t, Options{})
	for reason, join := range map[string][2]string{
		"no session":     {"", "host"},
		"no role":        {"s", ""},
		"another role":   {"s", "relay"},
		"a long session": {strings.Repeat("x", MaxSessionID+1), "host"},
		"no UTF-8":       {"\xff", "host"},
	} {
		if c, err := b.server.Attach(join[0], join[1]); c != nil || err == nil || !strings.Contains(err.Error(),
			proto.InvalidMessage) {
			t.Errorf("%s: %v, %v", reason, c, err)
		}
	}
	b.server.empty(t)
}

// The caller keeps ownership of its slices.
func TestAttachedSlices(t *testing.T) {
	b := startServer(t, Options{})
	host, a1, a2 := b.attach("host", "s"), b.attach("agent", "s"), b.attach("agent", "s")
	frame := []byte(hostMessage("abc"))
	if err := host.Write(t.Context(), frame); err != nil {
		t.Fatal(err)
	}
	clear(frame)
	got, err := a1.Read(t.Context())
	if err != nil || string(got) != hostMessage("abc") {
		t.Fatalf("got %s (%v)", got, err)
	}
	clear(got)
	a2.wantMessage(hostMessage("abc"))
}

// A canceled context ends a call but not the connection.
func TestAttachedContext(t *testing.T) {
	b := startServer(t, Options{})
	host, agent := b.attach("host", "s"), b.join("agent", "s")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := host.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	if err := host.Write(ctx, []byte(hostMessage("x"))); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
	host.send(hostMessage("y"))
	agent.wantMessage(hostMessage("y"))
}

// Close wakes a reader, drops queued frames, and has told all parties when it returns; a second call does nothing.
func TestAttachedClose(t *testing.T) {
	b := startServer(t, Options{})
	host, idle, agent := b.attach("host", "s"), b.attach("agent", "s"), b.join("agent", "s")
	reads := make(chan error)
	go func() {
		_, err := idle.Read(context.Background())
		reads <- err
	}()
	_ = idle.Close()
	if err := <-reads; !errors.Is(err, net.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	agent.send(agentRequest("q"))
	agent.wantNothing()
	_ = host.Close()
	_ = host.Close()
	b.server.mu.Lock()
	if _, found := (Relay{b.server}).Host("s"); found {
		t.Error("the host is still there")
	}
	b.server.mu.Unlock()
	if _, err := host.Read(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if err := host.Write(t.Context(), []byte(hostMessage("x"))); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	agent.wantRefusal("q", proto.SessionNotActive)
}
