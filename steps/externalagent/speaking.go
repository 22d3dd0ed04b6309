package externalagent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// odd is text that is easily damaged: other scripts, quotes, markup, characters beyond the basic plane.
const odd = `请注意：“引号” 'quotes' "and" back\\slashes <b>&amp;</b> é 😀 %s {json: true}`

// says sends an agent.message whose text has a nonce; more adds members to its payload.
func (s *suite) says(ctx context.Context, p *party, more object) error {
	now, err := s.calm(ctx, p)
	if err != nil {
		return err
	}
	p.before = now
	s.word = s.newWord("word")
	if tool, ok := more[vocab.ToolName]; ok {
		more[vocab.Text] = fmt.Sprintf("%v %s", tool, s.word)
	} else {
		more[vocab.Text] = "Please note: " + s.word + " " + odd + strings.Repeat(" 一个较长的句子。", 30)
	}
	if s.Env.Role == vocab.Relay { // the host is the harness, which accepts any member
		more["parleyUnknown"] = object{"list": []any{1.5, nil, true}}
	}
	_, err = s.ask(ctx, p, vocab.AgentMessage, more)
	return err
}

// calm returns the state of a party once the effect of its latest call shows.
func (s *suite) calm(ctx context.Context, p *party) (state, error) {
	if q := p.last; q != nil && q.kind == vocab.ToolCall && p.before.at > 0 {
		return s.settle(ctx, q, p.before)
	}
	return s.snapshot(ctx, p)
}

// isNotRefused judges that an agent.message is not refused (EA-008), up to the answer of a fence. A message with
// undocumented members may be refused.
func (s *suite) isNotRefused(ctx context.Context, p *party) error {
	q := p.last
	if q == nil || q.kind != vocab.AgentMessage {
		return steps.NotTestedf("agent %s has sent no message", p.name)
	}
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return err
	}
	p.last = q
	for _, r := range s.Between(p.name, q.mark, 0) {
		if !(answers(q.id)(&r) && refused(&r) || received(vocab.ErrorMessage)(&r) && field(&r, vocab.ReplyTo) == "") {
			continue
		}
		if _, odd := q.body[vocab.ToolName]; odd && s.codeOf(&r) == vocab.InvalidMessage {
			s.Note("an agent.message with members of a tool.call is refused")
			return nil
		}
		return s.breaks(r, "no error", "EA-008")
	}
	return s.Judge(verdict.Finding{Clauses: []string{"EA-008"}, OK: true, At: now.at})
}

// flowUnchanged judges that an agent.message has executed no tool and changed nothing in the flow (EA-008a): the
// tools and the uiSpec are as before it, apart from what shows the message itself.
func (s *suite) flowUnchanged(ctx context.Context, p *party) error {
	q, before := p.last, p.before
	if q == nil || q.kind != vocab.AgentMessage {
		return steps.NotTestedf("agent %s has sent no message", p.name)
	}
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return err
	}
	p.last = q
	for _, r := range s.Between(p.name, q.mark, 0) {
		if received(vocab.ToolResult)(&r) && answers(q.id)(&r) {
			return s.breaks(r, "no tool executed by agent.message", "EA-008a")
		}
	}
	// A tool may still run, so a later state.updated counts too.
	if last := s.lastUpdate(p, q.mark); last.at > now.at {
		now = last
	}
	if before.ui == nil && now.ui != nil {
		return steps.NotTestedf("no uiSpec was active before agent.message")
	}
	if s.flowChange(before, now) != "" { // e.g. a clock
		s.observe(ctx, before, now)
	}
	at := s.flowChange(before, now)
	check := unlike(now.at, s.movedFrom(before, now), "the uiSpec and the toolSchema as they were before agent.message",
		"EA-008a")
	check.OK, check.Observed = at == "", at+" has changed"
	return s.Judge(check)
}

// flowChange returns the first place at which the flow has changed other than by showing a message, or "".
func (s *suite) flowChange(before, now state) string {
	for _, name := range []string{vocab.ToolSchema, vocab.Spec} {
		a, b := s.settled(name, before.member(name)), s.settled(name, now.member(name))
		for _, at := range changes(name, a, b) {
			if !s.shown(name, at, a, b) {
				return at
			}
		}
	}
	return ""
}

// shown reports whether a change at a place may come from showing a message: it contains the message or its
// beginning, a count of messages, or a flag or time for a new one.
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

