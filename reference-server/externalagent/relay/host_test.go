package relay

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
)

// A second host replaces the first, which neither receives nor sends anything more.
func TestHostReplaced(t *testing.T) {
	both(t, func(_ *testing.T, b *bench, join func(role, session string) *party) {
		first, a1, a2 := join("host", "s"), join("agent", "s"), join("agent", "s")
		a1.send(agentRequest("q1"))
		first.wantMessage(agentRequest("q1"))
		a2.send(agentRequest("q2"))
		first.wantMessage(agentRequest("q2"))
		second := join("frontend", "s")
		a1.wantRefusal("q1", proto.SessionNotActive)
		a2.wantRefusal("q2", proto.SessionNotActive)
		_ = first.Write(b.t.Context(), []byte(hostMessage("too late")))
		first.wantEnd(Replaced)
		_ = first.Close()
		b.awaitLeft(3)
		a1.send(agentRequest("q1"))
		second.wantMessage(agentRequest("q1"))
		second.send(hostReply("q1", "x"))
		a1.wantMessage(hostReply("q1", "x"))
		a1.wantNothing()
		a2.wantNothing()
		second.wantNothing()
	})
}

// The first host still gets the messages sent to it before it is closed.
func TestHostReplacedBehindQueue(t *testing.T) {
	both(t, func(_ *testing.T, _ *bench, join func(role, session string) *party) {
		first, agent := join("host", "s"), join("agent", "s")
		for range 100 {
			agent.send(agentRequest("q"))
		}
		agent.wantNothing()
		join("host", "s")
		for range 100 {
			first.wantMessage(agentRequest("q"))
		}
		first.wantEnd(Replaced)
	})
}

// When the host leaves, its agents are told once which of their requests it has not answered.
func TestHostGone(t *testing.T) {
	both(t, func(_ *testing.T, b *bench, join func(role, session string) *party) {
		host, a1, a2 := join("host", "s"), join("agent", "s"), join("agent", "s")
		for _, p := range []*party{a1, a2} {
			for _, id := range []string{"1", "2", "3"} {
				p.send(agentRequest(id))
				host.wantMessage(agentRequest(id))
			}
		}
		said := `{"v":"mvp-0.2","type":"agent.message","id":"said","payload":{}}`
		a1.send(said)
		host.wantMessage(said)
		host.send(hostReply("2", "x"))
		a1.wantMessage(hostReply("2", "x"))
		_ = host.Close()
		b.awaitLeft(2)
		for _, p := range []*party{a1, a2} {
			p.wantRefusal("1", proto.SessionNotActive)
			if p == a2 {
				p.wantRefusal("2", proto.SessionNotActive)
			}
			p.wantRefusal("3", proto.SessionNotActive)
			p.send(agentRequest("4"))
			p.wantRefusal("4", proto.SessionNotActive)
		}
		host = join("host", "s")
		host.wantNothing()
		host.send(hostReply("1", "to all"))
		a1.wantMessage(hostReply("1", "to all"))
		a2.wantMessage(hostReply("1", "to all"))
		a1.send(agentRequest("5"))
		host.wantMessage(agentRequest("5"))
		a1.wantNothing()
		a2.wantNothing()
	})
}

// attaching is a relay that attaches a host to each session; hosts delivers them, and calls lists the arguments of
// the hook calls.
type attaching struct {
	*bench
	hosts chan *party

	mu    sync.Mutex
	calls []string
	last  map[string]*party
}

func startAttaching(t *testing.T) *attaching {
	a := &attaching{hosts: make(chan *party, 10), last: map[string]*party{}}
	a.bench = startServer(t, Options{
		OnAgent: func(session string) {
			host := a.attach("host", session)
			a.note("agent "+session, func() { a.last[session] = host })
			a.hosts <- host
		},
		OnEmpty: func(session string) {
			var host *party
			a.note("empty "+session, func() { host = a.last[session] })
			if host != nil { // the session may have got one in another way
				_ = host.Close()
			}
		},
	})
	return a
}

func (a *attaching) note(call string, also func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
	also()
}

func (a *attaching) called(want ...string) {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if diff := cmp.Diff(want, a.calls); diff != "" {
		a.t.Errorf("calls -want +got:\n%s", diff)
	}
}

// The host that OnAgent attaches is present before the agent gets its reply; it leaves with the last agent.
func TestOnAgent(t *testing.T) {
	for way, join := range ways {
		t.Run(way, func(t *testing.T) {
			a := startAttaching(t)
			agent := join(a.bench, "agent", "s")
			host := <-a.hosts
			agent.send(agentRequest("q"))
			host.wantMessage(agentRequest("q"))
			host.send(hostReply("q", "x"))
			agent.wantMessage(hostReply("q", "x"))
			second := join(a.bench, "agent", "s")
			join(a.bench, "agent", "t")
			_ = agent.Close()
			a.awaitLeft(4)
			second.send(agentRequest("q"))
			host.wantMessage(agentRequest("q"))
			_ = second.Close()
			a.awaitLeft(2)
			join(a.bench, "agent", "s")
			a.called("agent s", "agent t", "empty s", "agent s")
			join(a.bench, "host", "u")
			join(a.bench, "agent", "u") // has a host
			a.called("agent s", "agent t", "empty s", "agent s")
		})
	}
}

// A session whose host has left gets another one when the next agent joins.
func TestOnAgentAgain(t *testing.T) {
	a := startAttaching(t)
	agent := a.join("agent", "s")
	_ = (<-a.hosts).Close()
	agent.send(agentRequest("q"))
	agent.wantRefusal("q", proto.SessionNotActive)
	a.join("agent", "s")
	host := <-a.hosts
	agent.send(agentRequest("q"))
	host.wantMessage(agentRequest("q"))
	a.called("agent s", "agent s")
}

// Without an attached host OnAgent is called once, however many agents join.
func TestOnAgentWithoutHost(t *testing.T) {
	var mu sync.Mutex
	calls := 0
	b := startServer(t, Options{OnAgent: func(string) { mu.Lock(); defer mu.Unlock(); calls++ }})
	for range 3 {
		agent := b.join("agent", "s")
		agent.send(agentRequest("q"))
		agent.wantRefusal("q", proto.SessionNotActive)
	}
	mu.Lock()
	defer mu.Unlock()
	if calls != 1 {
		t.Errorf("asked %d times", calls)
	}
}

// Agents that join and leave concurrently always find a host.
func TestComingAndGoing(t *testing.T) {
	b := startServer(t, Options{})
	var hosts sync.Map
	var serving sync.WaitGroup
	b.server.o.OnAgent = func(session string) {
		host, err := b.server.Attach(session, "host")
		if err != nil {
			t.Error(err)
			return
		}
		hosts.Store(session, host)
		serving.Go(func() {
			for {
				if _, err := host.Read(t.Context()); err != nil {
					return
				}
				_ = host.Write(t.Context(), []byte(hostReply("q", "x")))
			}
		})
	}
	b.server.o.OnEmpty = func(session string) {
		host, _ := hosts.Load(session)
		_ = host.(Conn).Close()
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				agent, err := b.server.Attach("s", "agent")
				if err != nil {
					t.Error(err)
					return
				}
				_ = agent.Write(t.Context(), []byte(agentRequest("q")))
				if got, err := agent.Read(t.Context()); string(got) != hostReply("q", "x") {
					t.Errorf("got %s (%v)", got, err)
				}
				_ = agent.Close()
			}
		})
	}
	all.Wait()
	serving.Wait()
	b.server.empty(t)
}
