package externalagent

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/target"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// odd is text that is easily damaged: other scripts, quotes, markup, characters beyond the basic plane.
const odd = `请注意：“引号” 'quotes' "and" back\\slashes <b>&amp;</b> é 😀 %s {json: true}`

// says sends an agent.message whose text has a nonce. It may look like the call of a tool; "": it does not.
func (s *suite) says(ctx context.Context, p *party, tool string) error {
	now, err := s.calm(ctx, p)
	if err != nil {
		return err
	}
	p.before = now
	s.word = s.newWord("word")
	more := object{vocab.Text: "Please note: " + s.word + " " + odd + strings.Repeat(" 一个较长的句子。", 30)}
	if tool != "" {
		more = callOf(tool, object{})
		more[vocab.Text] = tool + " " + s.word
	}
	if s.Env.Role == vocab.Relay { // the host is the harness, which accepts any member
		more["parleyUnknown"] = object{"list": []any{1.5, nil, true}}
	}
	_, err = s.ask(ctx, p, vocab.AgentMessage, more)
	return err
}

// calm returns the state of a party once the effect of its latest call shows.
func (s *suite) calm(ctx context.Context, p *party) (state, error) {
	if q := p.last; q != nil && q.kind == vocab.ToolCall && p.before.N > 0 {
		return s.settle(ctx, q, p.before)
	}
	return s.snapshot(ctx, p)
}

// afterMessage returns a party's agent.message, and its state after that.
func (s *suite) afterMessage(ctx context.Context, p *party) (q *request, now state, err error) {
	if q = p.last; q == nil || q.kind != vocab.AgentMessage {
		return q, now, steps.NotTestedf("agent %s has sent no message", p.name)
	}
	if now, err = s.snapshot(ctx, p); err == nil {
		p.last = q
	}
	return q, now, err
}

// isNotRefused judges that an agent.message is not refused (EA-008), up to the answer of a fence. A message with
// undocumented members may be refused.
func (s *suite) isNotRefused(ctx context.Context, p *party) error {
	q, now, err := s.afterMessage(ctx, p)
	if err != nil {
		return err
	}
	f, excused := s.model().Taken(s.recordOf(q), now.N)
	if excused != "" {
		s.Note("%s", excused)
		return nil
	}
	return s.Judge(s.quote(f))
}

// flowUnchanged judges that an agent.message has executed no tool and changed nothing in the flow (EA-008a): the
// tools and the uiSpec are as before it, apart from what shows the message itself.
func (s *suite) flowUnchanged(ctx context.Context, p *party) error {
	before := p.before
	q, now, err := s.afterMessage(ctx, p)
	if err != nil {
		return err
	}
	// A tool may still run, so a later state.updated counts too.
	if last := s.model().LastTold(p.name); last.N > now.N {
		now = last
	}
	if before.UI == nil && now.UI != nil {
		return steps.NotTestedf("no uiSpec was active before agent.message")
	}
	if s.flowChange(before, now) != "" { // e.g. a clock
		s.observe(ctx, before, now)
	}
	return s.Judge(s.quote(s.model().Kept(s.recordOf(q), now, s.flowChange(before, now))))
}

// flowChange returns the first place at which the flow has changed other than by showing a message, or "".
func (s *suite) flowChange(before, now state) string {
	for _, name := range []string{vocab.ToolSchema, vocab.Spec} {
		a, b := s.settled(name, before.Member(name)), s.settled(name, now.Member(name))
		for _, at := range model.Changes(name, a, b) {
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
	_, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: s.mark, Match: func(r *transcript.Record) bool {
		return received(vocab.UserMessage)(r) && strings.Contains(wjson.Compact(r.Event.Data), s.word)
	}})
	if q, ok := s.asksAside(ctx, p); ok && miss == nil { // the fence for another one
		_, _ = s.answer(ctx, q)
	}
	return s.judgeOrNeed(miss != nil, s.model().Heard(p.name, s.mark, s.word, s.spoken, miss)...)
}
