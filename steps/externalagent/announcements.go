package externalagent

import (
	"context"
	"slices"

	"parley/internal/deadline"
	"parley/internal/words"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/transport/transcript"
)

// announcesNothing answers a call and then announces no tool for a while. After this gap the booking is elsewhere, with
// tools that were not announced before, so that a late call is recognisable by its tool. The caller holds the lock.
func (s *suite) announcesNothing(t turn) []any {
	nothing := envelope(vocab.StateUpdated, "", "", object{"source": vocab.SourceHost,
		vocab.Spec: object{"stage": "please wait"}, vocab.MessageHistory: t.history, vocab.ToolSchema: []any{}})
	t.elsewhere()
	s.planAgain(t, func(object, object) bool { return s.tookLong(0) != "" }, s.announcesNothing)
	return []any{t.result, nothing, s.window(), t.updated()}
}

// announcesNone matches a state that announces no tool.
func announcesNone(r *transcript.Record) bool {
	return sent(vocab.StateUpdated)(r) && len(model.StateOf(r).List()) == 0
}

// tookLong says why a gap (the one that began with the given record, or any for 0) has shown nothing: the agent took
// longer than the gap for its next act. It returns "" if the gap was long enough or nothing can be said yet.
func (s *suite) tookLong(while int) string {
	var from, next transcript.Record
	for _, r := range s.T.After(s.agent.started) {
		switch {
		case announcesNone(&r) && (while == 0 || r.N == while):
			from, next = r, transcript.Record{}
		case from.N > 0 && next.N == 0 && tells(&r):
			next = r
		case next.N > 0 && received(vocab.ToolCall, vocab.SessionEnd)(&r):
			if slow := tooSlow(next.At-from.At, r.At-next.At, "nothing was announced"); slow != "" {
				return slow
			}
			if while > 0 {
				return ""
			}
			from, next = transcript.Record{}, transcript.Record{}
		}
	}
	return ""
}

// callsNothing judges that an agent makes no call while nothing is announced (EA-096a). The gap ends with the state
// after it.
func (s *suite) callsNothing(ctx context.Context) error {
	return s.judgeUntilPrompt(ctx, s.calledNothing)
}

// calledNothing judges one gap. slow says why it has shown nothing, or is "".
func (s *suite) calledNothing(ctx context.Context) (slow string, err error) {
	end, err := s.done(ctx)
	if err != nil {
		return "", err
	}
	limit, cancel := deadline.WithLimit(ctx, s.pace().Duration)
	defer cancel()
	from, err := s.T.Await(limit, s.begun(end), announcesNone)
	if err != nil {
		return "", steps.NotTestedf("the host has not withdrawn its tools: %v", err)
	}
	next, err := s.T.Await(limit, from.N, func(r *transcript.Record) bool { return tells(r) && !announcesNone(r) })
	if err != nil {
		return "", steps.NotTestedf("the host did not go on: %v", err)
	}
	early := func(r *transcript.Record) bool { return r.At-from.At < model.Crossing && s.overlaps(r.N) }
	// It has nothing to call and may end the session: later messages belong to another session.
	rec, miss := s.awaitAgent(ctx, from.N, s.pace(), func(r *transcript.Record) bool {
		return received(vocab.SessionEnd)(r) || r.N > next.N && received(vocab.SessionStart)(r) ||
			received(vocab.ToolCall)(r) && !early(r)
	})
	switch {
	case miss == nil && kindOf(&rec) == vocab.SessionStart:
		return "", steps.NotTestedf("the agent has begun another session (record %d) before it did anything more in this one",
			rec.N)
	case miss != nil:
		return "", s.without(miss, "neither continues nor ends its session")
	}
	found := s.found(&rec, "EA-096a", "EA-072")
	if slow := s.tookLong(from.N); slow != "" && !slices.ContainsFunc(found, isBroken) {
		return slow, nil
	}
	return "", s.Judge(found...)
}

