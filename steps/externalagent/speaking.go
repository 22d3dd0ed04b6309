package externalagent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cucumber/godog"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

func (s *suite) registerSpeaking(sc *godog.ScenarioContext) {
	steps.Step(sc, `^agent (\w+) says something$`, func(ctx context.Context, name string) error { return s.says(ctx, s.party(name), object{}) })
	steps.Step(sc, `^agent (\w+) says what looks like a call of "(\w+)"$`, func(ctx context.Context, name, tool string) error {
		return s.says(ctx, s.party(name), object{"toolName": tool, "params": object{}, "reason": "parley: a step of the scenario"})
	})
	steps.Step(sc, `^agent (\w+) says something without an id$`, func(ctx context.Context, name string) error {
		_, err := s.send(ctx, s.party(name), envelope(vocab.AgentMessage, "", "", object{"text": "without an id " + odd}))
		return err
	})
	steps.Step(sc, `^agent (\w+) is not refused$`, func(ctx context.Context, name string) error { return s.isNotRefused(ctx, s.party(name)) })
	steps.Step(sc, `^the flow is as it was for agent (\w+)$`, func(ctx context.Context, name string) error { return s.flowUnchanged(ctx, s.party(name)) })
	steps.Step(sc, `^the participant speaks to agent (\w+)$`, func(ctx context.Context, name string) error { return s.participantSpeaks(ctx, s.party(name)) })
	steps.Step(sc, `^the participant speaks to agent (\w+), where that can be had$`, func(ctx context.Context, name string) error {
		var missing *steps.NotTestedError
		if err := s.participantSpeaks(ctx, s.party(name)); err != nil && !errors.As(err, &missing) {
			return err
		}
		return nil
	})
	steps.Step(sc, `^agent (\w+) hears the participant$`, func(ctx context.Context, name string) error { return s.hearsParticipant(ctx, s.party(name)) })
}

// odd is text that is easily spoilt: other scripts, quotes, markup, characters beyond the basic plane.
const odd = `请注意：“引号” 'quotes' "and" back\\slashes <b>&amp;</b> é 😀 %s {json: true}`

// says sends an agent.message, whose text has a nonce; more may be put into its payload.
func (s *suite) says(ctx context.Context, p *party, more object) error {
	now, err := s.calm(ctx, p)
	if err != nil {
		return err
	}
	p.before = now
	s.word = fmt.Sprintf("word-%s-%d", s.Nonce, s.Serial())
	if tool, ok := more["toolName"]; ok {
		more["text"] = fmt.Sprintf("%v %s", tool, s.word)
	} else {
		more["text"] = "Please note: " + s.word + " " + odd + strings.Repeat(" 一个较长的句子。", 30)
	}
	if s.Env.Role == vocab.Relay { // the host is the harness, which takes any member
		more["parleyUnknown"] = object{"list": []any{1.5, nil, true}}
	}
	_, err = s.ask(ctx, p, vocab.AgentMessage, more)
	return err
}

// calm is the state of a party once the effect of its latest call shows.
func (s *suite) calm(ctx context.Context, p *party) (state, error) {
	if q := p.last; q != nil && q.kind == vocab.ToolCall && p.before.at > 0 {
		return s.settle(ctx, q, p.before)
	}
	return s.snapshot(ctx, p)
}

// isNotRefused judges that an agent.message is not refused (EA-008), up to the answer of a fence. One with members that no
// document has may be.
func (s *suite) isNotRefused(ctx context.Context, p *party) error {
	q := p.last
	if q == nil || q.kind != vocab.AgentMessage {
		return steps.NotTestedf("agent %s has said nothing", p.name)
	}
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return err
	}
	p.last = q
	for _, r := range s.Between(p.name, q.mark, 0) {
		if !(answers(q.id)(&r) && refused(&r) || received(vocab.ErrorMessage)(&r) && field(&r, "replyTo") == "") {
			continue
		}
		if _, odd := q.body["toolName"]; odd && s.codeOf(&r) == vocab.InvalidMessage {
			s.Note("an agent.message with members of a tool.call is refused")
			return nil
		}
		return s.Judge(steps.Check{Clauses: []string{"EA-008"}, Expected: "no error", Observed: steps.Seen(r), At: r.N})
	}
	return s.Judge(steps.Check{Clauses: []string{"EA-008"}, OK: true, At: now.at})
}

// flowUnchanged judges that an agent.message has executed no tool and changed nothing in the flow (EA-008a): the tools and
// the uiSpec are those before it, apart from what shows the message itself.
func (s *suite) flowUnchanged(ctx context.Context, p *party) error {
	q, before := p.last, p.before
	if q == nil || q.kind != vocab.AgentMessage {
		return steps.NotTestedf("agent %s has said nothing", p.name)
	}
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return err
	}
	p.last = q
	for _, r := range s.Between(p.name, q.mark, 0) {
		if received(vocab.ToolResult)(&r) && answers(q.id)(&r) {
			return s.Judge(steps.Check{Clauses: []string{"EA-008a"}, Expected: "no tool executed by agent.message", Observed: steps.Seen(r), At: r.N})
		}
	}
	// A tool may still run: what a state.updated says later counts too.
	if all := s.updates(p, q.mark); len(all) > 0 && all[len(all)-1].at > now.at {
		now = all[len(all)-1]
	}
	if before.ui == nil && now.ui != nil {
		return steps.NotTestedf("no uiSpec was active before agent.message")
	}
	if s.flowChange(before, now) != "" { // a clock, say
		s.observe(ctx, before, now)
	}
	at := s.flowChange(before, now)
	check := steps.Check{Clauses: []string{"EA-008a"}, OK: at == "", At: now.at, Expected: "the uiSpec and the toolSchema as they were before agent.message"}
	if at != "" {
		check.Observed, check.Diff = at+" has changed", clip(s.difference(before, state{ui: now.ui, tools: now.tools, history: before.history}), 4000)
	}
	return s.Judge(check)
}

