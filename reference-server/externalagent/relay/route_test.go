package relay

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
)

func both(t *testing.T, run func(t *testing.T, b *bench, join func(role, session string) *party)) {
	for way, join := range ways {
		t.Run(way, func(t *testing.T) {
			b := startServer(t, Options{})
			run(t, b, func(role, session string) *party { return join(b, role, session) })
		})
	}
}

// Only its host receives what an agent sends. A host's reply goes to the agent that asked, other host messages to all
// agents.
func TestRouting(t *testing.T) {
	both(t, func(t *testing.T, b *bench, join func(role, session string) *party) {
		host, a1, a2 := join("host", "s"), join("agent", "s"), join("agent", "s")
		other, a3 := join("host", "S"), join("agent", "S")
		all := []*party{host, a1, a2, other, a3}

		a2.send(agentRequest("q2"))
		host.wantMessage(agentRequest("q2"))
		host.send(hostReply("q2", "answer"))
		a2.wantMessage(hostReply("q2", "answer"))
		host.send(hostMessage("all"))
		a1.wantMessage(hostMessage("all"))
		a2.wantMessage(hostMessage("all"))
		host.send(hostReply("q2", "again")) // the request has already been answered
		host.send(hostReply("q3", "nobody has asked"))
		for _, a := range []*party{a1, a2} {
			a.wantMessage(hostReply("q2", "again"))
			a.wantMessage(hostReply("q3", "nobody has asked"))
		}
		a3.send(agentRequest("q2"))
		other.wantMessage(agentRequest("q2"))
		host.send(hostReply("q2", "of another session"))
		a1.wantMessage(hostReply("q2", "of another session"))
		a2.wantMessage(hostReply("q2", "of another session"))
		for _, p := range all {
			p.wantNothing()
		}
	})
}

// The messages of a host without agents are dropped without an error.
func TestNoAgents(t *testing.T) {
	both(t, func(_ *testing.T, _ *bench, join func(role, session string) *party) {
		host := join("host", "s")
		host.send(hostMessage("alone"))
		host.send(hostReply("i", "alone"))
		host.wantNothing()
		agent := join("agent", "s")
		agent.wantNothing()
	})
}

// Agents may use the same ids: a reply goes to the oldest request that its type can answer.
func TestEqualIDs(t *testing.T) {
	both(t, func(_ *testing.T, _ *bench, join func(role, session string) *party) {
		host, a1, a2 := join("host", "s"), join("agent", "s"), join("agent", "s")
		request := func(kind string) string { return fmt.Sprintf(`{"v":"mvp-0.2","type":%q,"id":"r","payload":{}}`, kind) }
		answer := func(kind string) string {
			return fmt.Sprintf(`{"v":"mvp-0.2","type":%q,"replyTo":"r","payload":{}}`, kind)
		}
		for _, row := range []struct {
			first, second string   // asked by a1 and by a2
			answers       []string // go to a1, if they begin with "1 ", or else to a2
		}{
			{"snapshot.get", "snapshot.get", []string{"1 snapshot.state", "2 snapshot.state"}},
			{"snapshot.get", "tool.call", []string{"2 tool.result", "1 snapshot.state"}},
			{"snapshot.get", "tool.call", []string{"1 error", "2 error"}},
			{"snapshot.get", "tool.call", []string{"1 state.updated", "2 state.updated"}},
			{"agent.message", "session.start", []string{"2 error", "1 error"}},
			{"agent.message", "session.start", []string{"2 session.started", "1 state.updated"}},
			{"session.end", "agent.message", []string{"1 session.ended", "2 error"}},
		} {
			a1.send(request(row.first))
			host.wantMessage(request(row.first))
			a2.send(request(row.second))
			host.wantMessage(request(row.second))
			for _, who := range row.answers {
				to, kind := a2, who[2:]
				if who[0] == '1' {
					to = a1
				}
				host.send(answer(kind))
				to.wantMessage(answer(kind))
			}
			a1.wantNothing()
			a2.wantNothing()
		}
	})
}

// An agent that leaves takes its requests with it: the reply goes to the other agent that asked.
func TestAskerLeaves(t *testing.T) {
	both(t, func(_ *testing.T, b *bench, join func(role, session string) *party) {
		host, a1, a2 := join("host", "s"), join("agent", "s"), join("agent", "s")
		a1.send(agentRequest("r"))
		host.wantMessage(agentRequest("r"))
		a2.send(agentRequest("r"))
		host.wantMessage(agentRequest("r"))
		_ = a1.Close()
		b.awaitLeft(2)
		host.send(hostReply("r", "x"))
		a2.wantMessage(hostReply("r", "x"))
		host.wantNothing()
	})
}

