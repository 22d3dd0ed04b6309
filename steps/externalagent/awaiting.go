package externalagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
	"parley/transport/transcript"
)

// howEnded describes how a process ended.
func howEnded(err error) string {
	if err == nil {
		return endedWell
	}
	return err.Error()
}

// endedWell describes the end of a process that succeeded.
const endedWell = "exit status 0"

// gone returns the remark that the agent's process has ended if nothing more can come from the agent, and ""
// otherwise. A process that succeeds may only have started the actual agent: then the agent is gone once all its
// connections have ended and nothing came after the end of the process.
func (s *suite) gone() string {
	select {
	case <-s.agent.ended:
	default:
		return ""
	}
	end, came, late := "", false, false
	stands := map[string]bool{}
	var at time.Duration
	for _, r := range s.T.After(s.agent.started) {
		switch {
		case r.Kind == transcript.Remark && strings.HasPrefix(r.Label, model.Exited):
			if end, at = r.Label, r.At; !came && strings.HasSuffix(end, endedWell) {
				return ""
			}
		case !strings.HasPrefix(r.Conn, model.AgentParty):
		case r.Kind == transcript.Closed || r.Kind == transcript.Failure: // by either side
			delete(stands, r.Conn)
		case r.Dir == transcript.Received:
			came, stands[r.Conn] = true, true
			late = late || end != "" && r.At-at > s.Env.Profile.Limits.Quiet.Duration
		}
	}
	if strings.HasSuffix(end, endedWell) && (len(stands) > 0 || late) {
		return ""
	}
	return end
}

// unreachable returns an error if the agent's process failed before it asked for any connection. A process that lived
// for as long as the join limit did start, and gave up by itself.
func (s *suite) unreachable() error {
	end := s.gone()
	if end == "" || strings.HasSuffix(end, endedWell) {
		return nil
	}
	for _, r := range s.T.After(s.agent.started) {
		if r.Dir == transcript.Received || r.At > s.joinLimit().Duration { // it did come, if only to another path
			return nil
		}
	}
	return &steps.UnreachableError{Err: errors.New(s.explain(end))}
}

// span is a time limit of the profile: so many times the value of a key.
type span struct {
	time.Duration
	key   string
	times int
}

// joinLimit is the limit for an agent to connect and join.
func (s *suite) joinLimit() span { return span{s.wire.Agent.Join.Duration, "join", 1} }

// pace is the limit for an agent's next act.
func (s *suite) pace() span { return s.paces(1) }

// paces is the limit for an act for which an agent may wait for several times its pace.
func (s *suite) paces(n int) span {
	return span{time.Duration(n) * s.wire.Agent.Pace.Duration, "pace", n}
}

// slowInParallel is what a user may do about a limit that has passed without other trouble.
const slowInParallel = "; if agents become slow in parallel, lower the concurrency"

// passed returns the reason of a miss by this limit.
func (l span) passed() string {
	which := "external-agent.agent." + l.key
	if l.times > 1 {
		which = fmt.Sprintf("%d times %s", l.times, which)
	}
	return fmt.Sprintf("no such message within %v, which is %s%s", l.Duration, which, slowInParallel)
}

// awaitAgent waits for something that the agent sends, on any of its connections.
func (s *suite) awaitAgent(
	ctx context.Context, after int, within span, match func(*transcript.Record) bool,
) (transcript.Record, *verdict.Miss) {
	return s.awaitAgentOr(ctx, steps.KindOf(ctx), after, within, func(r *transcript.Record) bool {
		return fromAgent(r) && match(r)
	})
}

// fromAgent matches what the target sends on its connections.
func fromAgent(r *transcript.Record) bool {
	return strings.HasPrefix(r.Conn, model.AgentParty) && r.Dir == transcript.Received
}

