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

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/internal/freeport"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// callee is a target that is an agent. It connects to the harness, which plays relay and host for it.
type callee struct {
	listener  *ws.Listener
	called    target.Called
	play      *play
	serving   context.Context // until the scenario ends
	cancel    context.CancelFunc
	work      sync.WaitGroup
	ended     chan struct{}            // closed after the remark that the agent's process has ended
	departed  int                      // number of departures that planAgain has counted
	planned   int                      // number of planned departures of the host from its flow
	started   int                      // the mark at its start
	back      int                      // the record of its join after a reconnect, or 0
	resumed   int                      // the record of what it first asked for after that
	attending bool                     // the play accepts connections
	listed    atomic.Pointer[[]string] // the values that the flow's schemas list and that the host has omitted
	accepted  accepting                // World.Accepted
	name      func(n int) string       // the name of the n-th connection
	came      atomic.Int64             // number of connections so far
	needs     string                   // the act that hooks.call asks for; "": a call
	askedAt   int                      // the mark when it was last asked
}

// accepting wraps a connection that a party has opened, so that it can be cut.
type accepting func(party string, conn driver.Conn) driver.Conn

// awaitsAgent starts listening: from now on the harness is relay and host.
func (s *suite) awaitsAgent(ctx context.Context) error {
	f, err := loadFlow(binding.FlowFile(s.Env.Profile))
	if err != nil {
		return err
	}
	before := s.T.Len()
	name := func(n int) string { return fmt.Sprintf("%s%d", model.AgentParty, s.earlier+n) }
	l, err := ws.Listen(ctx, ws.ListenOptions{Addr: s.wire.Agent.Listen, Path: s.wire.WS.Path, Party: name,
		MaxEvent: int(s.Env.Profile.Limits.MaxEvent), Sink: s.Sink(), Subprotocols: s.wire.WS.Subprotocols})
	if err != nil {
		why, _, _ := freeport.WhyNot(s.wire.Agent.Listen, err)
		return steps.NotTestedf("the harness cannot listen for the agent: external-agent.agent.listen: %s (end what "+
			"listens there, or name another address)", why)
	}
	play := newPlay(s.T, f, s.Nonce)
	play.relay = true
	serving, cancel := context.WithCancel(context.Background())
	s.agent = &callee{listener: l, started: before, play: play, serving: serving, cancel: cancel,
		ended: make(chan struct{}), name: name, accepted: s.Accepted}
	return nil
}

// attend plays relay and host for each connection, including those already made. Their departures must be planned by
// now.
func (c *callee) attend() {
	c.work.Go(func() {
		for n := 1; ; n++ {
			conn, err := c.listener.Accept(c.serving)
			if err != nil {
				return
			}
			c.came.Add(1)
			c.play.attend(c.accepted(c.name(n), conn), c.name(n), 0)
		}
	})
}

// stop stops the target, and the play for it.
func (c *callee) stop() {
	c.cancel()
	c.play.end() // stops answering the rest of a flood
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
		return steps.NotTestedf("the target cannot be called: it is not an agent")
	}
	if s.wire.Agent.Listen == "" { // a target that connects by itself may have done so already
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
	if d := s.driven(); d != nil {
		if err := s.asks(ctx, d, connects); err != nil {
			return steps.NotTestedf("%v", err)
		}
	}
	if gone := called.Exited(); gone != nil {
		s.agent.work.Go(func() {
			select {
			case <-gone:
				s.T.Remark("", "%s%s", model.Exited, howEnded(called.ExitErr()))
				close(s.agent.ended)
			case <-s.agent.serving.Done():
			}
		})
	}
	return nil
}

func (s *suite) agentConnects(ctx context.Context) error {
	rec, err := s.firstOf(ctx, transcript.Open, model.Connects)
	if err != nil {
		return err
	}
	s.RecordReach(steps.Greeted)
	s.reports(&rec, "EA-016", "EA-017", "EA-106")
	return nil
}

