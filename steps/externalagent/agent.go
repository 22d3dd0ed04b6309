package externalagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cucumber/godog"

	"parley/driver/ws"
	judge "parley/monitor/externalagent"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	"parley/transcript"
)

// callee is a target that is an agent: it connects to the harness, which is relay and host to it.
type callee struct {
	listener *ws.Listener
	called   target.Called
	play     *play
	serving  context.Context // until the scenario is over
	cancel   context.CancelFunc
	work     sync.WaitGroup
	started  int // the mark of its start
	back     int // the record by which it joined again; 0: it has not
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
	steps.Step(sc, `^the agent ends the session$`, s.agentEnds)
	s.registerPlans(sc)
}

// awaitsAgent opens the door: the harness is relay and host from now on.
func (s *suite) awaitsAgent(ctx context.Context) error {
	f, err := loadFlow(s.Env.Profile.FlowFile())
	if err != nil {
		return err
	}
	l, err := ws.Listen(ctx, ws.ListenOptions{Addr: s.wire.Agent.Listen, Path: s.wire.WS.Path, MaxEvent: int(s.Env.Profile.Limits.MaxEvent), Sink: s.T.Append,
		Party: func(n int) string { return fmt.Sprintf("%s%d", judge.AgentParty, n) }, Subprotocols: s.wire.WS.Subprotocols})
	if err != nil {
		return steps.NotTestedf("the harness cannot listen for the agent: %v", err)
	}
	play := newPlay(s.T, f, s.Nonce)
	play.relay = true
	serving, cancel := context.WithCancel(context.Background())
	s.agent = &callee{listener: l, play: play, serving: serving, cancel: cancel}
	s.agent.work.Go(func() {
		for n := 1; ; n++ {
			conn, err := l.Accept(serving)
			if err != nil {
				return
			}
			play.attend(conn, fmt.Sprintf("%s%d", judge.AgentParty, n), 0)
		}
	})
	return nil
}

// stop ends the target and what the harness played for it.
func (c *callee) stop() {
	c.cancel()
	_ = c.listener.Close()
	c.work.Wait()
	c.play.stop()
	if c.called != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
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
	s.agent.started = s.T.Len()
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
				s.T.Remark("", "%s%v", exited, called.ExitErr())
			case <-s.agent.serving.Done():
			}
		})
	}
	return nil
}

// exited begins the remark that the agent's process has ended.
const exited = "the agent's process has ended: "

// awaitAgent waits for something that the agent sends, on whatever connection.
func (s *suite) awaitAgent(ctx context.Context, after int, within time.Duration, match func(*transcript.Record) bool) (transcript.Record, *steps.Miss) {
	return s.awaitAgentOr(ctx, after, within, func(r *transcript.Record) bool {
		return strings.HasPrefix(r.Conn, judge.AgentParty) && r.Dir == transcript.Received && match(r)
	})
}

// awaitAgentOr waits for any record. The end of the agent's process makes that hopeless, but for what is still on its way.
func (s *suite) awaitAgentOr(ctx context.Context, after int, within time.Duration, match func(*transcript.Record) bool) (transcript.Record, *steps.Miss) {
	limited, cancel := steps.WithLimit(ctx, within)
	defer cancel()
	gone := ""
	rec, err := s.T.Await(limited, after, func(r *transcript.Record) bool {
		if r.Kind == transcript.Remark && strings.HasPrefix(r.Label, exited) {
			gone = r.Label
		}
		return gone != "" || match(r)
	})
	if gone != "" {
		last, cancel := steps.WithLimit(ctx, s.Env.Profile.Limits.Quiet.Duration)
		defer cancel()
		rec, err = s.T.Await(last, after, match)
	}
	switch {
	case err == nil:
		return rec, nil
	case ctx.Err() != nil:
		s.CutOff()
		return rec, &steps.Miss{Reason: "the scenario was cut off"}
	case gone != "":
		return rec, &steps.Miss{Reason: gone}
	}
	return rec, &steps.Miss{Reason: fmt.Sprintf("nothing of the kind within %v", within)}
}

// joinLimit is for an agent to connect and join.
func (s *suite) joinLimit() time.Duration { return s.wire.Agent.Join.Duration }