// counted reports whether a text is another with its number increased by one, as in "2 unread".
func counted(was, is string) bool {
	digits := func(r rune) bool { return r < '0' || r > '9' }
	x, errA := strconv.Atoi(strings.TrimFunc(was, digits))
	y, errB := strconv.Atoi(strings.TrimFunc(is, digits))
	return errB == nil && (errA == nil && y == x+1 || was == "" && y == 1 && strings.HasPrefix(is, "1"))
}

// participantSpeaks lets the participant say something, through the profile's hook, at its page, or through the
// played host.
func (s *suite) participantSpeaks(ctx context.Context, p *party) error {
	s.word = s.newWord("word")
	return s.participantSays(ctx, p, "I prefer evening showtimes. "+s.word+" "+odd)
}

// participantRepeats lets the participant say once more what was said last.
func (s *suite) participantRepeats(ctx context.Context, p *party) error {
	return s.participantSays(ctx, p, s.spoken)
}

func (s *suite) participantSays(ctx context.Context, p *party, text string) error {
	s.spoken, s.mark, s.spokenAt = text, s.T.Len(), s.T.Len()
	if s.Env.Role == vocab.Relay {
		return s.hostSays(ctx, p, func(*play) any { return userSays(text, "time") })
	}
	err := error(&target.NotDeclaredError{Key: "hooks.user-says"})
	if s.wire.Page != nil {
		err = s.speaksAtPage(ctx, p.session, text)
	} else if speaker, ok := s.Target.(target.Speaker); ok {
		err = speaker.Say(ctx, p.session, text)
	}
	var missing *target.NotDeclaredError
	var unreachable *steps.UnreachableError
	var untested *steps.NotTestedError
	switch {
	case errors.As(err, &unreachable), errors.As(err, &untested):
		return err
	case errors.As(err, &missing):
		return steps.NotTestedf("the participant cannot be made to speak: %v", err)
	case err != nil:
		return steps.NotTestedf("the participant could not be made to speak: %v", err)
	}
	return nil
}

// participantSpeaksIf is participantSpeaks, but a target need not support it if the step says so.
func (s *suite) participantSpeaksIf(ctx context.Context, p *party, optional string) error {
	err := s.participantSpeaks(ctx, p)
	if missing := (*steps.NotTestedError)(nil); optional != "" && errors.As(err, &missing) {
		return nil
	}
	return err
}

// hearsParticipant judges that the participant's words reach an agent as user.message (EA-009, EA-060).
func (s *suite) hearsParticipant(ctx context.Context, p *party) error {
	if s.word == "" || p.conn == nil {
		return steps.NotTestedf("the participant has said nothing to agent %s", p.name)
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: s.mark, Match: func(r *transcript.Record) bool {
		return received(vocab.UserMessage)(r) && strings.Contains(wjson.Compact(r.Event.Data), s.word)
	}})
	if miss != nil {
		return s.Need(miss.Check("user.message with what the participant said: …"+s.word, "EA-009", "EA-060"))
	}
	_ = s.Judge(steps.CheckOf(rec, true, "", "EA-009"))
	text, _ := payload(&rec)[vocab.Text].(string)
	_ = s.Judge(verdict.Finding{Clauses: []string{"EA-061"}, OK: strings.TrimSpace(text) == s.spoken, At: rec.N,
		Expected: "payload.text is what the participant said: " + wjson.Compact(s.spoken),
		Observed: "payload.text is " + wjson.Compact(payload(&rec)[vocab.Text])})
	s.reports(&rec, "EA-060")
	return s.hearsOnce(ctx, p, &rec)
}

// hearsOnce judges that what the participant has said once is forwarded once (EA-009), up to the answer of a fence.
func (s *suite) hearsOnce(ctx context.Context, p *party, first *transcript.Record) error {
	if q, ok := s.asksAside(ctx, p); !ok {
		return nil
	} else if _, miss := s.answer(ctx, q); miss != nil {
		return nil
	}
	for _, r := range s.Between(p.name, first.N, 0) {
		if received(vocab.UserMessage)(&r) && wjson.Equal(payload(&r)[vocab.Text], payload(first)[vocab.Text]) {
			return s.breaks(r, fmt.Sprintf("one user.message for what the participant has said once, record %d", first.N),
				"EA-009")
		}
	}
	return nil
}