// firstOf waits for the first record of a kind from the agent. Without one, a duty is broken or the agent counts as
// unreachable.
func (s *suite) firstOf(ctx context.Context, kind transcript.Kind, d model.Duty) (transcript.Record, error) {
	rec, miss := s.awaitAgent(ctx, s.agent.started, s.joinLimit(), func(r *transcript.Record) bool {
		return r.Kind == kind
	})
	if miss == nil {
		return rec, nil
	}
	if err := s.unreachable(); err != nil {
		return rec, err
	}
	return rec, s.Need(s.silent(miss, 0, d))
}

// agentJoins judges that the agent joins before it sends anything else (EA-026), and joins what it was given (EA-027).
func (s *suite) agentJoins(ctx context.Context) error {
	rec, err := s.firstOf(ctx, transcript.Frame, model.Joins)
	if err != nil {
		return err
	}
	s.RecordReach(steps.Given)
	if err := s.needs(&rec, "EA-026"); err != nil {
		return err
	}
	return s.joinsGiven(&rec)
}

// joinsGiven judges that the relay session of a relay.join is the one that the agent was given (EA-027). An agent that
// was given none may join any; whether it joins the right one is then not tested, unless that is the default one.
func (s *suite) joinsGiven(r *transcript.Record) error {
	given, joined := s.relaySession(""), payload(r)[vocab.SessionID]
	switch {
	case !s.Judges("EA-027"): // as in doctor
		return nil
	case joined != given && !s.givesSession():
		return s.Judge(verdict.Finding{Clauses: []string{"EA-027"}, Miss: steps.NotOwed("the agent joins the relay session "+
			"%s, and the profile does not give it one: put {session} into command.run or command.env, or the name of the "+
			"session that it joins, without {nonce}, into external-agent.session", wjson.Compact(joined))})
	}
	return s.Judge(model.JoinedGiven(r, given))
}

// givesSession reports whether the profile gives the agent the relay session to join: in its command or hook, or by
// the key external-agent.session, unless nobody tells the agent what that is in a scenario.
func (s *suite) givesSession() bool {
	p := s.Env.Profile
	texts := []string{p.Hooks.Call}
	if p.Command != nil {
		texts = append(slices.AppendSeq(texts, maps.Values(p.Command.Env)), p.Command.Run...)
	}
	if slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(text, "{session}") || strings.Contains(text, "PARLEY_SESSION")
	}) {
		return true
	}
	untold := s.wire.Agent.Listen != "" && p.Command == nil && p.Hooks.Call == "" && !s.fixed()
	return s.wire.Session != vocab.DefaultSession && !untold
}

// agentTurnsToHost waits until the agent has sent something to the host. The monitors judge what it sends.
func (s *suite) agentTurnsToHost(ctx context.Context) error {
	joined, err := s.joinedAt(ctx)
	if err != nil {
		return err
	}
	rec, miss := s.awaitAgent(ctx, joined.N, s.pace(),
		received(vocab.SessionStart, vocab.SnapshotGet, vocab.ToolCall, vocab.AgentMessage))
	if miss != nil {
		return s.without(miss, "sends the host no message")
	}
	s.RecordReach(steps.Answered)
	s.reports(&rec, "EA-103")
	return nil
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

// agentBooks waits until the agent has gone through the flow. No clause demands that; steps that need it are not
// tested otherwise.
func (s *suite) agentBooks(ctx context.Context) error {
	_, err := s.awaitRemark(ctx, booked, 1)
	return err
}

// may waits for a message that an agent is free to send. An agent that works without sending it is not judged.
func (s *suite) may(kind string) func(context.Context) error {
	return func(ctx context.Context) error {
		s.agent.needs = kind
		_, miss := s.awaitAgent(ctx, s.agent.started, s.pace(), received(kind))
		s.agent.needs = ""
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
