package sessionruntime

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/obligation"
	"parley/steps/sessionruntime/binding"
	judge "parley/steps/sessionruntime/model"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

func (s *suite) registerSessions(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the bus is connected$`, s.connect)
	steps.Step(sc, `^a session of (agents? .+) where (nobody|agent "\w") is active$`,
		func(ctx context.Context, agents, active string) error { return s.setUp(ctx, "main", agents, active) })
	steps.Step(sc, `^session "(\w+)" of (agents? .+) where (nobody|agent "\w") is active$`, s.setUp)
	steps.StepsAfter(sc, s.noSession, func() { s.registerInSession(sc) })
	steps.Step(sc, `^the next steps are in session "(\w+)"$`, s.inSession)
	steps.Step(sc, `^a short limit for acknowledgements of inputs$`, s.hurried)
	steps.Step(sc, `^a short limit for confirmations of cancels$`, func() {
		s.limits.CancelAck = binding.Of(s.Env.Profile).Limits.CancelAck.Duration
	})
	steps.Step(sc, `^the orchestrator receives what it publishes on SYSTEM and BROADCAST$`, s.handsBack)
}

// registerInSession registers the steps about a session that was set up.
func (s *suite) registerInSession(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the session is set up anew$`, s.setUpAnew)
	steps.Step(sc, `^everything is handled$`, s.handled)
	steps.Step(sc, `^the answer to a fence follows everything that the (\d+) inputs before it cause$`, s.fenceIsLate)
}

// noSession returns why a step about a session cannot be carried out; nil if it can.
func (s *suite) noSession() error {
	if s.now == nil {
		return steps.NotTestedf("no session was set up")
	}
	return nil
}

var letters = regexp.MustCompile(`"(\w)"`)

func (s *suite) setUp(ctx context.Context, name, agents, active string) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	ss := &session{name: name, id: fmt.Sprintf("%s-%s", name, s.Nonce), inputs: map[string]*input{},
		handovers: map[string]*handover{}}
	for _, m := range letters.FindAllStringSubmatch(agents, -1) {
		ss.agents = append(ss.agents, m[1])
	}
	if m := letters.FindStringSubmatch(active); m != nil {
		ss.first = m[1]
	}
	s.sessions[name], s.now = ss, ss
	return s.sendSetUp(ctx, ss)
}

// sendSetUp sends the set-up frame and waits for the answer.
func (s *suite) sendSetUp(ctx context.Context, ss *session) error {
	agents := []any{}
	for _, letter := range ss.agents {
		agents = append(agents, s.agent(letter))
	}
	doc := map[string]any{"parley": vocab.Setup, "session_id": ss.id, "agents": agents, "active_agent_id": nil,
		"limits": map[string]any{"input_ack_ms": int(s.limits.InputAck.Milliseconds()),
			"cancel_ack_ms": int(s.limits.CancelAck.Milliseconds())}}
	ss.active = ss.first
	if ss.first != "" {
		doc["active_agent_id"] = s.agent(ss.first)
	}
	body, err := wjson.Encode(doc)
	if err != nil {
		return fmt.Errorf("set-up: %w", err)
	}
	at, err := s.write(ctx, driver.Message{Label: judge.SetupFrame, Body: body})
	if err != nil {
		return err
	}
	own := s.Env.Profile.Limits // a process may still be starting
	_, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: at, Within: max(own.Open.Duration, own.Event.Duration),
			Match: func(r *transcript.Record) bool {
				return r.Event != nil && r.Event.Type == judge.ReadyFrame &&
					(member(r, judge.Session) == nil || member(r, judge.Session) == ss.id)
			}})
	if miss != nil {
		return s.Need(verdict.Finding{Clauses: []string{"RT-013"},
			Expected: `{"parley":"ready"} for a new session`,
			Observed: miss.Reason + s.inPlace(at), At: miss.At, Miss: miss,
			Judge: verdict.ByConnection})
	}
	s.RecordReach(steps.Given)
	return nil
}

// setUpAnew resets the session: to the orchestrator nothing has been said yet.
func (s *suite) setUpAnew(ctx context.Context) error {
	s.now.inputs, s.now.handovers = map[string]*input{}, map[string]*handover{}
	return s.sendSetUp(ctx, s.now)
}

func (s *suite) inSession(name string) error {
	ss, ok := s.sessions[name]
	if !ok {
		return steps.NotTestedf("there is no session %q", name)
	}
	s.now = ss
	return nil
}

// hurried gives the following sessions the shortest INPUT_ACK limit that the profile allows.
func (s *suite) hurried() error {
	s.limits.InputAck = binding.Of(s.Env.Profile).Limits.InputAck.Duration
	return nil
}

func (s *suite) handsBack() error {
	s.echo, s.echoed = true, s.T.Len()
	return nil
}

// punctual is the longest delay accepted for a message triggered by a limit. A target that uses its own limit, likely
// 5 s or 10 s, does not use the requested one.
const punctual = 4 * time.Second

// withLimit returns how long to wait for a message that comes by itself when a limit expires.
func (s *suite) withLimit(limit time.Duration) time.Duration {
	return limit + min(s.Env.Event(), punctual)
}

// accepted waits until the frontend is notified at once (RT-074, RT-076). If it is not, the agent of the turn answers
// and ends it, which shows whether the notice is late or never comes.
func (s *suite) accepted(ctx context.Context, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	accepted := judge.Duty{Kinds: []judge.Kind{judge.Accepted}, Of: in.said}
	if _, there := s.came(accepted); !there && in.routed > 0 {
		if err := s.fence(ctx); err != nil {
			return err
		}
		s.awaitOverdue(ctx)
	}
	if state, _ := s.fate(accepted); state == obligation.Missing {
		for _, f := range []frame{
			{event: vocab.Control, subtype: vocab.InputAck, payload: map[string]any{}},
			{event: vocab.AgentOutput, payload: map[string]any{"text": "piece " + s.token()}, stream: &stream{final: true}},
		} {
			f.from, f.trace, f.turn = in.agent, in.trace, in.turn
			if _, err := s.deliver(ctx, f); err != nil {
				return err
			}
		}
		if err := s.fence(ctx); err != nil {
			return err
		}
	}
	_, err = s.settled(ctx, accepted)
	return err
}
