package externalagent

import (
	"context"
	"sync/atomic"
	"time"

	"parley/monitor"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/transcript"
)

// promptness is the longest time that the agents of a run have taken from relay.joined to their first act, in
// nanoseconds.
type promptness struct{ most atomic.Int64 }

func (s *suite) promptness() *promptness { return learnt[promptness](s) }

// joinWindow is how long relay.joined is kept back from an agent: several times as long as agents have taken for their
// first act where it came at once, which preflight has seen. One that acts by its own clock has acted by then.
func (s *suite) joinWindow() time.Duration {
	return min(4*time.Duration(s.promptness().most.Load()), s.Env.Event(), s.joinLimit().Duration/2)
}

// learnPromptness takes how long the agent of this scenario has taken for its first act.
func (s *suite) learnPromptness() {
	if joined, act := joinedAndAct(s.T.After(s.agent.started)); act != nil {
		s.promptness().atLeast(act.At - joined.At)
	}
}

// atLeast notes that an agent has taken so long.
func (p *promptness) atLeast(took time.Duration) {
	for {
		was := p.most.Load()
		if int64(took) <= was || p.most.CompareAndSwap(was, int64(took)) {
			return
		}
	}
}

// joinedAndAct are the first relay.joined that an agent was sent, and what it sent first behind that; nil where there
// is none.
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

// joinedAt waits until the agent was told that it has joined.
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

// joinsLate keeps relay.joined back from whoever joins.
func (s *suite) joinsLate() {
	s.agent.play.joins = func(answer object) []any { return []any{max(s.window(), s.joinWindow()), answer} }
}

// waitsToJoin judges that an agent sends nothing between relay.join and relay.joined, which was kept back (EA-026). An
// agent whose first act takes half as long or more has shown nothing: by its own clock it might have come to that
// behind relay.joined, too. Where the harness can start another one, that one is kept waiting for longer.
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
		if err := s.awaitsAgent(ctx); err != nil {
			return err
		}
		s.joinsLate()
		if err := s.startsAgent(ctx); err != nil {
			return err
		}
	}
}

// waitedToJoin is waitsToJoin for one agent. Slow says why it has shown nothing, where it took too long.
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
		case fromAgent(&r) && r.Kind == transcript.Frame && asked.N < joined.N: // as the monitor of such messages says it
			return "", s.Judge(steps.Check{Clauses: []string{"EA-026"}, At: r.N,
				Expected: "nothing before relay.joined has answered relay.join",
				Observed: "the agent has not joined yet in " + monitor.Describe(r)})
		}
	}
	act, miss := s.awaitAgent(ctx, joined.N, s.pace(), func(r *transcript.Record) bool {
		return r.Kind == transcript.Frame
	})
	if miss != nil {
		return "", s.without(miss, "does nothing once it has joined")
	}
	prompt := time.Duration(s.promptness().most.Load())
	if prompt == 0 {
		return "", steps.NotTestedf("no scenario has shown how long the agent takes for its first act where relay.joined " +
			"comes at once")
	}
	if slow := tooSlow((joined.At-asked.At)/2, max(prompt, act.At-joined.At),
		"relay.joined was kept back for twice as long"); slow != "" {
		s.promptness().atLeast(act.At - asked.At) // by its own clock, it may be
		return slow, nil
	}
	return "", s.Judge(steps.CheckOf(act, true, "", "EA-026"))
}