// pace is for the next thing that an agent does.
func (s *suite) pace() time.Duration { return s.wire.Agent.Pace.Duration }

func (s *suite) agentConnects(ctx context.Context) error {
	rec, miss := s.awaitAgent(ctx, s.agent.started, s.joinLimit(), func(r *transcript.Record) bool { return r.Kind == transcript.Open })
	if miss != nil {
		return s.Need(steps.Check{Clauses: []string{"EA-016", "EA-017", "EA-106"}, Expected: "a WebSocket connection of the agent to " + s.agent.listener.URL(), Observed: miss.Reason + s.lastWords()})
	}
	s.Reached(steps.Greeted)
	return s.Judge(steps.Check{Clauses: []string{"EA-016", "EA-017", "EA-106"}, OK: true, At: rec.N})
}

// lastWords is what the agent's process wrote last, for the reason of a miss.
func (s *suite) lastWords() string {
	if s.agent.called == nil {
		return ""
	}
	text := strings.TrimSpace(s.agent.called.Stderr())
	if text == "" {
		return ""
	}
	if len(text) > 600 {
		text = "…" + strings.ToValidUTF8(text[len(text)-600:], "")
	}
	return "; it wrote: " + text
}

// agentJoins judges that the agent joins, and before it sends anything else (EA-026, EA-027).
func (s *suite) agentJoins(ctx context.Context) error {
	rec, miss := s.awaitAgent(ctx, s.agent.started, s.joinLimit(), func(r *transcript.Record) bool { return r.Kind == transcript.Frame })
	check := steps.Check{Clauses: []string{"EA-026", "EA-027"}, Expected: "relay.join, the first message of the agent"}
	if miss != nil {
		check.Observed = miss.Reason + s.lastWords()
		return s.Need(check)
	}
	s.Reached(steps.Given)
	check.OK, check.At, check.Observed = kindOf(&rec) == vocab.RelayJoin, rec.N, steps.Seen(rec)
	check.Clauses = check.Clauses[:1]
	return s.Need(check)
}

// agentTurnsToHost waits until the agent has said something to the host. What it says is the monitors' matter.
func (s *suite) agentTurnsToHost(ctx context.Context) error {
	rec, miss := s.awaitAgent(ctx, s.agent.started, s.pace(), func(r *transcript.Record) bool {
		return slices.Contains([]string{vocab.SessionStart, vocab.SnapshotGet, vocab.ToolCall, vocab.AgentMessage}, kindOf(r))
	})
	if miss != nil {
		return s.Need(steps.Check{Clauses: []string{"EA-103"}, Expected: "a message of the agent to the host, once relay.joined has told it that it has joined", Observed: miss.Reason + s.lastWords()})
	}
	s.Reached(steps.Answered)
	return s.Judge(steps.Check{Clauses: []string{"EA-103"}, OK: true, At: rec.N})
}

// agentCalls waits for the agent's n-th call since its start.
func (s *suite) agentCalls(ctx context.Context, n int) error {
	_, err := s.nthCall(ctx, n)
	return err
}

func (s *suite) nthCall(ctx context.Context, n int) (transcript.Record, error) {
	at := s.agent.started
	var rec transcript.Record
	for i := range n {
		var miss *steps.Miss
		rec, miss = s.awaitAgent(ctx, at, s.pace(), received(vocab.ToolCall))
		if miss != nil {
			return rec, steps.NotTestedf("the agent has made %d of %d calls: %s%s", i, n, miss.Reason, s.lastWords())
		}
		at = rec.N
	}
	return rec, nil
}

// agentBooks waits until the agent has gone through the flow: no clause demands it, and what needs it is else not tested.
func (s *suite) agentBooks(ctx context.Context) error {
	_, err := s.awaitRemark(ctx, booked)
	return err
}

// agentEnds waits for session.end; an agent need not end a session.
func (s *suite) agentEnds(ctx context.Context) error {
	if _, miss := s.awaitAgent(ctx, s.agent.started, s.pace(), received(vocab.SessionEnd)); miss != nil {
		return steps.NotTestedf("the agent does not end the session: %s", miss.Reason)
	}
	return nil
}
