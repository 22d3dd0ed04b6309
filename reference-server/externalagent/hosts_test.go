package externalagent

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// inside is an agent within the process, for tests in simulated time.
func inside(t *testing.T, s *Server, session string) (*party, relay.Conn) {
	t.Helper()
	c, err := s.relay.Attach(session, proto.AgentRole)
	if err != nil {
		t.Fatal(err)
	}
	return &party{t: t, wire: c}, c
}

// leave ends a connection and returns once the server has handled it.
func leave(t *testing.T, c relay.Conn) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	synctest.Wait()
}

func within(t *testing.T, o Options, f func(t *testing.T, s *Server)) {
	t.Helper()
	o.Logs = t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		f(t, s)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

func nameOf(id string) string { return "logs/study/" + id + ".jsonl" }

// A host without agents is forgotten only after the idle time; one with an agent never is.
func TestIdle(t *testing.T) {
	within(t, Options{}, func(t *testing.T, s *Server) {
		p, c := inside(t, s, "a")
		id := p.start()
		time.Sleep(time.Hour)
		leave(t, c)
		time.Sleep(defaultIdle - time.Second)
		p, c = inside(t, s, "a")
		if p.snapshot()["sessionId"] != id {
			t.Error("forgotten too early")
		}
		time.Sleep(time.Hour)
		if p.snapshot()["sessionId"] != id {
			t.Error("forgotten while an agent is there")
		}
		leave(t, c)
		if err := s.Say("a", "still there?"); err != nil {
			t.Error(err)
		}
		time.Sleep(defaultIdle + time.Second)
		synctest.Wait()
		if s.hosts.findHost("a") != nil {
			t.Error("not forgotten")
		}
		if types := logged(t, s.o.Logs, nameOf(id)); types[len(types)-1] != "session.closed" {
			t.Errorf("%q", types)
		}
		p, c = inside(t, s, "a")
		p.expect(proto.ErrorMessage, p.send(proto.SnapshotGet, object{}))
		leave(t, c)
	})
}

// The host still handles what an agent sent just before it left.
func TestLastWords(t *testing.T) {
	within(t, Options{}, func(t *testing.T, s *Server) {
		for range 20 {
			p, c := inside(t, s, "a")
			id := p.start()
			p.send(proto.AgentMessage, object{"text": "good bye"})
			p.send(proto.SessionEnd, object{"reason": "done"})
			leave(t, c)
			types := logged(t, s.o.Logs, nameOf(id))
			if !slices.Contains(types, proto.AgentMessage) || types[len(types)-1] != proto.SessionEnded {
				t.Errorf("%q", types)
			}
		}
	})
}

// The host that has been idle longest makes room; if all hosts are in use, there is no room.
func TestMaxHosts(t *testing.T) {
	within(t, Options{MaxHosts: 2}, func(t *testing.T, s *Server) {
		_, a := inside(t, s, "a")
		_, b := inside(t, s, "b")
		p, c := inside(t, s, "c")
		if got := p.expect(proto.ErrorMessage, p.send(proto.SessionStart, object{"studyId": "a",
			"participantId": "b"})); got["code"] != proto.SessionNotActive {
			t.Errorf("%v", got)
		}
		leave(t, c)
		leave(t, b)
		time.Sleep(time.Second)
		leave(t, a)
		p, c = inside(t, s, "c")
		p.start()
		if s.hosts.findHost("a") == nil || s.hosts.findHost("b") != nil {
			t.Error("the wrong one made room")
		}
		leave(t, c)
	})
}

// Close completes the log of an active session and ends all connections.
func TestClose(t *testing.T) {
	within(t, Options{}, func(t *testing.T, s *Server) {
		p, _ := inside(t, s, "a")
		id := p.start()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if types := logged(t, s.o.Logs, nameOf(id)); types[len(types)-1] != "session.closed" {
			t.Errorf("%q", types)
		}
		if _, err := p.Read(t.Context()); err == nil {
			t.Error("a connection outlives the server")
		}
		if _, err := s.relay.Attach("a", proto.AgentRole); err == nil {
			t.Error("joined after the end")
		}
	})
}

// A host that the relay dropped reattaches, because its agents are still there.
func TestDropped(t *testing.T) {
	within(t, Options{}, func(t *testing.T, s *Server) {
		p, c := inside(t, s, "a")
		id := p.start()
		s.hosts.mu.Lock()
		l := s.hosts.all["a"].line
		s.hosts.mu.Unlock()
		_ = l.Close()
		<-l.gone
		synctest.Wait()
		if p.snapshot()["sessionId"] != id {
			t.Error("not back")
		}
		leave(t, c)
	})
}
