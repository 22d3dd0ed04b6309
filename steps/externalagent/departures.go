package externalagent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// turn is a successful call at which the host departs from its flow. Its effect has been applied.
type turn struct {
	*play
	call object // its payload
	id   string
}

// refusal undoes the effect of the call and refuses it with a code.
func (t turn) refusal(code string) object {
	t.undo()
	return envelope(vocab.ErrorMessage, "", t.id, object{"code": code, "message": "the scenario lets this call fail"})
}

// confirmation returns a tool.result with members in addition to, or instead of, ok and toolName.
func (t turn) confirmation(more object) object {
	body := object{"ok": true, vocab.ToolName: t.call[vocab.ToolName]}
	for name, v := range more {
		body[name] = v
	}
	return envelope(vocab.ToolResult, "", t.id, body)
}

// movesOn undoes the effect of the call and moves the booking elsewhere.
func (t turn) movesOn() {
	t.undo()
	t.elsewhere()
}

// departureSteps are the steps by which the host departs from its flow, planned before the agent is started.
func (s *suite) departureSteps() []step {
	at := func(do func(turn) []any) any { return func(n int) error { return s.plan(n, nil, do) } }
	atOKAlone := func(do func(turn) []any) any { return func(n int) error { return s.plan(n, okAlone, do) } }
	return []step{
		{`^call (\d+) is refused with "(\w+)"$`, func(n int, code string) error {
			return s.plan(n, nil, func(t turn) []any { return []any{t.refusal(code)} })
		}},
		{`^call (\d+) is refused by a result with ok:false$`, at(func(t turn) []any {
			t.undo()
			return []any{t.confirmation(object{"ok": false, "code": vocab.ToolExecutionFailed,
				"message": "the scenario lets this call fail"})}
		})},
		{`^call (\d+) is refused, and is no longer announced$`, at(func(t turn) []any {
			refusal := t.refusal(vocab.ToolExecutionFailed)
			t.withdraw(t.call)
			// The state comes first: an agent that has read the refusal then also knows what it may call.
			return []any{t.updated(), refusal}
		})},
		{`^the state after call (\d+) contradicts its result$`, at(contradicts)},
		{`^the state after call (\d+) comes late$`,
			atOKAlone(s.tellsLate)},
		{`^the participant speaks during call (\d+), and its result and state come late$`,
			atOKAlone(s.speaksMeanwhile)},
		{`^the state after call (\d+) is lost$`, atOKAlone(func(t turn) []any {
			t.lost = true
			return []any{t.result}
		})},
		{`^the state comes before the result of call (\d+)$`,
			at(func(t turn) []any { return []any{t.updated(), t.result} })},
		{`^the announced tools change during call (\d+)$`, at(func(t turn) []any {
			t.movesOn()
			return []any{t.updated(), t.confirmation(nil)}
		})},
		{`^no tool is announced for a while after call (\d+)$`, at(s.announcesNothing)},
		{`^no uiSpec is shown for a while after call (\d+), while tools are announced$`, at(s.showsNothing)},
		{`^the connection is lost after call (\d+)$`,
			at(func(t turn) []any { return []any{t.result, t.updated(), hangUp{}} })},
		{`^the connection is lost during call (\d+), and the booking goes on without the agent$`, at(func(t turn) []any {
			t.movesOn()
			return []any{hangUp{}}
		})},
		{`^the host has lost the session at call (\d+)$`, at(func(t turn) []any {
			t.active = false
			t.reset()
			return []any{envelope(vocab.ErrorMessage, "", t.id, notActive)}
		})},
		{`^relay\.joined comes late$`, s.joinsLate},
		{`^the host sends (.+) (before the first state|after the first state|before the result of call \d+)$`,
			s.sendsUnasked},
	}
}

// tellsLate holds back the state after a call.
func (s *suite) tellsLate(t turn) []any {
	s.planAgain(t, s.okAloneAndSlow, s.tellsLate)
	return []any{t.result, s.window(), t.updated()}
}

