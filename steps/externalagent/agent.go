package externalagent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/driver/ws"
	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	judge "parley/steps/externalagent/invariants"
	"parley/target"
	"parley/transcript"
)

// callee is a target that is an agent: it connects to the harness, which is relay and host to it.
type callee struct {
	listener  *ws.Listener
	called    target.Called
	play      *play
	serving   context.Context // until the scenario is over
	cancel    context.CancelFunc
	work      sync.WaitGroup
	ended     chan struct{}            // closed behind the remark that the agent's process has ended
	whiles    int                      // how often it has announced nothing for a while
	planned   int                      // how much the host is to do otherwise than by its flow
	started   int                      // the mark of its start
	back      int                      // the record by which it joined again; 0: it has not
	attending bool                     // it plays its parts
	listed    atomic.Pointer[[]string] // what the schemas list of which the host has left it out
	name      func(n int) string       // of the connection that came so many-th
	came      atomic.Int64             // connections so far
}

// awaitsAgent opens the door: the harness is relay and host from now on.
func (s *suite) awaitsAgent(ctx context.Context) error {
	f, err := loadFlow(binding.FlowFile(s.Env.Profile))
	if err != nil {
		return err
	}
	before := s.T.Len()
	name := func(n int) string { return fmt.Sprintf("%s%d", judge.AgentParty, s.earlier+n) }
	l, err := ws.Listen(ctx, ws.ListenOptions{Addr: s.wire.Agent.Listen, Path: s.wire.WS.Path, Party: name,
		MaxEvent: int(s.Env.Profile.Limits.MaxEvent), Sink: s.T.Append, Subprotocols: s.wire.WS.Subprotocols})
	if err != nil {
		return steps.NotTestedf("the harness cannot listen for the agent: %v", err)
	}
	play := newPlay(s.T, f, s.Nonce)
	play.relay = true
	serving, cancel := context.WithCancel(context.Background())
	s.agent = &callee{listener: l, started: before, play: play, serving: serving, cancel: cancel,
		ended: make(chan struct{}), name: name}
	return nil
}

// attend plays relay and host for whoever connects, and for who has connected already. What they are to do is settled
// by now.
func (c *callee) attend() {
	c.work.Go(func() {
		for n := 1; ; n++ {
			conn, err := c.listener.Accept(c.serving)
			if err != nil {
				return
			}
			c.came.Add(1)
			c.play.attend(conn, c.name(n), 0)
		}
	})
}

// stop ends the target and what the harness played for it.
func (c *callee) stop() {
	c.cancel()
	c.play.end() // whatever a flood has left to be answered
	_ = c.listener.Close()
	c.work.Wait()
	c.play.stop()
	if c.called != nil {
		ctx, cancel := deadline.WithLimit(context.Background(), 15*time.Second)
		_ = c.called.Stop(ctx)
		cancel()
	}
}

func (s *suite) startsAgent(ctx context.Context) error {
	if s.agent == nil {
		if err := s.awaitsAgent(ctx); err != nil {
			return err
		}
	}
	caller, ok := s.Target.(target.Caller)
	if !ok {
		return errors.New("the target cannot be called: it is no agent")
	}
	if s.wire.Agent.Listen == "" { // one that connects by itself may have done so as soon as the door was open
		s.agent.started = s.T.Len()
	}
	if !s.agent.attending {
		s.agent.attending = true
		s.agent.attend()
	}
	called, err := caller.Call(ctx, target.CallOptions{URL: s.agent.listener.URL(), Session: s.relaySession("")})
	var start *target.StartError
	switch {
	case errors.As(err, &start):
		return &steps.UnreachableError{Err: err}
	case err != nil:
		return steps.NotTestedf("the agent could not be started: %v", err)
	}
	s.agent.called = called
	if gone := called.Exited(); gone != nil {
		s.agent.work.Go(func() {
			select {
			case <-gone:
				s.T.Remark("", "%s%s", exited, howEnded(called.ExitErr()))
				close(s.agent.ended)
			case <-s.agent.serving.Done():
			}
		})
	}
	return nil
}