// With too many requests the oldest are forgotten, and their replies go to all agents.
func TestTooManyRequests(t *testing.T) {
	for name, limits := range map[string]Limits{"count": {Requests: 2}, "bytes": {RequestBytes: 11}} {
		t.Run(name, func(t *testing.T) {
			b := startServer(t, Options{Limits: limits})
			host, a1, a2 := b.join("host", "s"), b.join("agent", "s"), b.join("agent", "s")
			a2.send(agentRequest("other"))
			host.wantMessage(agentRequest("other"))
			for _, id := range []string{"id-01", "id-02", "id-03"} {
				a1.send(agentRequest(id))
				host.wantMessage(agentRequest(id))
			}
			host.send(hostReply("id-01", ""))
			a1.wantMessage(hostReply("id-01", ""))
			a2.wantMessage(hostReply("id-01", ""))
			for _, id := range []string{"id-02", "id-03"} {
				host.send(hostReply(id, ""))
				a1.wantMessage(hostReply(id, ""))
			}
			host.send(hostReply("other", ""))
			a2.wantMessage(hostReply("other", ""))
			a1.wantNothing()
		})
	}
}

// Many parties send at the same time, and each receives each other's messages in order.
func TestOrder(t *testing.T) {
	both(t, func(t *testing.T, _ *bench, join func(role, session string) *party) {
		const count = 300
		host, agents := join("host", "s"), []*party{join("agent", "s"), join("agent", "s"), join("agent", "s")}
		var all sync.WaitGroup
		for n, a := range agents {
			all.Go(func() {
				for i := range count {
					_ = a.Write(t.Context(), []byte(agentRequest(fmt.Sprintf("%d/%03d", n, i))))
				}
			})
			all.Go(func() {
				for i := range count {
					if got, err := a.Read(t.Context()); err != nil || string(got) != hostMessage(fmt.Sprint(i)) {
						t.Errorf("agent got %s (%v) at %d", got, err, i)
						return
					}
				}
			})
		}
		all.Go(func() {
			for i := range count {
				_ = host.Write(t.Context(), []byte(hostMessage(fmt.Sprint(i))))
			}
		})
		heard := make([]int, len(agents))
		for range count * len(agents) {
			var n, i int
			if _, err := fmt.Sscanf(host.nextObject()["id"].(string), "%d/%d", &n, &i); err != nil || heard[n] != i {
				t.Fatalf("agent %d was heard with %d, want %d (%v)", n, i, heard[n], err)
			}
			heard[n]++
		}
		all.Wait()
		if diff := cmp.Diff([]int{count, count, count}, heard); diff != "" {
			t.Error(diff)
		}
	})
}

// Each pipelined request gets its own reply.
func TestPipelining(t *testing.T) {
	both(t, func(_ *testing.T, _ *bench, join func(role, session string) *party) {
		host, a1, a2 := join("host", "s"), join("agent", "s"), join("agent", "s")
		for i := range 50 {
			a1.send(agentRequest(fmt.Sprint("a1-", i)))
			a2.send(agentRequest(fmt.Sprint("a2-", i)))
		}
		for range 100 {
			host.send(hostReply(host.nextObject()["id"].(string), "x"))
		}
		for i := range 50 {
			a1.wantMessage(hostReply(fmt.Sprint("a1-", i), "x"))
			a2.wantMessage(hostReply(fmt.Sprint("a2-", i), "x"))
		}
		a1.wantNothing()
		a2.wantNothing()
	})
}

func TestNoHost(t *testing.T) {
	both(t, func(_ *testing.T, _ *bench, join func(role, session string) *party) {
		agent := join("agent", "s")
		agent.send(agentRequest("i"))
		agent.wantRefusal("i", proto.SessionNotActive)
		agent.send(`{"v":"mvp-0.2","type":"agent.message","payload":{}}`)
		agent.wantRefusal(nil, proto.SessionNotActive)
		host := join("host", "s")
		agent.send(agentRequest("i"))
		host.wantMessage(agentRequest("i"))
		agent.wantNothing()
	})
}
