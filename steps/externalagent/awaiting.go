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
	"parley/steps"
	judge "parley/steps/externalagent/invariants"
	"parley/transport/transcript"
)

// howEnded describes how a process ended.
func howEnded(err error) string {
	if err == nil {
		return endedWell
	}
	return err.Error()
}

// exited is the beginning of the remark that the agent's process has ended.
const exited = "the agent's process has ended: "

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
		case r.Kind == transcript.Remark && strings.HasPrefix(r.Label, exited):
			if end, at = r.Label, r.At; !came && strings.HasSuffix(end, endedWell) {
				return ""
			}
		case !strings.HasPrefix(r.Conn, judge.AgentParty):
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
	return &steps.UnreachableError{Err: errors.New(end + s.lastWords())}
}

// span is a time limit of the profile and its key.
type span struct {
	time.Duration
	key string
}

// joinLimit is the limit for an agent to connect and join.
func (s *suite) joinLimit() span { return span{s.wire.Agent.Join.Duration, "join"} }

// pace is the limit for an agent's next act.
func (s *suite) pace() span { return span{s.wire.Agent.Pace.Duration, "pace"} }

// passed returns the reason of a miss by this limit.
func (l span) passed() string {
	return fmt.Sprintf("no such message within %v, which is external-agent.agent.%s; "+
		"if agents become slow in parallel, lower the concurrency", l.Duration, l.key)
}

// awaitAgent waits for something that the agent sends, on any of its connections.
func (s *suite) awaitAgent(
	ctx context.Context, after int, within span, match func(*transcript.Record) bool,
) (transcript.Record, *verdict.Miss) {
	return s.awaitAgentOr(ctx, after, within, func(r *transcript.Record) bool { return fromAgent(r) && match(r) })
}

// fromAgent matches what the target sends on its connections.
func fromAgent(r *transcript.Record) bool {
	return strings.HasPrefix(r.Conn, judge.AgentParty) && r.Dir == transcript.Received
}

// awaitAgentOr waits for any record. The limit restarts with each act of the agent (acts). If the agent is silent for a
// quarter of the limit, the participant speaks, in case the agent waits for that. Once the agent's process has ended,
// only what is still in transit is awaited. match sees each record once. See awaitDriven for an agent with hooks.call.
func (s *suite) awaitAgentOr(
	ctx context.Context, after int, within span, match func(*transcript.Record) bool,
) (transcript.Record, *verdict.Miss) {
	if d := s.driven(); d != nil {
		return s.awaitDriven(ctx, d, after, within, match)
	}
	first, gone, spoken := within.Duration/4, "", false
	var did acts
	limited, cancel := deadline.WithLimit(ctx, first)
	defer func() { cancel() }()
	anew := func() {
		limit := within.Duration
		switch {
		case gone != "":
			limit = s.Env.Profile.Limits.Quiet.Duration
		case !spoken:
			limit = first
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
			after, matched, acted = r.N, match(r), did.act(r)
			return matched || acted || fromAgent(r) && closed(r) || strings.HasPrefix(r.Label, exited)
		})
		switch {
		case matched:
			return rec, nil
		case err == nil && acted:
			anew()
		case err == nil: // the end of a connection or process is not an act of the agent
		case ctx.Err() != nil:
			s.CutOff()
			return rec, &verdict.Miss{Reason: "the scenario was cut off"}
		case gone != "":
			return rec, &verdict.Miss{Reason: gone}
		case spoken:
			return rec, &verdict.Miss{Reason: cmp.Or(did.again(), within.passed()), Late: true}
		default:
			s.nudge(ctx)
			spoken = true
			cancel()
			limited, cancel = deadline.WithLimit(ctx, within.Duration-first)
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

// lastWords returns, for the reason of a miss, the agent's latest trouble and what its process last wrote.
func (s *suite) lastWords() string {
	out := s.lastTrouble()
	if s.agent.called == nil {
		return out
	}
	return out + s.Cry(s.agent.called.Stderr())
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
			return fmt.Sprintf("; it asked for %s: %s; the endpoint is %s", r.Label, status, s.wire.WS.Path)
		case r.Kind == transcript.Failure || r.Kind == transcript.Closed:
			return "; its connection has ended: " + r.Label
		}
	}
	return ""
}