func (s *suite) agentConnects(ctx context.Context) error {
	clauses := []string{"EA-016", "EA-017", "EA-106"}
	rec, err := s.firstOf(ctx, transcript.Open, "a WebSocket connection of the agent to "+s.agent.listener.URL(),
		clauses...)
	if err != nil {
		return err
	}
	s.Reached(steps.Greeted)
	return s.Judge(steps.CheckOf(rec, true, "", clauses...))
}

// firstOf waits for the first record of a kind that is the agent's. Without it clauses are broken, or nothing is
// reached.
func (s *suite) firstOf(
	ctx context.Context, kind transcript.Kind, expected string, clauses ...string,
) (transcript.Record, error) {
	rec, miss := s.awaitAgent(ctx, s.agent.started, s.joinLimit(), func(r *transcript.Record) bool {
		return r.Kind == kind
	})
	if miss == nil {
		return rec, nil
	}
	if err := s.unreachable(); err != nil {
		return rec, err
	}
	return rec, s.Need(s.silent(miss, 0, expected, clauses...))
}

// agentJoins judges that the agent joins, and before it sends anything else (EA-026, EA-027).
func (s *suite) agentJoins(ctx context.Context) error {
	const expected = "relay.join, the first message of the agent"
	rec, err := s.firstOf(ctx, transcript.Frame, expected, "EA-026", "EA-027")
	if err != nil {
		return err
	}
	s.Reached(steps.Given)
	err = s.Need(steps.CheckOf(rec, kindOf(&rec) == vocab.RelayJoin, expected, "EA-026"))
	if given := s.relaySession(""); err == nil && s.givesSession() {
		return s.judgeMember(&rec, "EA-027", "sessionId", payload(&rec)["sessionId"] == given,
			fmt.Sprintf("%q, the relay session that the agent was given", given))
	}
	return err
}

// givesSession reports whether the agent is told at its start which relay session it is to join.
func (s *suite) givesSession() bool {
	c := s.Env.Profile.Command
	if c == nil {
		return false
	}
	given := func(text string) bool { return strings.Contains(text, "{session}") }
	return slices.ContainsFunc(c.Run, given) || slices.ContainsFunc(slices.Collect(maps.Values(c.Env)), given)
}

// agentTurnsToHost waits until the agent has said something to the host. What it says is the monitors' matter.
func (s *suite) agentTurnsToHost(ctx context.Context) error {
	joined, err := s.joinedAt(ctx)
	if err != nil {
		return err
	}
	rec, miss := s.awaitAgent(ctx, joined.N, s.pace(),
		received(vocab.SessionStart, vocab.SnapshotGet, vocab.ToolCall, vocab.AgentMessage))
	if miss != nil {
		return s.without(miss, "says nothing to the host")
	}
	s.Reached(steps.Answered)
	return s.Judge(steps.CheckOf(rec, true, "", "EA-103"))
}

// agentCalls waits for the agent's n-th call since its start.
func (s *suite) agentCalls(ctx context.Context, n int) error {
	at := s.agent.started
	for i := range n {
		rec, miss := s.awaitAgent(ctx, at, s.pace(), received(vocab.ToolCall))
		if miss != nil {
			return s.without(miss, "has made %d of %d calls", i, n)
		}
		at = rec.N
	}
	return nil
}

// agentBooks waits until the agent has gone through the flow: no clause demands it, and what needs it is else not
// tested.
func (s *suite) agentBooks(ctx context.Context) error {
	_, err := s.awaitRemark(ctx, booked, 1)
	return err
}

// may waits for what an agent is free to send. One that works, and does not send it, is not judged by it.
func (s *suite) may(kind string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, miss := s.awaitAgent(ctx, s.agent.started, s.pace(), received(kind))
		if miss == nil {
			return nil
		}
		works := slices.ContainsFunc(s.T.After(s.agent.started), func(r transcript.Record) bool {
			return sent(vocab.ToolResult)(&r)
		})
		end := s.gone()
		if !works || end != "" && !strings.HasSuffix(end, endedWell) || ctx.Err() != nil {
			return s.without(miss, "does not send %s", kind)
		}
		return &steps.NotApplicableError{Reason: "the agent never sends " + kind}
	}
}
