package sessionchat

import (
	"context"
	"fmt"
	"strings"

	"github.com/cucumber/godog"

	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/steps/sessionchat/model"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// query is a message that must not start a session, and how to recognize its effect.
type query struct {
	client string
	mark   int
	nonce  string
}

func (s *suite) registerRefusing(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) sends "(\w+)" a chat without its (agent_id|content)$`, s.sendsWithout)
	steps.Step(sc, `^client (\w+) sends "(\w+)" a chat whose (agent_id|content) is (.+)$`, s.sendsWith)
	steps.Step(sc, `^client (\w+) sends a chat whose options are (.+)$`, s.sendsOptions)
	steps.Step(sc, `^client (\w+) sends (malformed JSON|a JSON array|a JSON string|a JSON number|a JSON null|`+
		`an empty text|an empty object|a binary frame)$`, s.sendsJunk)
	steps.Step(sc, `^client (\w+) sends "(\w+)" a message of (no|an unknown) type$`, s.sendsType)
	steps.Step(sc, `^client (\w+) is refused$`, s.isRefused)
	steps.Step(sc, `^the answer to client (\w+) is recorded$`, s.answerNoted)
	steps.Step(sc, `^that message starts no session$`, s.noSessionOfIt)
}

// oddValues are JSON values, by their names in features; %s is a directive with the nonce.
var oddValues = map[string]func(directive string) any{
	"null":           func(string) any { return nil },
	"true":           func(string) any { return true },
	"a number":       func(string) any { return 42 },
	"a list":         func(d string) any { return []any{d} },
	"an object":      func(d string) any { return map[string]any{vocab.Type: "text", vocab.Text: d} },
	"the empty text": func(string) any { return "" },
}

func odd(name, directive string) (any, error) {
	f, ok := oddValues[name]
	if !ok {
		return nil, fmt.Errorf("%s is not a value that a step can name", name)
	}
	return f(directive), nil
}

func (s *suite) sendsWithout(ctx context.Context, client, name, field string) error {
	f, nonce := s.chatFields(name)
	delete(f, field)
	return s.sendIllegal(ctx, client, vocab.ChatType, f, nonce)
}

func (s *suite) sendsWith(ctx context.Context, client, name, field, value string) error {
	f, nonce := s.chatFields(name)
	v, err := odd(value, fmt.Sprintf("[[echo %s]]", nonce))
	if err != nil {
		return err
	}
	f[field] = v
	return s.sendIllegal(ctx, client, vocab.ChatType, f, nonce)
}

func (s *suite) sendsOptions(ctx context.Context, client, value string) error {
	f, nonce := s.chatFields(fmt.Sprintf("opt%d", s.Serial()))
	v, err := odd(value, "option")
	if err != nil {
		return err
	}
	f[vocab.Options] = v
	return s.sendIllegal(ctx, client, vocab.ChatType, f, nonce)
}

func (s *suite) sendsType(ctx context.Context, client, name, which string) error {
	f, nonce := s.chatFields(name)
	kind := ""
	if which == "an unknown" {
		kind = "x-parley-unknown"
	}
	return s.sendIllegal(ctx, client, kind, f, nonce)
}

// chatFields returns the fields of a legal chat, and its nonce.
func (s *suite) chatFields(name string) (fields, string) {
	nonce := s.newNonce()
	return fields{vocab.AgentID: s.session(name).agentID, vocab.Content: fmt.Sprintf("[[echo %s]]", nonce)}, nonce
}

func (s *suite) sendIllegal(ctx context.Context, client, kind string, f fields, nonce string) error {
	m, err := s.bind.message(kind, f)
	if err != nil {
		return err
	}
	return s.sendQuery(ctx, client, m, nonce)
}

func (s *suite) sendsJunk(ctx context.Context, client, what string) error {
	nonce := s.newNonce()
	chat := fields{vocab.AgentID: "junk-" + nonce, vocab.Content: fmt.Sprintf("[[echo %s]]", nonce)}
	legal, err := s.bind.message(vocab.ChatType, chat)
	if err != nil {
		return err
	}
	bodies := map[string]string{
		"malformed JSON": string(legal.Body[:len(legal.Body)-1]), "a JSON array": "[" + string(legal.Body) + "]",
		"a JSON string": `"` + nonce + `"`, "a JSON number": "42", "a JSON null": "null",
		"an empty text": "", "an empty object": "{}", "a binary frame": string(legal.Body),
	}
	m := driver.Message{Label: what, Body: []byte(bodies[what]), Binary: what == "a binary frame"}
	return s.sendQuery(ctx, client, m, nonce)
}

func (s *suite) sendQuery(ctx context.Context, client string, m driver.Message, nonce string) error {
	c := s.client(client)
	mark, err := s.send(ctx, c, m)
	if err != nil {
		return err
	}
	s.mark, s.illegal = mark, &query{client: client, mark: mark, nonce: nonce}
	return nil
}

// isRefused judges that a chat without a required field is refused (SC-030, SC-031).
func (s *suite) isRefused(ctx context.Context, client string) error {
	q := s.illegal
	if q == nil || q.client != client {
		return steps.NotTestedf("client %s has sent nothing illegal", client)
	}
	if !s.accepted() {
		return steps.NotTestedf("no legal chat was answered before, so a refusal proves nothing")
	}
	rec, miss := s.fenced(ctx, steps.Wait{Conn: client, After: q.mark, Match: s.refuses(q)})
	if miss == nil {
		if err := s.reconnect(ctx, client, rec); err != nil {
			return err
		}
	} else {
		s.T.Remark("", "%s%d: %s", model.InVain, q.mark, miss.Reason)
		s.dropEnded(client)
	}
	f := s.model().Refusal(q.mark)
	f.Miss = miss
	return s.Judge(f)
}

// refuses matches the refusal of a message.
func (s *suite) refuses(q *query) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		f := s.model().Refusal(q.mark)
		return f.OK && f.At == r.N
	}
}

// accepted reports whether a turn has been answered in this scenario: the counterpart of every refusal.
func (s *suite) accepted() bool {
	for _, ss := range s.sessions {
		for _, t := range ss.turns {
			if c := s.became(t); c.Result().N > 0 && !c.Cut() {
				return true
			}
		}
	}
	return false
}

// reconnect drops a connection that the target has ended: the next message uses a new one. After an error the close
// may still be on its way, so a fence finds out.
func (s *suite) reconnect(ctx context.Context, client string, by transcript.Record) error {
	c := s.client(client)
	if by.Kind == transcript.Closed {
		c.conn = nil
		return nil
	}
	t, miss, err := s.tryFence(ctx, c)
	switch {
	case miss == nil && err == nil:
		return nil
	case s.endedAt(c) > 0:
		c.conn = nil
		return nil
	case err != nil:
		return err
	}
	// A chat was answered before the message and none after it: the connection no longer works.
	return s.report(t, model.Usable, miss)
}

// dropEnded drops a connection that is known to have ended.
func (s *suite) dropEnded(client string) {
	if c := s.client(client); s.endedAt(c) > 0 {
		c.conn = nil
	}
}

// answerNoted records how a target handles a message that no clause covers.
func (s *suite) answerNoted(ctx context.Context, client string) error {
	q := s.illegal
	if q == nil {
		return steps.NotTestedf("client %s has sent nothing", client)
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: client, After: q.mark, Within: s.Env.Profile.Limits.Quiet.Duration,
		Match: func(r *transcript.Record) bool { return s.refuses(q)(r) || r.Kind == transcript.Closed }})
	what := "no answer within the quiet window"
	if miss == nil {
		what = steps.Seen(rec)
		if err := s.reconnect(ctx, client, rec); err != nil {
			return err
		}
	} else if miss.At > 0 {
		what = miss.Reason
		s.dropEnded(client)
	} else if err := s.reconnect(ctx, client, transcript.Record{}); err != nil {
		return err
	}
	s.Note("answered by: %s", strings.TrimSpace(what))
	// No clause covers an empty text, or options of another type.
	for _, id := range []string{"SC-030", "SC-031", "SC-032"} {
		s.Observe(id, "answered by "+what)
	}
	return nil
}

// noSessionOfIt judges that an illegal message started no session and reached no model, now up to the answer of a
// fence, and again at the end of the scenario.
func (s *suite) noSessionOfIt(ctx context.Context) error {
	q := s.illegal
	if q == nil {
		return steps.NotTestedf("nothing illegal was sent")
	}
	s.dropEnded(q.client)
	if err := s.reconnect(ctx, q.client, transcript.Record{}); err != nil {
		return err
	}
	if c := s.client(q.client); c.conn == nil { // it was closed: the fence uses a new connection
		if err := s.fence(ctx, c); err != nil {
			return err
		}
	}
	look := func() error {
		session := s.model().Uncalled(q.client, "", q.mark)
		if s.Env.Brain == nil || !session.OK {
			return s.Judge(session)
		}
		clauses := []string{"SC-002", "SC-029", "SC-030", "SC-031", "SC-055"}
		asked := s.Env.Brain.Find(func(r llm.Request) bool { return holds(r, q.nonce) })
		if len(asked) > 0 {
			seen := "the model was called with " + quoted(userTexts(asked[0]))
			return s.breach(clauses, q.mark, "no request of the model", seen)
		}
		return s.Judge(session)
	}
	s.AtEnd(func() { _ = look() })
	return look()
}
