package agentselect

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"parley/internal/deadline"
	"parley/internal/llm"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/model"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// compared are the events whose order a scenario determines; others may come at any time.
var compared = map[string]bool{
	vocab.ConnectedEvent: true, vocab.AgentListEvent: true, vocab.AgentSwitchedEvent: true, vocab.ErrorEvent: true,
	vocab.CompleteEvent: true, vocab.ConfirmationRequestEvent: true, vocab.QuestionRequestEvent: true,
}

// Course implements steps.Comparer: it reduces a transcript to what must not depend on the transport: the protocol's
// events by connection, in order, with ids, nonces and times replaced.
func (Protocol) Course(records []transcript.Record) []string {
	byConn, racing := map[string][]string{}, overtaken(records)
	for _, r := range records {
		if r.Dir != transcript.Received || r.Event == nil || !compared[r.Event.Type] || r.Conn == "new" {
			continue
		}
		line := r.Event.Type + " " + shape(r.Event)
		if r.Event.Type == vocab.AgentSwitchedEvent && racing[r.Conn] {
			line = r.Event.Type // their order is a race
		}
		if r.Event.Type == vocab.ErrorEvent {
			code, coded := wjson.Lookup(r.Event.Data, "/"+vocab.ErrorCode)
			if !coded || code == any(vocab.AgentBusy) {
				continue // refusals of invalid messages depend on the transport; retries of switches are random
			}
		}
		byConn[r.Conn] = append(byConn[r.Conn], line)
	}
	conns := make([]string, 0, len(byConn))
	for c := range byConn {
		conns = append(conns, c)
	}
	sort.Strings(conns)
	var out []string
	for _, c := range conns {
		for _, e := range byConn[c] {
			out = append(out, "client "+c+": "+e)
		}
	}
	return out
}

// overtaken finds the connections on which a switch was sent before the previous one was answered.
func overtaken(records []transcript.Record) map[string]bool {
	open, out := map[string]bool{}, map[string]bool{}
	for _, r := range records {
		switch {
		case r.Event == nil:
		case r.Dir == transcript.Sent && r.Event.Type == vocab.SwitchAgentType:
			out[r.Conn] = out[r.Conn] || open[r.Conn]
			open[r.Conn] = true
		case r.Dir == transcript.Received && (r.Event.Type == vocab.AgentSwitchedEvent || r.Event.Type == vocab.ErrorEvent):
			open[r.Conn] = false
		}
	}
	return out
}

// SameCourse implements steps.Comparer: it reports whether each connection received the same events. A scenario about
// opening a connection may close it before the whole greeting has come; that does not count as a difference.
func (Protocol) SameCourse(a, b []string) bool {
	of := func(lines []string) map[string][]string {
		byConn := map[string][]string{}
		for _, l := range lines {
			conn, event, _ := strings.Cut(l, ": ")
			byConn[conn] = append(byConn[conn], event)
		}
		return byConn
	}
	left, right := of(a), of(b)
	for conn := range right {
		left[conn] = append([]string{}, left[conn]...) // so that connections of one side only are compared too
	}
	for conn, one := range left {
		other := right[conn]
		if raced(one) || raced(other) { // over SSE a switch can be sent before the event of the previous one is read
			one, other = unordered(one), unordered(other)
		}
		n := min(len(one), len(other))
		if !slices.Equal(one[:n], other[:n]) || !greetings(one[n:]) || !greetings(other[n:]) {
			return false
		}
	}
	return true
}

// raced reports whether the events are of a connection whose switches overtook each other.
func raced(events []string) bool { return slices.Contains(events, vocab.AgentSwitchedEvent) }

// unordered returns the events without what each switch was to.
func unordered(events []string) []string {
	out := slices.Clone(events)
	for i, e := range out {
		if strings.HasPrefix(e, vocab.AgentSwitchedEvent+" ") {
			out[i] = vocab.AgentSwitchedEvent
		}
	}
	return out
}

// greetings reports whether all events are greeting events.
func greetings(events []string) bool {
	for _, e := range events {
		if kind, _, _ := strings.Cut(e, " "); kind != vocab.ConnectedEvent && kind != vocab.AgentListEvent {
			return false
		}
	}
	return true
}

// shape renders an event's data without the values of ids and times, and of texts that may carry a nonce.
func shape(ev *transcript.Event) string {
	obj, ok := ev.Data.(map[string]any)
	if !ok {
		return wjson.Kind(ev.Data)
	}
	kept := map[string]any{}
	for k, v := range obj {
		switch k {
		case vocab.ConnectionID, vocab.SessionID, vocab.RequestID, "timestamp", "message", "arguments", "toolCallId":
			kept[k] = wjson.Kind(v)
		default:
			kept[k] = v
		}
	}
	return wjson.Compact(kept)
}

func (r registry) races() {
	r.step(`^client (\w+) switches to `+agentRef+` and to `+agentRef+` at once$`, r.switchesTwice)
	r.step(`^each switch of client (\w+) starts where the previous one ended$`, r.switchesChained)
	r.step(`^the model answers the aborted turn of client (\w+) late$`, r.abortedAnswers)
	r.step(`^client (\w+) sends another message during its turn$`, r.chatsOver)
	r.step(`^client (\w+) is busy until (?:its first turn|the turn in its session) ends$`, r.busyWhileFirst)
}