// awaitAgentOr waits for any record. The limit restarts with each act of the agent (acts), but not for ever, and may be
// shortened (absences.go, by what is awaited). If the agent is silent for a quarter of the limit, the participant
// speaks, in case the agent waits for that. Once the agent's process has ended, only what is still in transit is
// awaited. match sees each record once. See awaitDriven for an agent with hooks.call.
func (s *suite) awaitAgentOr(
	ctx context.Context, awaited string, after int, within span, match func(*transcript.Record) bool,
) (transcript.Record, *verdict.Miss) {
	if d := s.driven(); d != nil {
		return s.awaitDriven(ctx, d, after, within, match)
	}
	defer s.Idles()()
	gone, spoken, did := "", false, acts{}
	wait := s.newAgentWait(awaited, within, after)
	limited, cancel := deadline.WithLimit(ctx, wait.limit()/4)
	defer func() { cancel() }()
	anew := func() {
		limit := wait.limit()
		switch {
		case gone != "":
			limit = s.Env.Profile.Limits.Quiet.Duration
		case !spoken:
			limit /= 4
		}
		cancel()
		limited, cancel = deadline.WithLimit(ctx, limit)
	}
	for {
		if now := s.gone(); now != gone {
			gone = now
			anew()
		}
		matched, acted := false, false
		rec, err := s.T.Await(limited, after, func(r *transcript.Record) bool {
			after, matched = r.N, match(r)
			if !matched {
				acted = did.act(r)
				wait.sees(r)
			}
			return matched || acted || fromAgent(r) && closed(r) || strings.HasPrefix(r.Label, model.Exited)
		})
		switch {
		case matched:
			wait.over(true)
			return rec, nil
		case err == nil && acted:
			anew()
		case err == nil: // the end of a connection or process is not an act of the agent
		case ctx.Err() != nil:
			s.CutOff()
			return rec, &verdict.Miss{Reason: "the scenario was cut off"}
		case gone != "":
			wait.gone()
			return rec, &verdict.Miss{Reason: gone}
		case spoken:
			wait.over(false)
			return rec, &verdict.Miss{Reason: cmp.Or(did.again(), wait.passed()), Late: true}
		default:
			s.nudge(ctx)
			spoken = true
			cancel()
			limited, cancel = deadline.WithLimit(ctx, wait.limit()*3/4)
		}
	}
}

// nudge lets the participant speak to an agent that has joined. It does not wait for a busy host, as with an agent
// that does not read.
func (s *suite) nudge(ctx context.Context) {
	p := s.agent.play
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if !p.joined || p.conn == nil {
		return
	}
	limited, cancel := deadline.WithLimit(ctx, s.Env.Event())
	defer cancel()
	stage := p.flow.Stages[min(p.at, len(p.flow.Stages)-1)].Name
	p.send(limited, p.conn, userSays("Please go on, and book a ticket for me.", stage))
}

// explain adds to the reason of a miss the agent's latest trouble, which comes first if only a limit had passed, and
// what its process last wrote.
func (s *suite) explain(reason string) string {
	if trouble := s.lastTrouble(); trouble != "" {
		passed, late := strings.CutSuffix(reason, slowInParallel)
		reason += "; " + trouble
		if late {
			reason = trouble + "; " + passed
		}
	}
	if s.agent.called == nil {
		return reason
	}
	return reason + s.QuoteStderr(s.agent.called.Stderr())
}

// lastTrouble describes the agent's latest refused request or ended connection, unless the agent has gone on since.
func (s *suite) lastTrouble() string {
	after := s.T.After(s.agent.started)
	for i, r := range slices.Backward(after) {
		switch {
		case r.Dir != transcript.Received:
		case r.Kind == transcript.Open || r.Kind == transcript.Frame:
			return "" // it went on since
		case r.Kind == transcript.Request:
			status := "no answer"
			for _, answer := range after[i:] {
				if answer.Kind == transcript.Response && answer.Reply == r.N {
					status = fmt.Sprint(answer.Status)
				}
			}
			return fmt.Sprintf("it asked for %s: %s; the endpoint is %s", r.Label, status, s.wire.WS.Path)
		case r.Kind == transcript.Failure || r.Kind == transcript.Closed:
			return "its connection has ended: " + r.Label
		}
	}
	return ""
}

// mostPairs bounds the calls that are tried beside the first of the booking.
const mostPairs = 6

