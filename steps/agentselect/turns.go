package agentselect

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cucumber/godog"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// turn is one exchange of a conversation.
type turn struct {
	nonce   string
	mark    int
	request *transcript.Record // the request to the user that is pending
	tool    *target.Tool
	session string // that its message named
	agent   string // that the session used when the turn began
	began   time.Time
	over    bool
	fails   bool // its model fails
	calls   int  // how often that had been asked when the target told of the failure
}

func (s *suite) registerTurns(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) chats$`, func(ctx context.Context, name string) error {
		return s.chat(ctx, name, "[[echo %s]] Hello from client "+name)
	})
	steps.Step(sc, `^client (\w+) chats and the model fails$`, s.chatsAndFails)
	steps.Step(sc, `^client (\w+) has chatted$`, s.hasChatted)
	steps.Step(sc, `^client (\w+) is answered and its turn ends$`, s.isAnswered)
	steps.Step(sc, `^client (\w+) has a turn running$`, s.hasTurnRunning)
	steps.Step(sc, `^client (\w+) has a turn running that will ask to confirm a tool$`, s.hasTurnThatAsks)
	steps.Step(sc, `^client (\w+) is asked to confirm a tool$`, func(ctx context.Context, name string) error {
		return s.isAsked(ctx, name, s.Env.Profile.Tools.Confirm, s.Env.Profile.Provoke.PendingConfirmation, vocab.ConfirmationRequestEvent)
	})
	steps.Step(sc, `^client (\w+) is asked a question$`, func(ctx context.Context, name string) error {
		return s.isAsked(ctx, name, s.Env.Profile.Tools.Ask, s.Env.Profile.Provoke.PendingQuestion, vocab.QuestionRequestEvent)
	})
	steps.Step(sc, `^client (\w+) confirms$`, func(ctx context.Context, name string) error {
		return s.respond(ctx, name, vocab.ConfirmationRequestEvent, vocab.ConfirmationResponse, true)
	})
	steps.Step(sc, `^client (\w+) answers$`, func(ctx context.Context, name string) error {
		return s.respond(ctx, name, vocab.QuestionRequestEvent, vocab.QuestionResponse, "yes")
	})
	steps.Step(sc, `^client (\w+) aborts$`, s.aborts)
	steps.Step(sc, `^the turn of client (\w+) is let go on$`, s.isLetGoOn)
	steps.Step(sc, `^client (\w+) is asked to confirm a tool in a turn that will go on$`, s.isAskedAndGoesOn)
	steps.Step(sc, `^the model is called again for client (\w+)$`, s.calledAgain)
	steps.Step(sc, `^the turn of client (\w+) still runs$`, s.stillRuns)
	steps.Step(sc, `^the turn of client (\w+) ends$`, s.turnEnds)
	steps.Step(sc, `^the model of client (\w+) was given the prompt of the custom agent$`, func(name string) error { return s.promptGiven(name, true) })
	steps.Step(sc, `^the model of client (\w+) was not given the prompt of the custom agent$`, func(name string) error { return s.promptGiven(name, false) })
	steps.Step(sc, `^the model of client (\w+) was given the tools of the custom agent$`, func(name string) error { return s.toolsGiven(name, true) })
	steps.Step(sc, `^the model of client (\w+) was not given the tools of the custom agent$`, func(name string) error { return s.toolsGiven(name, false) })
	steps.Step(sc, `^every call of that turn of client (\w+) had the prompt of the custom agent$`, s.everyCallHadPrompt)
}

// noModel says why what needs a model is not tested.
func (s *suite) noModel() error {
	if s.Env.Brain == nil {
		return steps.NotTestedf("no model stub stands behind the target (model.env, or a model hook, in the profile)")
	}
	return nil
}

// chat sends a user's message. format has one %s for the turn's nonce.
func (s *suite) chat(ctx context.Context, name, format string) error {
	c := s.client(name)
	if err := s.withSession(ctx, c); err != nil {
		return err
	}
	if err := s.noModel(); err != nil {
		return err
	}
	t := &turn{nonce: fmt.Sprintf("%s-%d", s.Nonce, s.Serial())}
	brain := s.Env.Brain
	s.AtEnd(func() { brain.Release(t.nonce); brain.Forget(t.nonce) })
	return s.say(ctx, c, t, fmt.Sprintf(format, t.nonce))
}

func (s *suite) say(ctx context.Context, c *client, t *turn, text string) error {
	mark, err := s.send(ctx, c, vocab.ChatType, fields{"content": text, "sessionId": c.session})
	if err != nil {
		return err
	}
	t.mark, t.agent, t.session, t.began = mark, c.agent, c.session, time.Now()
	if c.agent == "" {
		t.agent = s.Env.Profile.Agents.Default
	}
	c.turn, c.turns = t, append(c.turns, t)
	c.act, s.mark, s.actor = act{mark: mark, kind: vocab.ChatType, named: true}, mark, c
	return nil
}

func (s *suite) hasChatted(ctx context.Context, name string) error {
	if err := s.chat(ctx, name, "[[echo %s]] Hello from client "+name); err != nil {
		return err
	}
	if _, miss := s.awaitEnd(ctx, s.client(name)); miss != nil {
		return steps.NotTestedf("a turn of client %s did not end: %s", name, miss.Reason)
	}
	return nil
}

func (s *suite) chatsAndFails(ctx context.Context, name string) error {
	if err := s.chat(ctx, name, "[[fail %s 500]]"); err != nil {
		return err
	}
	c := s.client(name)
	if err := s.modelCalled(ctx, c); err != nil {
		return err
	}
	// A failed turn ends with an error, with complete, or with both.
	_, miss := s.Await(ctx, steps.Wait{Conn: name, After: c.turn.mark, Within: s.Env.Turn(), Kind: "the end of a turn whose model fails",
		Match: isEvent(vocab.ErrorEvent, vocab.CompleteEvent)})
	c.turn.fails, c.turn.calls = true, len(s.Env.Brain.Requests(c.turn.nonce))
	if miss == nil {
		return nil
	}
	if c.turn.calls > 1 {
		return s.stillTried(c)
	}
	s.Note("a turn whose model failed says nothing of it: %s", miss.Reason)
	return nil
}

// stillTried is the reason why nothing is known of the end of a turn: its model fails, and the target asks it again and again.
func (s *suite) stillTried(c *client) error {
	return steps.NotTestedf("the turn of client %s still runs: its model fails each time, and the target has asked it %d times within %v",
		c.name, len(s.Env.Brain.Requests(c.turn.nonce)), steps.Span(time.Since(c.turn.began)))
}

// modelCalled waits until the model has been asked for the client's turn.
func (s *suite) modelCalled(ctx context.Context, c *client) error {
	within, err := s.AwaitModel(ctx, func(ctx context.Context) error {
		_, err := s.Env.Brain.Await(ctx, c.turn.nonce, 1)
		return err
	})
	if err != nil {
		return steps.NotTestedf("running_turn: the model was not asked for the message of client %s within %s", c.name, steps.Span(within))
	}
	return nil
}

// awaitEnd waits for the end of a client's turn.
func (s *suite) awaitEnd(ctx context.Context, c *client) (transcript.Record, *steps.Miss) {
	refused := s.refusedOverHTTP(c.turn.mark)
	rec, miss := s.Await(ctx, steps.Wait{
		Conn: c.name, After: c.turn.mark, Within: s.Env.Turn(),
		Match: func(r *transcript.Record) bool { return isEvent(vocab.CompleteEvent)(r) && s.completes(c, r) },
		Hopeless: func(r *transcript.Record) string {
			if why := s.elsewhere(c, r); why != "" {
				return why
			}
			return refused(r)
		},
	})
	if miss == nil {
		c.turn.over = true
	}
	return rec, miss
}

// completes tells whether a complete event speaks of the session that a client's turn named; one that names none may.
func (s *suite) completes(c *client, r *transcript.Record) bool {
	id, named := wjson.Lookup(r.Event.Data, "/sessionId")
	return !named || id == nil || id == any(c.turn.session)
}

// elsewhere tells that a turn ran in another session than its message named: on the client's connection came the complete of a
// session that it has never had. Turns of its earlier sessions may end there too.
func (s *suite) elsewhere(c *client, r *transcript.Record) string {
	if !isEvent(vocab.CompleteEvent)(r) || s.completes(c, r) {
		return ""
	}
	id, _ := wjson.Lookup(r.Event.Data, "/sessionId")
	if text, ok := id.(string); ok && (text == c.session || contains(c.earlier, text)) {
		return ""
	}
	return fmt.Sprintf("complete came for session %s, the chat named %q: %s", quoted(id), c.turn.session, steps.Seen(*r))
}

// isAnswered judges an ordinary turn: the model's answer reaches the client, and the turn ends (AS-019).
func (s *suite) isAnswered(ctx context.Context, name string) error {
	c := s.client(name)
	if c.turn == nil {
		return steps.NotTestedf("client %s has not chatted", name)
	}
	refused := s.refusedOverHTTP(c.turn.mark)
	rec, miss := s.Await(ctx, steps.Wait{
		Conn: name, After: c.turn.mark, Within: s.Env.Turn(),
		Match: func(r *transcript.Record) bool {
			return isEvent(vocab.MessageEvent)(r) && strings.Contains(s.said(name, c.turn.mark, r.N), c.turn.nonce)
		},
		Hopeless: func(r *transcript.Record) string {
			if why := s.elsewhere(c, r); why != "" {
				return why
			}
			return refused(r)
		},
	})
	clauses := []string{"AS-019", "AS-100"}
	if c.loaded {
		clauses[1] = "AS-101"
	}
	if miss != nil {
		return s.Need(steps.Check{Clauses: clauses, Expected: "the model's answer in a message event", Observed: miss.Reason, At: miss.At})
	}
	if _, miss = s.awaitEnd(ctx, c); miss != nil {
		if miss.At > 0 { // it ran, and in which session is told
			clauses = append(clauses, "AS-060", "AS-093")
		}
		return s.Need(steps.Check{Clauses: clauses, Expected: "complete at the end of the turn, for session " + c.turn.session, Observed: miss.Reason, At: miss.At})
	}
	return s.Judge(steps.Check{Clauses: clauses, OK: true, At: rec.N})
}

// said joins what the target has said to a client in message events behind a mark, up to a record: an answer may come in
// pieces of any size, in which the nonce is cut.
func (s *suite) said(conn string, mark, upTo int) string {
	var b strings.Builder
	for _, r := range s.Between(conn, mark, upTo+1) {
		if isEvent(vocab.MessageEvent)(&r) {
			v, _ := wjson.Lookup(r.Event.Data, "/content")
			text, _ := v.(string)
			b.WriteString(text)
		}
	}
	return b.String()
}

// hasTurnRunning brings a session into a turn that lasts until it is let go on or aborted.
func (s *suite) hasTurnRunning(ctx context.Context, name string) error {
	if text := s.Env.Profile.Provoke.RunningTurn; text != "" {
		return s.provoke(ctx, name, text, nil, vocab.MessageEvent)
	}
	if err := s.chat(ctx, name, "[[hold %s]]"); err != nil {
		return err
	}
	return s.modelCalled(ctx, s.client(name))
}

func (s *suite) hasTurnThatAsks(ctx context.Context, name string) error {
	tool := s.Env.Profile.Tools.Confirm
	if tool == nil {
		return steps.NotTestedf("pending_confirmation: the profile names no tool that asks for confirmation (tools.confirm)")
	}
	call, err := toolCall(tool)
	if err != nil {
		return err
	}
	if err := s.chat(ctx, name, "[[hold %[1]s]] "+call); err != nil {
		return err
	}
	s.client(name).turn.tool = tool
	return s.modelCalled(ctx, s.client(name))
}

// toolCall is the directive that makes the model call a tool; it keeps one %s for the nonce.
func toolCall(t *target.Tool) (string, error) {
	args := t.Arguments
	if args == nil {
		args = map[string]any{}
	}
	b, err := json.Marshal(args)
	if err != nil {
		return "", fmt.Errorf("arguments of tool %s: %w", t.Name, err)
	}
	return "[[tool %[1]s " + t.Name + " " + strings.ReplaceAll(string(b), "%", "%%") + "]]", nil
}

// isAsked brings a session to wait for its user.
func (s *suite) isAsked(ctx context.Context, name string, tool *target.Tool, text, event string) error {
	if text != "" {
		return s.provoke(ctx, name, text, tool, event)
	}
	if tool == nil {
		return steps.NotTestedf("the profile names no tool that leads to %s (tools.confirm, tools.ask)", event)
	}
	call, err := toolCall(tool)
	if err != nil {
		return err
	}
	if err := s.chat(ctx, name, call); err != nil {
		return err
	}
	s.client(name).turn.tool = tool
	return s.awaitRequest(ctx, s.client(name), event)
}

// isAskedAndGoesOn brings a session to wait for its user in a turn whose model is held after the tool.
func (s *suite) isAskedAndGoesOn(ctx context.Context, name string) error {
	tool := s.Env.Profile.Tools.Confirm
	if tool == nil {
		return steps.NotTestedf("pending_confirmation: the profile names no tool that asks for confirmation (tools.confirm)")
	}
	call, err := toolCall(tool)
	if err != nil {
		return err
	}
	if err := s.chat(ctx, name, call+" [[hold %[1]s]]"); err != nil {
		return err
	}
	s.client(name).turn.tool = tool
	return s.awaitRequest(ctx, s.client(name), vocab.ConfirmationRequestEvent)
}

// calledAgain waits until the model was called a second time for a turn: with the result of its tool.
func (s *suite) calledAgain(ctx context.Context, name string) error {
	c := s.client(name)
	within, err := s.AwaitModel(ctx, func(ctx context.Context) error {
		_, err := s.Env.Brain.AwaitMatch(ctx, 1, withResult(c.turn))
		return err
	})
	if err != nil {
		return steps.NotTestedf("the model was not called with the tool's result within %s", steps.Span(within))
	}
	return nil
}

// stillRuns judges that a turn which waits for the model or its user has not been ended by a refused switch (AS-062).
func (s *suite) stillRuns(name string) error {
	c := s.client(name)
	if c.turn == nil {
		return steps.NotTestedf("client %s has not chatted", name)
	}
	for _, r := range s.Between(name, c.turn.mark, 0) {
		if isEvent(vocab.CompleteEvent)(&r) {
			return s.Need(steps.Check{Clauses: []string{"AS-062", "AS-125"}, Expected: "the turn in progress still running after the refused switch", Observed: steps.Seen(r), At: r.N})
		}
	}
	return s.Judge(steps.Check{Clauses: []string{"AS-062"}, OK: true})
}

// provoke brings a session into a state by a plain message of its user.
func (s *suite) provoke(ctx context.Context, name, text string, tool *target.Tool, event string) error {
	c := s.client(name)
	if err := s.withSession(ctx, c); err != nil {
		return err
	}
	if err := s.say(ctx, c, &turn{nonce: "", tool: tool}, text); err != nil {
		return err
	}
	if event == vocab.MessageEvent {
		_, miss := s.Await(ctx, steps.Wait{Conn: name, After: c.turn.mark, Within: s.Env.Turn(), Match: isEvent(event)})
		if miss != nil {
			return steps.NotTestedf("running_turn could not be provoked: %s", miss.Reason)
		}
		return nil
	}
	return s.awaitRequest(ctx, c, event)
}

func (s *suite) awaitRequest(ctx context.Context, c *client, event string) error {
	refused := s.refusedOverHTTP(c.turn.mark)
	rec, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: c.turn.mark, Within: s.Env.Turn(), Match: isEvent(event),
		Hopeless: func(r *transcript.Record) string {
			if isEvent(vocab.CompleteEvent)(r) {
				return "the turn has ended: " + steps.Seen(*r)
			}
			return refused(r)
		}})
	if miss != nil {
		check := steps.Check{Expected: "client " + c.name + " asked by " + event, Observed: miss.Reason, At: miss.At}
		if c.refusals > 0 && c.wasBusy && miss.At > 0 { // it ran until a switch was refused
			check.Clauses = []string{"AS-062", "AS-125"}
		}
		return s.Need(check)
	}
	if rec.Event.RequestID == nil {
		rec.Event.RequestID, _ = wjson.Lookup(rec.Event.Data, "/requestId")
	}
	c.turn.request = &rec
	return nil
}

// respond answers a request to the user.
func (s *suite) respond(ctx context.Context, name, event, kind string, fallback any) error {
	c := s.client(name)
	if c.turn == nil {
		return steps.NotTestedf("client %s has not chatted", name)
	}
	if c.turn.request == nil {
		if err := s.awaitRequest(ctx, c, event); err != nil {
			return err
		}
	}
	answer := fallback
	if t := c.turn.tool; t != nil && t.Response != nil {
		answer = t.Response
	}
	mark, err := s.send(ctx, c, kind, fields{"requestId": c.turn.request.Event.RequestID, "response": answer, "sessionId": c.session})
	if err != nil {
		return err
	}
	s.mark, s.actor = mark, c
	return nil
}

func (s *suite) aborts(ctx context.Context, name string) error {
	c := s.client(name)
	mark, err := s.send(ctx, c, vocab.AbortType, fields{"sessionId": c.session})
	if err != nil {
		return err
	}
	c.aborted = true
	s.mark, s.actor = mark, c
	return nil
}

func (s *suite) isLetGoOn(name string) error {
	c := s.client(name)
	if c.turn == nil || c.turn.nonce == "" {
		return steps.NotTestedf("without the model stub nobody can end a turn of client %s", name)
	}
	s.Env.Brain.Release(c.turn.nonce)
	return nil
}

// turnEnds waits for the end of a turn, as a precondition of what follows; that a turn in progress completes at all is
// AS-062.
func (s *suite) turnEnds(ctx context.Context, name string) error {
	c := s.client(name)
	if c.turn == nil {
		return steps.NotTestedf("client %s has not chatted", name)
	}
	_, miss := s.awaitEnd(ctx, c)
	if miss != nil {
		return s.Need(steps.Check{Clauses: []string{"AS-062"}, Expected: "complete at the end of the turn", Observed: miss.Reason, At: miss.At})
	}
	return nil
}
