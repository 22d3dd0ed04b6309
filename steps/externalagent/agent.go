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

	"github.com/cucumber/godog"

	"parley/driver/ws"
	"parley/internal/stall"
	judge "parley/monitor/externalagent"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
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
}

func (s *suite) registerAgent(sc *godog.ScenarioContext) {
	steps.Step(sc, `^a host awaits the agent$`, s.awaitsAgent)
	steps.Step(sc, `^the agent is started$`, s.startsAgent)
	steps.Step(sc, `^the agent connects$`, s.agentConnects)
	steps.Step(sc, `^the agent joins$`, s.agentJoins)
	steps.Step(sc, `^the agent turns to the host$`, s.agentTurnsToHost)
	steps.Step(sc, `^the agent calls a tool$`, func(ctx context.Context) error { return s.agentCalls(ctx, 1) })
	steps.Step(sc, `^the agent makes (\d+) calls$`, s.agentCalls)
	steps.Step(sc, `^the agent comes to the end of the booking$`, s.agentBooks)
	steps.Step(sc, `^the agent says something to the participant$`, s.agentSpeaks)
	steps.Step(sc, `^the agent ends the session$`, s.agentEnds)
	s.registerPlans(sc)
}

// awaitsAgent opens the door: the harness is relay and host from now on.
func (s *suite) awaitsAgent(ctx context.Context) error {
	f, err := loadFlow(s.Env.Profile.FlowFile())
	if err != nil {
		return err
	}
	before := s.T.Len()
	l, err := ws.Listen(ctx, ws.ListenOptions{Addr: s.wire.Agent.Listen, Path: s.wire.WS.Path, MaxEvent: int(s.Env.Profile.Limits.MaxEvent), Sink: s.T.Append,
		Party: func(n int) string { return fmt.Sprintf("%s%d", judge.AgentParty, n) }, Subprotocols: s.wire.WS.Subprotocols})
	if err != nil {
		return steps.NotTestedf("the harness cannot listen for the agent: %v", err)
	}
	play := newPlay(s.T, f, s.Nonce)
	play.relay = true
	serving, cancel := context.WithCancel(context.Background())
	s.agent = &callee{listener: l, started: before, play: play, serving: serving, cancel: cancel, ended: make(chan struct{})}
	return nil
}

// attend plays relay and host for whoever connects, and for who has connected already. What they are to do is settled by now.
func (c *callee) attend() {
	c.work.Go(func() {
		for n := 1; ; n++ {
			conn, err := c.listener.Accept(c.serving)
			if err != nil {
				return
			}
			c.play.attend(conn, fmt.Sprintf("%s%d", judge.AgentParty, n), 0)
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
		ctx, cancel := stall.WithLimit(context.Background(), 15*time.Second)
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
		return fmt.Errorf("the target cannot be called: it is no agent")
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
	rec, miss := s.awaitAgent(ctx, s.agent.started, s.joinLimit(), func(r *transcript.Record) bool { return r.Kind == transcript.Open })
	if miss != nil {
		if err := s.unreachable(); err != nil {
			return err
		}
		return s.Need(steps.Check{Clauses: []string{"EA-016", "EA-017", "EA-106"}, Expected: "a WebSocket connection of the agent to " + s.agent.listener.URL(), Observed: miss.Reason + s.lastWords()})
	}
	s.Reached(steps.Greeted)
	return s.Judge(steps.Check{Clauses: []string{"EA-016", "EA-017", "EA-106"}, OK: true, At: rec.N})
}

// agentJoins judges that the agent joins, and before it sends anything else (EA-026, EA-027).
func (s *suite) agentJoins(ctx context.Context) error {
	rec, miss := s.awaitAgent(ctx, s.agent.started, s.joinLimit(), func(r *transcript.Record) bool { return r.Kind == transcript.Frame })
	check := steps.Check{Clauses: []string{"EA-026", "EA-027"}, Expected: "relay.join, the first message of the agent"}
	if miss != nil {
		if err := s.unreachable(); err != nil {
			return err
		}
		check.Observed = miss.Reason + s.lastWords()
		return s.Need(check)
	}
	s.Reached(steps.Given)
	check.OK, check.At, check.Observed = kindOf(&rec) == vocab.RelayJoin, rec.N, steps.Seen(rec)
	check.Clauses = check.Clauses[:1]
	if err := s.Need(check); err != nil || !s.givesSession() {
		return err
	}
	session := payload(&rec)["sessionId"]
	return s.Judge(steps.Check{Clauses: []string{"EA-027"}, OK: session == s.relaySession(""), At: rec.N,
		Expected: fmt.Sprintf("payload.sessionId is %q, the relay session that the agent was given", s.relaySession("")),
		Observed: "payload.sessionId is " + wjson.Compact(session)})
}

// givesSession tells whether the agent is told at its start which relay session it is to join.
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
	joined, miss := s.awaitAgentOr(ctx, s.agent.started, s.joinLimit(), func(r *transcript.Record) bool {
		return r.Dir == transcript.Sent && kindOf(r) == vocab.RelayJoined
	})
	if miss != nil {
		if err := s.unreachable(); err != nil {
			return err
		}
		return steps.NotTestedf("the agent has not joined: %s%s", miss.Reason, s.lastWords())
	}
	rec, miss := s.awaitAgent(ctx, joined.N, s.pace(), func(r *transcript.Record) bool {
		return slices.Contains([]string{vocab.SessionStart, vocab.SnapshotGet, vocab.ToolCall, vocab.AgentMessage}, kindOf(r))
	})
	if miss != nil {
		return steps.NotTestedf("the agent says nothing to the host: %s%s", miss.Reason, s.lastWords())
	}
	s.Reached(steps.Answered)
	return s.Judge(steps.Check{Clauses: []string{"EA-103"}, OK: true, At: rec.N})
}

// agentCalls waits for the agent's n-th call since its start.
func (s *suite) agentCalls(ctx context.Context, n int) error {
	at := s.agent.started
	for i := range n {
		rec, miss := s.awaitAgent(ctx, at, s.pace(), received(vocab.ToolCall))
		if miss != nil {
			return steps.NotTestedf("the agent has made %d of %d calls: %s%s", i, n, miss.Reason, s.lastWords())
		}
		at = rec.N
	}
	return nil
}

// agentBooks waits until the agent has gone through the flow: no clause demands it, and what needs it is else not tested.
func (s *suite) agentBooks(ctx context.Context) error {
	_, err := s.awaitRemark(ctx, booked, 1)
	return err
}

// agentSpeaks waits for agent.message; an agent need not say anything.
func (s *suite) agentSpeaks(ctx context.Context) error { return s.may(ctx, vocab.AgentMessage) }

// agentEnds waits for session.end; an agent need not end a session.
func (s *suite) agentEnds(ctx context.Context) error { return s.may(ctx, vocab.SessionEnd) }

// may waits for what an agent is free to send. One that works, and does not send it, is not judged by it.
func (s *suite) may(ctx context.Context, kind string) error {
	_, miss := s.awaitAgent(ctx, s.agent.started, s.pace(), received(kind))
	if miss == nil {
		return nil
	}
	works := slices.ContainsFunc(s.T.After(s.agent.started), func(r transcript.Record) bool {
		return r.Dir == transcript.Sent && kindOf(&r) == vocab.ToolResult
	})
	end := s.gone()
	if !works || end != "" && !strings.HasSuffix(end, endedWell) || ctx.Err() != nil {
		return steps.NotTestedf("the agent does not send %s: %s%s", kind, miss.Reason, s.lastWords())
	}
	return &steps.NotApplicableError{Reason: "the agent never sends " + kind}
}