// showsNothing answers with a quick uiSpec and then shows no active one (EA-043). The schemas of the announced tools
// do not list their params' values, so only what was shown before has some. In the quick uiSpec these values contain
// the scenario's nonce, so that no agent can know them otherwise. The uiSpec comes back after a while.
func (s *suite) showsNothing(t turn) []any {
	to, tools, values := t.unlisted()
	if to < 0 {
		return []any{t.result, t.updated()}
	}
	ui := t.flow.Stages[to].UISpec
	quick := replaced(ui, func(text string) string {
		if slices.Contains(values, text) {
			return text + "-" + s.Nonce
		}
		return text
	})
	s.agent.listed.Store(&values)
	t.move(to, tools)
	t.ui = nil
	nothing := t.updated()
	t.ui, t.narrow = copied(ui), nil
	return []any{t.confirmation(object{vocab.Spec: quick}), nothing, s.window(), t.updated()}
}

// unlisted finds a stage, cyclically from the present one, with tools whose schemas list values of their params. It
// returns the tools without these values, and the values; at is -1 if there is none. The caller holds the lock.
func (p *play) unlisted() (at int, tools []any, values []string) {
	n := len(p.flow.Stages)
	for i := range n {
		at := (p.at + i) % n
		for _, item := range p.flow.Stages[at].ToolSchema {
			if params := item.(object)["parameters"]; len(listed(params)) > 0 {
				values = append(values, listed(params)...)
				free := copied(item).(object)
				free["parameters"] = freed(params)
				tools = append(tools, free)
			}
		}
		if tools != nil {
			return at, tools, values
		}
	}
	return -1, nil, nil
}

// lists are the schema keywords that list values.
var lists = []string{"enum", "const", "default", "examples"}

// listed returns the texts in the enums of a schema.
func listed(schema any) []string {
	o, _ := schema.(object)
	var out []string
	for _, name := range names(o) {
		if list, ok := o[name].([]any); ok && name == "enum" {
			out = append(out, model.Texts(list)...)
		} else {
			out = append(out, listed(o[name])...)
		}
	}
	return out
}

// freed returns a schema without the values that it lists.
func freed(schema any) any {
	o, ok := schema.(object)
	if !ok {
		return schema
	}
	out := object{}
	for name, v := range o {
		if _, param := v.(object); param || !slices.Contains(lists, name) {
			out[name] = freed(v)
		}
	}
	return out
}

// takesNothingOld judges that while no uiSpec is active an agent makes no call with a value that it can only have
// from an earlier one (EA-051, EA-072, EA-077), and that it continues once something is shown again, or has ended its
// session.
func (s *suite) takesNothingOld(ctx context.Context) error {
	end, err := s.done(ctx)
	if err != nil {
		return err
	}
	limit, cancel := deadline.WithLimit(ctx, s.pace().Duration)
	defer cancel()
	null := func(r *transcript.Record) bool { return tells(r) && model.StateOf(r).UI == nil }
	from, err := s.T.Await(limit, s.begun(end)-1, func(r *transcript.Record) bool { return null(r) || r.N > end })
	if err != nil || !null(&from) {
		return steps.NotTestedf("the host was never without a uiSpec: no tool of the flow takes a value that its schema " +
			"lists (external-agent.flow)")
	}
	next, err := s.T.Await(limit, from.N, func(r *transcript.Record) bool { return tells(r) && !null(r) })
	if err != nil {
		return steps.NotTestedf("the host did not go on: %v", err)
	}
	var known []string // values that the flow lists for params: an agent may know them otherwise
	if values := s.agent.listed.Load(); values != nil {
		known = *values
	}
	f, others := s.model().Old(from.N, next.N, known)
	if !f.OK {
		return s.Judge(s.quote(f))
	}
	// It may take the empty screen for the end and leave. An agent that has stopped proves nothing.
	act, miss := s.awaitAgent(ctx, from.N, s.pace(), func(r *transcript.Record) bool {
		return received(vocab.SessionEnd)(r) || r.N > next.N && received(vocab.ToolCall)(r) &&
			(r.At-next.At >= model.Crossing || !s.overlaps(r.N))
	})
	if miss != nil {
		return s.without(miss, "neither continues nor ends its session")
	}
	if slow := tooSlow(next.At-from.At, act.At-next.At, "nothing was shown"); slow != "" {
		return steps.NotTestedf("%s", slow)
	}
	if others > 0 {
		return steps.NotTestedf("nothing shows what the agent does without a uiSpec: it neither waited for the next one nor "+
			"used a value that only an earlier one had (it made %s)", words.Counted(others, "call"))
	}
	return s.Judge(f)
}
