package externalagent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/transport/transcript"
)

// acts follows during a wait what an agent does. A message that has been refused stubborn times is no act any more, as
// an agent that sends it for ever would never be given up. After an answer that is no refusal everything counts again.
// The zero value is ready.
type acts struct {
	asked   map[string]string // messages without an answer so far, by id
	refused map[string]int    // how often a message was refused
	latest  string            // the type of the latest message that is no act
	times   int               // how often that was refused
}

// stubborn is more than the times in a row that a scenario has the same request refused.
const stubborn = 3

// act takes the next record, and reports whether it is an act of the agent.
func (a *acts) act(r *transcript.Record) bool {
	if a.asked == nil || len(a.asked) > tooMany || len(a.refused) > tooMany {
		a.asked, a.refused = map[string]string{}, map[string]int{}
	}
	switch {
	case r.Kind != transcript.Frame:
	case fromAgent(r):
		a.latest, a.times = "", 0
		if r.Event == nil {
			return true
		}
		text := kindOf(r) + fmt.Sprint(r.Event.Data)
		a.asked[field(r, vocab.ID)] = text
		if a.refused[text] < stubborn {
			return true
		}
		a.latest, a.times = kindOf(r), a.refused[text]
	case r.Dir == transcript.Sent:
		text, ok := a.asked[field(r, vocab.ReplyTo)]
		delete(a.asked, field(r, vocab.ReplyTo))
		switch {
		case !ok:
		case refused(r):
			a.refused[text]++
		default:
			clear(a.refused)
		}
	}
	return false
}

// again is the reason of a miss if the agent repeats what is refused; "" otherwise.
func (a *acts) again() string {
	if a.latest == "" {
		return ""
	}
	return fmt.Sprintf("it repeats a %s that was refused %d times before", a.latest, a.times)
}

// silent returns the check of an agent that did not do what it owes after a record.
func (s *suite) silent(miss *verdict.Miss, at int, d model.Duty) verdict.Finding {
	return d.Missing(at, miss, s.explain(miss.Reason))
}

// without returns the error of a scenario that is not tested because of what the agent did not do, or that has failed
// because its process has died of a legal message.
func (s *suite) without(miss *verdict.Miss, format string, args ...any) error {
	if err := s.judgeDeath(); err != nil {
		return err
	}
	return steps.NotTestedf("the agent %s: %s", fmt.Sprintf(format, args...), s.explain(miss.Reason))
}

// quoted returns the texts between quotes: A and B for "A" or "B".
func quoted(list string) []string { return strings.Split(strings.Trim(list, `"`), `" or "`) }

// Observed implements steps.Witness. Tests of hosts and agents have only the connections of agents; a test of a
// relay also has those of hosts, one at a time, named host: if a second host connects at the same time, the records
// end, because their sessions cannot be distinguished.
func (Protocol) Observed(role string, records []transcript.Record) []transcript.Record {
	joined := map[string]string{} // connection → role
	for i := range records {
		r := &records[i]
		if kindOf(r) != vocab.RelayJoin || joined[r.Conn] != "" {
			continue
		}
		p, _ := r.Event.Data.(object)
		as, _ := p[vocab.Role].(string)
		if as != vocab.HostRole && as != vocab.FrontendRole {
			as = vocab.AgentRole // an agent that joins with a wrong role is still judged
		}
		joined[r.Conn] = as
	}
	var out []transcript.Record
	host := "" // the connection of the present host
	for _, r := range records {
		as := joined[r.Conn]
		switch {
		case role != vocab.Relay || as != vocab.HostRole && as != vocab.FrontendRole:
		case r.Kind == transcript.Closed && r.Conn == host:
			host = ""
		case host != "" && host != r.Conn && r.Kind != transcript.Closed:
			return out
		case r.Kind == transcript.Frame:
			host = r.Conn
		}
		switch {
		case as == vocab.HostRole || as == vocab.FrontendRole:
			if role != vocab.Relay {
				continue
			}
			r.Conn = "host"
		case as == "" && r.Conn != "" && role == vocab.Agent && joinsLater(records, r.Conn):
			continue // it has sent nothing
		}
		out = append(out, r)
	}
	return out
}

// joinsLater reports whether a connection has not sent any message.
func joinsLater(records []transcript.Record, conn string) bool {
	for i := range records {
		if r := &records[i]; r.Conn == conn && r.Kind == transcript.Frame && r.Dir == transcript.Received {
			return false
		}
	}
	return true
}

// tries is how often the host departs from its flow where an agent that takes too long for its next act, as under
// load, shows nothing.
const tries = 3

// planAgain makes the host depart from its flow once more, at the next fitting call, up to tries times in all. The
// caller holds the play's lock.
func (s *suite) planAgain(t turn, fits func(call, result object) bool, do func(turn) []any) {
	if s.agent.departed++; s.agent.departed < tries {
		t.plans = append(t.plans, &plan{n: t.went + 1, fits: fits, do: do})
	}
}

// judgeUntilPrompt judges what an agent does at a departure, and at those that planAgain adds, until one has shown
// something. judge says why its departure has shown nothing, or returns "".
func (s *suite) judgeUntilPrompt(ctx context.Context, judge func(context.Context) (slow string, err error)) error {
	why := ""
	for range tries {
		slow, err := judge(ctx)
		var missing *steps.NotTestedError
		switch {
		case errors.As(err, &missing) && why != "":
			return steps.NotTestedf("%s; and then %s", why, missing.Reason)
		case err != nil || slow == "":
			return err
		}
		s.Note("%s", slow)
		why = slow
		s.agent.planned++
	}
	return steps.NotTestedf("%s", why)
}

// tooSlow says why a wait of a given length has shown nothing of an agent that took this long for its next act. It
// returns "" if the wait was long enough.
func tooSlow(given, took time.Duration, what string) string {
	if took <= given {
		return ""
	}
	return fmt.Sprintf("the agent took %s for its next message and was given %s in which %s: its silence may be due to "+
		"that",
		took.Round(time.Millisecond), given.Round(time.Millisecond), what)
}

// failsLater judges the refusal of a call that fails at run time after calls that succeeded (EA-083). Whether it fails
// there, too, is the host's affair.
func (s *suite) failsLater(ctx context.Context, p *party, before int) error {
	path, err := s.wholePath()
	if err != nil {
		return err
	}
	if len(path) <= before {
		return steps.NotTestedf("the booking path has no more than %d calls", before)
	}
	now, err := s.still(ctx, p)
	for _, c := range path[:before] {
		if err == nil {
			now, err = s.advance(ctx, p, c, now, false)
		}
	}
	if err != nil {
		return err
	}
	if err := s.provokes(ctx, p, failing); err != nil {
		return err
	}
	p.last.mayPass = fmt.Sprintf("a call of %s need not fail at run time after %d calls of the booking", p.last.tool,
		before)
	return s.isRefused(ctx, p, vocab.ToolExecutionFailed)
}
