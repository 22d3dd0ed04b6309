package externalagent

import (
	"context"
	"sync/atomic"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	judge "parley/steps/externalagent/invariants"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// promptness is the longest time in nanoseconds that the agents of a run took from relay.joined to their first act.
type promptness struct{ most atomic.Int64 }

func (s *suite) promptness() *promptness { return learnt[promptness](s) }

// joinWindow is how long relay.joined is held back from an agent: several times as long as agents took for their
// first act after a prompt relay.joined, as seen in preflight. An agent that acts by its own clock has acted by then.
func (s *suite) joinWindow() time.Duration {
	return min(4*time.Duration(s.promptness().most.Load()), s.Env.Event(), s.joinLimit().Duration/2)
}

// learnPromptness records how long the agent of this scenario took for its first act.
func (s *suite) learnPromptness() {
	if joined, act := joinedAndAct(s.T.After(s.agent.started)); act != nil {
		s.promptness().atLeast(act.At - joined.At)
	}
}

// atLeast records that an agent took this long.
func (p *promptness) atLeast(took time.Duration) {
	for {
		was := p.most.Load()
		if int64(took) <= was || p.most.CompareAndSwap(was, int64(took)) {
			return
		}
	}
}

// joinedAndAct returns the first relay.joined sent to an agent and the agent's first message after it, or nil for
// what is missing.
func joinedAndAct(records []transcript.Record) (joined, act *transcript.Record) {
	for i := range records {
		r := &records[i]
		switch {
		case joined == nil && sent(vocab.RelayJoined)(r):
			joined = r
		case joined != nil && r.Conn == joined.Conn && fromAgent(r) && r.Kind == transcript.Frame:
			return joined, r
		}
	}
	return joined, nil
}

// joinedAt waits until the agent has been sent relay.joined.
func (s *suite) joinedAt(ctx context.Context) (transcript.Record, error) {
	rec, miss := s.awaitAgentOr(ctx, s.agent.started, s.joinLimit(), sent(vocab.RelayJoined))
	if miss == nil {
		return rec, nil
	}
	if err := s.unreachable(); err != nil {
		return rec, err
	}
	return rec, s.without(miss, "has not joined")
}

// joinsLate holds relay.joined back from each agent that joins.
func (s *suite) joinsLate() {
	s.agent.play.joins = func(answer object) []any { return []any{max(s.window(), s.joinWindow()), answer} }
}

// waitsToJoin judges that an agent sends nothing between relay.join and the held back relay.joined (EA-026). If its
// first act takes at least half as long, it has shown nothing: by its own pace it might have acted after relay.joined
// anyway. If the harness can start another agent, it holds relay.joined back for longer with that one.
func (s *suite) waitsToJoin(ctx context.Context) error {
	for try := 1; ; try++ {
		slow, err := s.waitedToJoin(ctx)
		switch {
		case slow == "" || err != nil:
			return err
		case try == tries || s.wire.Agent.Listen != "":
			return steps.NotTestedf("%s", slow)
		}
		s.agent.stop()
		s.earlier += int(s.agent.came.Load())
		s.agent = nil
		s.T.Remark("", "%s", judge.AnotherAgent)
		if err := s.awaitsAgent(ctx); err != nil {
			return err
		}
		s.joinsLate()
		if err := s.startsAgent(ctx); err != nil {
			return err
		}
	}
}

// waitedToJoin is waitsToJoin for one agent. slow says why a slow agent has shown nothing, or is "".
func (s *suite) waitedToJoin(ctx context.Context) (slow string, err error) {
	joined, err := s.joinedAt(ctx)
	if err != nil {
		return "", err
	}
	asked := joined
	for _, r := range s.Between(joined.Conn, s.agent.started, joined.N) {
		switch {
		case received(vocab.RelayJoin)(&r):
			asked = r
		case fromAgent(&r) && r.Kind == transcript.Frame && asked.N < joined.N: // worded as by the monitor
			return "", s.Judge(verdict.Finding{Clauses: []string{"EA-026"}, At: r.N,
				Expected: "nothing before relay.joined has answered relay.join",
				Observed: "the agent has not joined yet in " + monitor.Describe(r)})
		}
	}
	act, miss := s.awaitAgent(ctx, joined.N, s.pace(), func(r *transcript.Record) bool {
		return r.Kind == transcript.Frame
	})
	if miss != nil {
		return "", s.without(miss, "sends nothing once it has joined")
	}
	prompt := time.Duration(s.promptness().most.Load())
	if prompt == 0 {
		return "", steps.NotTestedf("no scenario has shown how long the agent takes for its first message if relay.joined " +
			"comes at once")
	}
	if slow := tooSlow((joined.At-asked.At)/2, max(prompt, act.At-joined.At),
		"relay.joined was delayed for twice as long"); slow != "" {
		s.promptness().atLeast(act.At - asked.At) // possibly by its own pace
		return slow, nil
	}
	return "", s.Judge(steps.CheckOf(act, true, "", "EA-026"))
}
