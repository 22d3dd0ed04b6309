package externalagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/internal/cut"
	"parley/internal/deadline"
	"parley/steps"
	judge "parley/steps/externalagent/invariants"
	"parley/transcript"
)

// howEnded is how a process has ended.
func howEnded(err error) string {
	if err == nil {
		return endedWell
	}
	return err.Error()
}

// exited begins the remark that the agent's process has ended.
const exited = "the agent's process has ended: "

// endedWell is how a process ends that has done its work.
const endedWell = "exit status 0"

// gone reports whether the agent's process has ended, and nobody is left who could still say something. A process that
// ends well may have been there to start another one, which is the agent: it is gone only once it had a connection, and
// has none any more, and nothing came behind its end.
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
		case r.Kind == transcript.Closed || r.Kind == transcript.Failure: // by whomever
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

// unreachable tells that the agent's process has failed before it asked for any connection. One that lives for as long
// as it has to join was started well, and gives up by itself.
func (s *suite) unreachable() error {
	end := s.gone()
	if end == "" || strings.HasSuffix(end, endedWell) {
		return nil
	}
	for _, r := range s.T.After(s.agent.started) {
		if r.Dir == transcript.Received || r.At > s.joinLimit().Duration { // it has come, if only to another place
			return nil
		}
	}
	return &steps.UnreachableError{Err: errors.New(end + s.lastWords())}
}

// span is a time limit of the profile, and its key.
type span struct {
	time.Duration
	key string
}

// joinLimit is for an agent to connect and join.
func (s *suite) joinLimit() span { return span{s.wire.Agent.Join.Duration, "join"} }

// pace is for the next thing that an agent does.
func (s *suite) pace() span { return span{s.wire.Agent.Pace.Duration, "pace"} }

// passed is the reason of a miss.
func (l span) passed() string {
	return fmt.Sprintf("nothing of the kind within %v, which is external-agent.agent.%s; "+
		"where agents get slow side by side, a lower concurrency helps", l.Duration, l.key)
}

// awaitAgent waits for something that the agent sends, on whatever connection.
func (s *suite) awaitAgent(
	ctx context.Context, after int, within span, match func(*transcript.Record) bool,
) (transcript.Record, *steps.Miss) {
	return s.awaitAgentOr(ctx, after, within, func(r *transcript.Record) bool { return fromAgent(r) && match(r) })
}

// fromAgent matches what the target does on its connections.
func fromAgent(r *transcript.Record) bool {
	return strings.HasPrefix(r.Conn, judge.AgentParty) && r.Dir == transcript.Received
}

// awaitAgentOr waits for any record. The limit begins anew with whatever the agent says: it is for the next thing that
// it does. One that is silent for a quarter of it may be waiting for the participant, who speaks then. The end of the
// agent's process makes waiting hopeless, but for what is still on its way. match sees each record once.
func (s *suite) awaitAgentOr(
	ctx context.Context, after int, within span, match func(*transcript.Record) bool,
) (transcript.Record, *steps.Miss) {
	first, gone, spoken := within.Duration/4, "", false
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
		matched := false
		rec, err := s.T.Await(limited, after, func(r *transcript.Record) bool {
			after, matched = r.N, match(r)
			return matched || fromAgent(r) && (r.Kind == transcript.Frame || closed(r)) || strings.HasPrefix(r.Label, exited)
		})
		switch {
		case matched:
			return rec, nil
		case err == nil && rec.Kind == transcript.Frame:
			anew()
		case err == nil: // the end of a connection or of the process is nothing that it does
		case ctx.Err() != nil:
			s.CutOff()
			return rec, &steps.Miss{Reason: "the scenario was cut off"}
		case gone != "":
			return rec, &steps.Miss{Reason: gone}
		case spoken:
			return rec, &steps.Miss{Reason: within.passed(), Late: true}
		default:
			s.nudge(ctx)
			spoken = true
			cancel()
			limited, cancel = deadline.WithLimit(ctx, within.Duration-first)
		}
	}
}

// nudge has the participant speak to an agent that has joined. A host that is busy, as with an agent that does not
// read, is not waited for.
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

// lastWords is what the agent was refused last, or how its connection has ended, and what its process wrote last: for
// the reason of a miss.
func (s *suite) lastWords() string {
	out := s.lastTrouble()
	if s.agent.called == nil {
		return out
	}
	text := strings.TrimSpace(s.agent.called.Stderr())
	if text == "" {
		return out
	}
	return out + "; it wrote: " + cut.Tail(text, 600)
}

// lastTrouble is the latest request of the agent that was refused, or end of a connection.
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