// callsTogether makes two calls without waiting and judges that the effects of both are there in the end, as both were
// confirmed (EA-046, EA-074). What each changes is known from a session in which they are made one by one; only calls
// that change different parts of the uiSpec are made.
func (s *suite) callsTogether(ctx context.Context, p *party) error {
	path, err := s.wholePath()
	if err != nil {
		return err
	}
	now, announced, err := s.announcedNow(ctx, p)
	if err != nil {
		return err
	}
	tried := 0
	for i := range announced {
		t := &announced[i]
		if slices.Contains(model.Effective, t.Name) || t.Name == path[0].Tool {
			continue
		}
		for _, params := range t.Examples(s.known(t.Name, now.UI)) {
			if tried++; tried > mostPairs {
				break
			}
			first, second, err := s.oneByOne(ctx, p, path[0], t.Name, params)
			switch {
			case err != nil:
				return err
			case len(first) > 0 && len(second) > 0:
				return s.atOnce(ctx, p, path[0], t.Name, params, first, second)
			}
		}
	}
	return &steps.NotApplicableError{Reason: "no announced tool was seen to change another part of the uiSpec than the " +
		"first call of the booking does"}
}

// oneByOne makes two calls in a new session, the second one once the effect of the first shows. It returns the places
// in the uiSpec that only the first and only the second one has changed.
func (s *suite) oneByOne(
	ctx context.Context, p *party, c binding.ToolCall, tool string, params object,
) (first, second []string, err error) {
	if err := s.anew(ctx, p); err != nil {
		return nil, nil, err
	}
	start, err := s.still(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	middle, err := s.advance(ctx, p, c, start, false)
	if err != nil {
		return nil, nil, err
	}
	q, err := s.call(ctx, p, tool, params)
	if err != nil {
		return nil, nil, err
	}
	q.before = middle
	if rec, miss := s.answer(ctx, q); miss != nil || refused(&rec) {
		return nil, nil, nil
	}
	end, err := s.settle(ctx, q, middle)
	if err != nil {
		return nil, nil, err
	}
	first, second = s.Drawn(start, middle), s.Drawn(middle, end)
	return model.ExceptAt(first, second), model.ExceptAt(second, first), nil
}

// atOnce makes two calls in a new session without waiting and judges that the places that each changes have changed.
func (s *suite) atOnce(
	ctx context.Context, p *party, c binding.ToolCall, tool string, params object, first, second []string,
) error {
	if err := s.anew(ctx, p); err != nil {
		return err
	}
	start, err := s.still(ctx, p)
	if err != nil {
		return err
	}
	one, err := s.stepOf(ctx, p, c, start, false)
	if err != nil {
		return err
	}
	two, err := s.call(ctx, p, tool, params)
	if err != nil {
		return err
	}
	for _, q := range []*request{one, two} {
		rec, miss := s.answer(ctx, q)
		switch {
		case miss != nil:
			return s.judgeOrNeed(true, s.model().Answered(s.recordOf(q), rec,
				"one of two calls that were sent together", miss)...)
		case refused(&rec):
			return steps.NotTestedf("one of two calls that were sent together is refused: %s", steps.Seen(rec))
		}
	}
	for i, places := range [][]string{first, second} {
		q, other := one, two
		if i == 1 {
			q, other = two, one
		}
		if err := s.hasEffect(ctx, q, other, start, places); err != nil {
			return err
		}
	}
	return nil
}

// hasEffect judges that a call which was confirmed has changed places in the uiSpec, at once or within the event limit.
func (s *suite) hasEffect(ctx context.Context, q, other *request, start state, places []string) error {
	lost := func(now state) bool { return s.Lost(places, start, now) }
	now, err := s.still(ctx, q.of)
	if err != nil {
		return err
	}
	if lost(now) {
		_, _ = s.Await(ctx, steps.Wait{Conn: q.of.name, After: now.N, Kind: "the effect of a call sent with another",
			Fence: s.fence(q.of), Match: func(r *transcript.Record) bool {
				return received(vocab.StateUpdated)(r) && !lost(model.StateOf(r))
			}})
		if now, err = s.snapshot(ctx, q.of); err != nil {
			return err
		}
	}
	return s.Judge(s.Both(q.tool, other.tool, s.got(q).N, places, start, now))
}