// switchesTwice sends two switches, the second before the first can have been answered.
func (s *suite) switchesTwice(ctx context.Context, c *client, first, second agentID) error {
	mark, err := s.sendSwitch(ctx, c, fields{vocab.AgentID: first.id}, act{})
	if err != nil {
		return err
	}
	_, err = s.sendSwitch(ctx, c, fields{vocab.AgentID: second.id}, act{})
	c.act.mark = mark
	return err
}

// switchesChained reports what the model finds of two switches in flight, in the order of their announcements, and of a
// third one after them.
func (s *suite) switchesChained(ctx context.Context, c *client) error {
	at, to := c.act.mark, s.swapped(vocab.Debugger)
	for range 2 {
		rec, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: at, Match: s.foreignAnswer(c)})
		if miss != nil {
			s.T.Remark(c.name, "%s", model.InVain(model.ConfirmationOf(s.mark), miss.Reason))
			return s.waited(c, model.ConfirmationOf(c.act.mark), rec, miss)
		}
		if !isSwitch(&rec) {
			return steps.NotTestedf("one of two switches in flight was refused: %s", steps.Seen(rec))
		}
		at, c.agent = rec.N, fmt.Sprint(field(rec, vocab.CurrentAgentID))
		s.confirmed(c, c.agent)
	}
	return s.stillFrom(ctx, c, c.agent, to)
}

// abortedAnswers lets the model continue the aborted turn, and gives the target's reaction the quiet window: nothing
// shows when an aborted turn has ended.
func (s *suite) abortedAnswers(ctx context.Context, c *client) error {
	last := len(c.turns) - 1
	if last >= 0 && s.actor == c { // its last turn runs
		last--
	}
	if last < 0 || c.turns[last].nonce == "" {
		return steps.NotTestedf("without the model stub the aborted turn of client %s cannot be made to end late", c.name)
	}
	mark := s.T.Len()
	s.Env.Brain.Release(c.turns[last].nonce)
	s.pace(ctx, c, mark, s.Env.Profile.Limits.Quiet.Duration)
	return nil
}

// chatsOver sends a second message during a turn, and waits until the target has refused or answered it; it may also
// defer it, which cannot be seen. The client's turn remains the first one.
func (s *suite) chatsOver(ctx context.Context, c *client) error {
	if c.turn == nil {
		return steps.NotTestedf("client %s has not chatted", c.name)
	}
	first := c.turn
	if err := s.chat(ctx, c, "[[echo %s]] And another thing"); err != nil {
		return err
	}
	second := c.turn
	c.turn, c.turns = first, c.turns[:len(c.turns)-1]
	over := isEvent(vocab.CompleteEvent, vocab.ErrorEvent)
	ctx, cancel := deadline.WithLimit(ctx, s.Limit(s.Env.Event()))
	defer cancel()
	refused := func(r *transcript.Record) bool {
		return r.Reply == second.mark &&
			(r.Kind == transcript.Failure || r.Kind == transcript.Response && s.notAccepted(*r) != "")
	}
	rec, err := s.T.Await(ctx, second.mark, func(r *transcript.Record) bool {
		return r.Conn == c.name && (over(r) || refused(r))
	})
	if err != nil {
		s.Note("a second message while a turn runs: deferred or not answered")
	} else {
		s.Note("a second message while a turn runs: %s", steps.Seen(rec))
	}
	return nil
}

// busyWhileFirst judges that a turn keeps its session busy whatever became of a second message, of another load of the
// session, or of the connection that it had (AS-109, AS-110). The target may have ended the turn for that, so a switch
// that succeeds is wrong only if the turn continues after it.
func (s *suite) busyWhileFirst(ctx context.Context, c *client) error {
	if c.try != nil && c.try.refused != "" {
		return steps.NotTestedf("client %s could not load the session: %s", c.name, c.try.refused)
	}
	if c.turn == nil || c.turn.session != c.session {
		return steps.NotTestedf("no turn runs in the session of client %s", c.name)
	}
	to := s.swapped(vocab.General)
	if err := s.switches(ctx, c, agentID{to}); err != nil {
		return err
	}
	rec, miss := s.outcome(ctx, c, rejection)
	switch {
	case miss != nil:
		return s.waited(c, model.AnswerTo(c.act.mark), rec, miss)
	case !isSwitch(&rec):
		return s.isAsTold(rec, codeOf(rec) == vocab.AgentBusy, "agent_busy")
	}
	s.confirmed(c, to)
	if !s.goesOn(ctx, c, rec.N) {
		return steps.NotTestedf("the turn in the session of client %s does not go on, so the target has ended it, and the "+
			"switch found the session idle", c.name)
	}
	s.T.Remark(c.name, model.TurnWentOn)
	return s.report(s.T.Len(), nil)
}

// goesOn lets a turn continue and reports whether it does: its model is asked again, or its answer comes. A turn whose
// model request the target has given up does not.
func (s *suite) goesOn(ctx context.Context, c *client, mark int) bool {
	if c.turn.request != nil {
		return s.respond(ctx, c, confirming) == nil && s.calledAgain(ctx, c) == nil
	}
	quiet, cancel := deadline.WithLimit(ctx, s.Env.Profile.Limits.Quiet.Duration)
	defer cancel()
	if s.Env.Brain.Abandoned(quiet, c.turn.nonce) {
		return false
	}
	s.release(c)
	_, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: mark, Match: s.saysNonce(c, mark)})
	return miss == nil
}

// withResult matches the model requests of a turn that carry a tool's result.
func withResult(t *turn) func(llm.Request) bool {
	return func(r llm.Request) bool {
		text, results := r.Asking()
		return results > 0 && strings.Contains(text, t.nonce)
	}
}