// flowChange is the first place at which the flow has changed, but for what shows a message; "" where there is none.
func (s *suite) flowChange(before, now state) string {
	for _, m := range []struct {
		name string
		a, b any
	}{{"toolSchema", before.tools, now.tools}, {"uiSpec", before.ui, now.ui}} {
		a, b := s.settled(m.name, m.a), s.settled(m.name, m.b)
		for _, at := range changes(m.name, a, b) {
			if !s.shown(m.name, at, a, b) {
				return at
			}
		}
	}
	return ""
}

// shown tells whether a change at a place may come of showing a message: the message stands there, or how it begins; it is
// counted; or a mark or a time tells that there is a new one.
func (s *suite) shown(name, at string, a, b any) bool {
	was, _ := wjson.Lookup(a, strings.TrimPrefix(at, name))
	is, _ := wjson.Lookup(b, strings.TrimPrefix(at, name))
	if strings.Contains(wjson.Compact(is), s.word) {
		return true
	}
	switch v := is.(type) {
	case bool:
		return true
	case string:
		if _, err := time.Parse(time.RFC3339, v); err == nil {
			return true
		}
		begin, _ := was.(string)
		return len(v) >= 8 && strings.HasPrefix("Please note: "+s.word, strings.TrimRight(v, "….")) || counted(begin, v)
	case wjson.Number:
		old, _ := was.(wjson.Number)
		x, errA := old.Float64()
		y, errB := v.Float64()
		return errB == nil && (errA == nil && y == x+1 || y > 1e9)
	}
	return false
}

// counted tells whether a text is another one with a number that is greater by one: "2 unread".
func counted(was, is string) bool {
	digits := func(r rune) bool { return r < '0' || r > '9' }
	x, errA := strconv.Atoi(strings.TrimFunc(was, digits))
	y, errB := strconv.Atoi(strings.TrimFunc(is, digits))
	return errB == nil && (errA == nil && y == x+1 || was == "" && y == 1 && strings.HasPrefix(is, "1"))
}

// participantSpeaks has the user say something: by the profile's hook, or, where the harness plays the host, by that.
func (s *suite) participantSpeaks(ctx context.Context, p *party) error {
	s.word = fmt.Sprintf("word-%s-%d", s.Nonce, s.Serial())
	text := "I prefer evening showtimes. " + s.word + " " + odd
	s.spoken = text
	s.mark = s.T.Len()
	s.spokenAt = s.mark
	if s.Env.Role == vocab.Relay {
		pl := s.plays[p.session]
		if pl == nil {
			return steps.NotTestedf("no host is in the relay session of agent %s", p.name)
		}
		pl.push(ctx, func() []any {
			return []any{envelope(vocab.UserMessage, "", "", object{"text": text, "stage": "time"})}
		})
		return nil
	}
	speaker, ok := s.Target.(target.Speaker)
	if !ok {
		return steps.NotTestedf("the participant cannot be made to speak: %v", &target.NotDeclaredError{Key: "hooks.user-says"})
	}
	err := speaker.Say(ctx, p.session, text)
	var missing *target.NotDeclaredError
	switch {
	case errors.As(err, &missing):
		return steps.NotTestedf("the participant cannot be made to speak: %v", err)
	case err != nil:
		return steps.NotTestedf("the participant could not be made to speak: %v", err)
	}
	return nil
}

// hearsParticipant judges that what the participant said reaches an agent as user.message (EA-009, EA-060).
func (s *suite) hearsParticipant(ctx context.Context, p *party) error {
	rec, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: s.mark, Match: func(r *transcript.Record) bool {
		return received(vocab.UserMessage)(r) && strings.Contains(wjson.Compact(r.Event.Data), s.word)
	}})
	check := steps.Check{Clauses: []string{"EA-009", "EA-060"}, OK: miss == nil, At: rec.N, Expected: "user.message with what the participant said: …" + s.word}
	if miss != nil {
		check.Observed, check.At = miss.Reason, miss.At
		return s.Need(check)
	}
	body := payload(&rec)
	text, _ := body["text"].(string)
	_ = s.Judge(check)
	_ = s.Judge(steps.Check{Clauses: []string{"EA-061"}, OK: strings.TrimSpace(text) == s.spoken, At: rec.N, Expected: "payload.text is what the participant said: " + wjson.Compact(s.spoken),
		Observed: "payload.text is " + wjson.Compact(body["text"])})
	env, _ := rec.Event.Envelope.(object)
	return s.Judge(steps.Check{Clauses: []string{"EA-060"}, OK: env["replyTo"] == nil, At: rec.N, Expected: "user.message without replyTo", Observed: steps.Seen(rec)})
}