// speaksMeanwhile lets the participant speak during a call, whose result and state come late.
func (s *suite) speaksMeanwhile(t turn) []any {
	s.planAgain(t, s.okAloneAndSlow, s.speaksMeanwhile)
	return []any{userSays("I prefer evening showtimes.", "time"), s.window(), t.result, t.updated()}
}

// plan makes the host depart from its flow at the first fitting call from the n-th successful one on. A nil fits
// means any.
func (s *suite) plan(n int, fits func(call, result object) bool, do func(turn) []any) error {
	if s.agent == nil {
		return steps.NotTestedf("no host awaits the agent yet")
	}
	s.agent.play.plans = append(s.agent.play.plans, &plan{n: n, fits: fits, do: do})
	s.agent.planned++
	return nil
}

// okAlone fits the calls whose result may be ok alone by the document (EA-054a).
func okAlone(call, result object) bool {
	name, _ := call[vocab.ToolName].(string)
	_, quick := result[vocab.Spec]
	return slices.Contains(model.Effective, name) && !quick
}

// okAloneAndSlow fits these calls if the agent was too slow when a state was last held back.
func (s *suite) okAloneAndSlow(call, result object) bool {
	at := s.begun(s.T.Len())
	after, next := s.T.After(at), s.callPast(at)
	i := slices.IndexFunc(after, func(r transcript.Record) bool { return next(&r) })
	return okAlone(call, result) && i >= 0 && s.calledLate(at, &after[i]) != ""
}

// sendsUnasked makes the host send a message that no agent has to expect, by the words of features.
func (s *suite) sendsUnasked(what, when string) error {
	if s.agent == nil {
		return steps.NotTestedf("no host awaits the agent yet")
	}
	p := s.agent.play
	junk, known := s.junk(p, what)
	if !known {
		return fmt.Errorf("no step sends %q", what)
	}
	switch when {
	case "before the first state":
		p.beforeFirst = junk
		s.agent.planned++
	case "after the first state":
		p.afterFirst = junk
	default:
		n, _ := strconv.Atoi(when[strings.LastIndex(when, " ")+1:])
		return s.plan(n, nil, func(t turn) []any { return append(junk(), t.result, t.updated()) })
	}
	return nil
}

// junk returns a function that makes such messages when they are sent; a state among them is the play's state at that
// time.
func (s *suite) junk(p *play, what string) (make func() []any, known bool) {
	one := func(v any) func() []any { return func() []any { return []any{v} } }
	without := func(member string) func() []any {
		e := envelope("parley.unknown", "", "", object{})
		delete(e, member)
		return one(e)
	}
	extra := func(outside, inside any) func() []any {
		return func() []any {
			e := p.updated()
			e["parleyExtra"] = outside
			e[vocab.Payload].(object)["parleyExtra"] = inside
			return []any{e}
		}
	}
	if text, ok := noEnvelopes[what]; ok {
		return one(driver.Message{Label: what, Body: []byte(text)}), true
	}
	other := "req-of-nobody-" + s.Nonce
	make, known = map[string]func() []any{
		"a binary frame":              one(driver.Message{Label: what, Body: []byte{0, 1, 2, 0xff}, Binary: true}),
		"an unknown type":             one(envelope("parley.unknown", "", "", object{"a": 1})),
		"an envelope without payload": without("payload"),
		"an envelope without type":    without("type"),
		"a presence message":          one(envelope("relay.presence", "", "", object{"role": "host", "online": true})),
		"an answer to nobody": func() []any {
			return []any{envelope(vocab.ToolResult, "", other, object{"ok": true, vocab.ToolName: vocab.Next}),
				envelope(vocab.ErrorMessage, "", other, object{"code": vocab.InvalidParams, "message": "of nobody's call"})}
		},
		"what the participant says":  one(userSays("I prefer evening showtimes.", "time")),
		"a state with extra members": extra([]any{object{"a": nil}}, "x"),
		"a long state":               extra(nil, strings.Repeat("x", 300<<10)),
	}[what]
	return make, known
}

