package externalagent

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	steps.Step(sc, `^agent (\w+) is not refused$`, func(ctx context.Context, name string) error { return s.isNotRefused(ctx, s.party(name)) })
	steps.Step(sc, `^the flow is as it was for agent (\w+)$`, func(ctx context.Context, name string) error { return s.flowUnchanged(ctx, s.party(name)) })
	steps.Step(sc, `^the participant speaks to agent (\w+)$`, func(ctx context.Context, name string) error { return s.participantSpeaks(ctx, s.party(name)) })
	steps.Step(sc, `^agent (\w+) hears the participant$`, func(ctx context.Context, name string) error { return s.hearsParticipant(ctx, s.party(name)) })
}

// says sends an agent.message, whose text has a nonce; more may be put into its payload.
func (s *suite) says(ctx context.Context, p *party, more object) error {
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return err
	}
	p.before = now
	s.word = fmt.Sprintf("word-%s-%d", s.Nonce, s.Serial())
	more["text"] = "Please note: " + s.word
	_, err = s.ask(ctx, p, vocab.AgentMessage, more)
	return err
}

// isNotRefused judges that an agent.message is not refused (EA-008), up to the answer of a fence.
func (s *suite) isNotRefused(ctx context.Context, p *party) error {
	q := p.last
	if q == nil || q.kind != vocab.AgentMessage {
		return steps.NotTestedf("agent %s has said nothing", p.name)
	}
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return err
	}
	p.after = now
	for _, r := range s.Between(p.name, q.mark, 0) {
		if answers(q.id)(&r) && refused(&r) || received(vocab.ErrorMessage)(&r) && field(&r, "replyTo") == "" {
			return s.Judge(steps.Check{Clauses: []string{"EA-008"}, Expected: "no error", Observed: steps.Seen(r), At: r.N})
		}
	}
	p.last = q
	return s.Judge(steps.Check{Clauses: []string{"EA-008"}, OK: true, At: now.at})
}

// flowUnchanged judges that an agent.message has executed no tool and changed nothing in the flow (EA-008a): the tools and
// the uiSpec are those before it, apart from what shows the message itself.
func (s *suite) flowUnchanged(ctx context.Context, p *party) error {
	q, before := p.last, p.before
	if q == nil || q.kind != vocab.AgentMessage {
		return steps.NotTestedf("agent %s has said nothing", p.name)
	}
	look := func(now state) error {
		check := steps.Check{Clauses: []string{"EA-008a"}, OK: true, At: now.at, Expected: "the uiSpec and the toolSchema as they were before agent.message"}
		for _, m := range []struct {
			name string
			a, b any
		}{{"toolSchema", before.tools, now.tools}, {"uiSpec", before.ui, now.ui}} {
			for _, at := range changes(m.name, s.settled(m.name, m.a), s.settled(m.name, m.b)) {
				if !s.shown(m.name, at, m.a, m.b) {
					check.OK, check.Observed = false, at+" has changed"
					check.Diff = clip(s.differs(m.name, m.a, m.b), 4000)
				}
			}
		}
		for _, r := range s.Between(p.name, q.mark, 0) {
			if received(vocab.ToolResult)(&r) && answers(q.id)(&r) {
				check.OK, check.Observed, check.At = false, steps.Seen(r), r.N
			}
		}
		return s.Judge(check)
	}
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return err
	}
	if err := look(now); err != nil {
		return err
	}
	// A tool may still run: what a state.updated says later counts too.
	if all := s.updates(p, q.mark); len(all) > 0 && all[len(all)-1].at > now.at {
		return look(all[len(all)-1])
	}
	p.last = q
	return nil
}

// shown tells whether a change at a place may come of showing a message: its text stands there, or it is a count.
func (s *suite) shown(name, at string, a, b any) bool {
	was, _ := wjson.Lookup(a, strings.TrimPrefix(at, name))
	is, _ := wjson.Lookup(b, strings.TrimPrefix(at, name))
	_, counted := was.(wjson.Number)
	_, counts := is.(wjson.Number)
	return counted && counts || strings.Contains(wjson.Compact(is), s.word)
}

// participantSpeaks has the user say something: by the profile's hook, or, where the harness plays the host, by that.
func (s *suite) participantSpeaks(ctx context.Context, p *party) error {
	s.word = fmt.Sprintf("word-%s-%d", s.Nonce, s.Serial())
	text := "I prefer evening showtimes. " + s.word
	s.mark = s.T.Len()
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
	_ = s.Judge(steps.Check{Clauses: []string{"EA-061"}, OK: strings.Contains(text, s.word), At: rec.N, Expected: "payload.text is what the participant said",
		Observed: "payload.text is " + wjson.Compact(body["text"])})
	_, named := field(&rec, "replyTo"), false
	if env, ok := rec.Event.Envelope.(object); ok {
		_, named = env["replyTo"]
		named = named && env["replyTo"] != nil
	}
	return s.Judge(steps.Check{Clauses: []string{"EA-060"}, OK: !named, At: rec.N, Expected: "user.message without replyTo", Observed: steps.Seen(rec)})
}
