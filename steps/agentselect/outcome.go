package agentselect

import (
	"context"

	"parley/internal/stall"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
	wjson "parley/wire/json"
)

// outcome waits for what answers a client's last switch: agent_switched, or an error with one of the five codes.
// Another error may be the answer too, badly made, or speak of something else, such as a turn that failed; so the wait
// goes on, for as long as anything else can have caused it.
func (s *suite) outcome(ctx context.Context, c *client) (transcript.Record, *steps.Miss) {
	limit := s.Env.Event()
	known := func(r *transcript.Record) bool {
		return !c.fences[r.N] && (isEvent(vocab.AgentSwitchedEvent)(r) || isEvent(vocab.ErrorEvent)(r) && contains(vocab.ErrorCodes, codeOf(*r)))
	}
	other := func(r *transcript.Record) bool { return !c.fences[r.N] && isEvent(vocab.ErrorEvent)(r) }
	rec, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: c.act.mark, Within: limit,
		Match: func(r *transcript.Record) bool { return known(r) || other(r) }, Hopeless: s.refusedOverHTTP(c.act.mark)})
	if miss != nil || known(&rec) {
		return rec, miss
	}
	strange := rec
	rec, miss = s.Await(ctx, steps.Wait{Conn: c.name, After: strange.N, Within: limit, Match: known})
	if miss != nil {
		return strange, nil
	}
	return rec, nil
}

// refusedOverHTTP tells that a message was refused by its HTTP answer, and what that answer was. The event may still
// be on its way when it does, so the wait ends only where no event came before the answer.
func (s *suite) refusedOverHTTP(mark int) func(*transcript.Record) string {
	return func(r *transcript.Record) string {
		if why := failed(r, mark); why != "" {
			return why
		}
		if r.Kind == transcript.Response && r.Reply == mark && r.Status >= 400 {
			if s.graceAfter(r) {
				return ""
			}
			return "HTTP " + r.Label + " " + clip(string(r.Bytes)) + ", and no event"
		}
		return ""
	}
}

// graceAfter gives the event of a refused message the time to come: the stream is another connection, and no clause puts
// the two in order.
func (s *suite) graceAfter(r *transcript.Record) bool {
	limit := s.Env.Event()
	if s.Env.RefusalIsAll.Load() {
		limit = s.Env.Profile.Limits.Quiet.Duration
	}
	ctx, cancel := stall.WithLimit(context.Background(), limit)
	defer cancel()
	_, err := s.T.Await(ctx, r.N, func(n *transcript.Record) bool {
		return n.Conn == r.Conn && (isEvent(vocab.AgentSwitchedEvent, vocab.ErrorEvent)(n) || n.Kind == transcript.Closed)
	})
	if err != nil && limit > s.Env.Profile.Limits.Quiet.Duration {
		s.Env.RefusalIsAll.Store(true)
	}
	return err == nil
}

func hasCode(r *transcript.Record) bool {
	_, ok := wjson.Lookup(r.Event.Data, "/errorCode")
	return ok
}

func clip(t string) string {
	if len(t) > 200 {
		t = t[:200] + "…"
	}
	return t
}