// window is how long the host holds something back from an agent that should wait for it. It grows with how slow the
// agent has been, because an agent that does not wait could otherwise pass as waiting.
func (s *suite) window() time.Duration {
	l := s.Env.Profile.Limits
	return max(l.Quiet.Duration, min(4*slowest(s.T.All()), l.Event.Duration))
}

// slowest is the longest time that an agent has taken from the latest message to it, or its connection, to its next
// message.
func slowest(t []transcript.Record) time.Duration {
	var most, told time.Duration
	waits := false
	for _, r := range t {
		switch {
		case !strings.HasPrefix(r.Conn, model.AgentParty):
		case r.Kind == transcript.Open, r.Kind == transcript.Frame && r.Dir == transcript.Sent:
			told, waits = r.At, true
		case r.Kind == transcript.Frame && waits:
			most, waits = max(most, r.At-told), false
		}
	}
	return most
}

// contradicts answers with a quick uiSpec that shows the effect of the call, and then sends another state: the
// booking is elsewhere, with other tools announced (EA-051, EA-072).
func contradicts(t turn) []any {
	quick := t.confirmation(object{vocab.Spec: t.ui})
	t.elsewhere()
	return []any{quick, t.updated()}
}

// elsewhere moves the booking to the next stage, cyclically, that has tools that the present one lacks, and announces
// only those. If the flow has no such stage, it goes to another one and does not announce what leads on from there: a
// call based on the earlier state is thus recognisable. The caller holds the lock.
func (p *play) elsewhere() {
	n := len(p.flow.Stages)
	was := p.flow.Stages[min(p.at, n-1)]
	first := (p.at + 1) % n
	if p.at == n {
		first = 0
	}
	for i := range n {
		to := (first + i) % n
		fresh := slices.DeleteFunc(slices.Clone(p.flow.Stages[to].ToolSchema), func(item any) bool {
			return was.tools.Find(nameOf(item)) != nil
		})
		if len(fresh) > 0 {
			p.move(to, fresh)
			return
		}
	}
	to := (p.at + 1) % n
	st := p.flow.Stages[to]
	p.move(to, slices.DeleteFunc(slices.Clone(st.ToolSchema), func(item any) bool {
		return st.Effects[nameOf(item)].Go > 0 || nameOf(item) == p.latest
	}))
}

// move sets the stage and what is announced there.
func (p *play) move(to int, tools []any) {
	p.at, p.ui, p.narrow = to, copied(p.flow.Stages[to].UISpec), tools
	if tools == nil {
		p.narrow = []any{}
	}
}

// withdraw stops announcing at the present stage what a call has requested: one of the values of a param if possible,
// otherwise the tool. The caller holds the lock.
func (p *play) withdraw(call object) {
	name, _ := call[vocab.ToolName].(string)
	params, _ := call[vocab.Params].(object)
	p.narrow = []any{}
	for _, item := range p.flow.Stages[p.at].ToolSchema {
		if nameOf(item) == name {
			if item = fewer(item, params); item == nil {
				continue
			}
		}
		p.narrow = append(p.narrow, item)
	}
}

// fewer returns an announced tool that no longer allows all of the params, or nil if only the whole tool can be
// omitted.
func fewer(item any, params object) any {
	out := copied(item).(object)
	parameters, _ := out["parameters"].(object)
	properties, isSchema := parameters["properties"].(object)
	if !isSchema {
		properties = parameters
	}
	for _, name := range names(params) {
		p, _ := properties[name].(object)
		values, _ := p["enum"].([]any)
		left := slices.DeleteFunc(slices.Clone(values), func(v any) bool { return wjson.Equal(v, params[name]) })
		if len(left) > 0 && len(left) < len(values) {
			p["enum"] = left
			return out
		}
	}
	return nil
}
