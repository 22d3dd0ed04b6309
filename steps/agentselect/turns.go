package agentselect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/model"
	"parley/target"
	"parley/transport/transcript"
)

// turn is one exchange of a conversation.
type turn struct {
	nonce   string
	mark    int
	request *transcript.Record // the pending request to the user
	tool    *target.Tool
	session string // the session that its message named
	agent   string // the agent that the session used when the turn began
	began   time.Time
	over    bool
	refused bool // an error has refused its message
	fails   bool // its model fails
	calls   int  // model requests when the target reported the failure
}

func (r registry) turns() {
	r.step(`^client (\w+) chats$`, func(ctx context.Context, c *client) error { return r.chat(ctx, c, hello+c.name) })
	r.step(`^client (\w+) chats and the model fails$`, r.chatsAndFails)
	r.step(`^client (\w+) has chatted$`, r.hasChatted)
	r.step(`^client (\w+) is answered and its turn ends$`, r.isAnswered)
	r.step(`^client (\w+) has a turn running( that will answer| that will ask to confirm a tool)?$`, r.hasTurnRunning)
	r.step(`^client (\w+) is asked (to confirm a tool|a question)( before the model waits)?$`, r.isAsked)
	r.step(`^client (\w+) confirms$`, func(ctx context.Context, c *client) error { return r.respond(ctx, c, confirming) })
	r.step(`^client (\w+) answers$`, func(ctx context.Context, c *client) error { return r.respond(ctx, c, answering) })
	r.step(`^client (\w+) aborts$`, r.aborts)
	r.step(`^the model lets the turn of client (\w+) continue$`, r.continues)
	r.step(`^the model is called again for client (\w+)$`, r.calledAgain)
	r.step(`^the turn of client (\w+) still runs$`, r.stillRuns)
	r.step(`^the turn of client (\w+) ends$`, r.turnEnds)
}

// hello is a message that the model answers with the nonce.
const hello = "[[echo %s]] Hello from client "

// asking is a request to the user within a turn, and its answer.
type asking struct {
	request, response string
	answer            any // the default, if the profile names none
}

var (
	confirming = asking{vocab.ConfirmationRequestEvent, vocab.ConfirmationResponse, true}
	answering  = asking{vocab.QuestionRequestEvent, vocab.QuestionResponse, "yes"}
)

// noModel returns why a step that needs a model is not tested; nil if there is a model.
func (s *suite) noModel() error {
	if s.Env.Brain == nil {
		return steps.NotTestedf("the target does not use the model stub (give model.env or model.hook in the profile)")
	}
	return nil
}

// chat sends a user's message. format has one %s for the turn's nonce.
func (s *suite) chat(ctx context.Context, c *client, format string) error {
	if err := s.withSession(ctx, c); err != nil {
		return err
	}
	if err := s.noModel(); err != nil {
		return err
	}
	s.afterTurn(ctx, c)
	t := &turn{nonce: fmt.Sprintf("%s-%d", s.Nonce, s.Serial())}
	brain := s.Env.Brain
	s.AtEnd(func() { brain.Release(t.nonce); brain.Forget(t.nonce) })
	return s.say(ctx, c, t, fmt.Sprintf(format, t.nonce))
}

func (s *suite) say(ctx context.Context, c *client, t *turn, text string) error {
	mark, err := s.send(ctx, c, vocab.ChatType, fields{vocab.Content: text, vocab.SessionID: c.session})
	if err != nil {
		return err
	}
	t.mark, t.agent, t.session, t.began = mark, c.agent, c.session, time.Now()
	if c.agent == "" {
		t.agent = s.Env.Profile.Agents.Default
	}
	c.turn, c.turns = t, append(c.turns, t)
	s.acted(c, act{mark: mark, kind: vocab.ChatType, named: true})
	return nil
}

func (s *suite) hasChatted(ctx context.Context, c *client) error {
	if err := s.chat(ctx, c, hello+c.name); err != nil {
		return err
	}
	if _, miss := s.awaitEnd(ctx, c); miss != nil {
		return steps.NotTestedf("a turn of client %s did not end: %s", c.name, miss.Reason)
	}
	return nil
}

func (s *suite) chatsAndFails(ctx context.Context, c *client) error {
	if err := s.chat(ctx, c, "[[fail %s 500]]"); err != nil {
		return err
	}
	if err := s.modelCalled(ctx, c); err != nil {
		return err
	}
	// A failed turn ends with an error, with complete, or with both.
	_, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: c.turn.mark, Within: s.Env.Turn(),
		Kind: "the end of a turn whose model fails", Match: isEvent(vocab.ErrorEvent, vocab.CompleteEvent)})
	c.turn.fails, c.turn.calls = true, len(s.Env.Brain.Requests(c.turn.nonce))
	if miss == nil {
		return nil
	}
	if c.turn.calls > 1 {
		return s.stillTried(c)
	}
	s.Note("a turn whose model failed does not report it: %s", miss.Reason)
	return nil
}

// stillTried returns why the end of a turn is unknown: its model fails, and the target keeps retrying.
func (s *suite) stillTried(c *client) error {
	return steps.NotTestedf("the turn of client %s still runs: its model fails each time, and the target has called it "+
		"%d times within %v", c.name, len(s.Env.Brain.Requests(c.turn.nonce)), steps.Span(time.Since(c.turn.began)))
}

// modelCalled waits until the model has been asked for the client's turn, its message was refused, or its connection
// has ended.
func (s *suite) modelCalled(ctx context.Context, c *client) error {
	why := ""
	within, err := s.AwaitModel(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		refused, byHTTP := make(chan struct{}), s.refusedOverHTTP(ctx, c, c.turn.mark)
		go func() {
			defer close(refused)
			_, err := s.T.Await(ctx, c.turn.mark, func(r *transcript.Record) bool {
				switch why = s.chatRefused(ctx, c, r); {
				case why != "":
				case r.Conn == c.name && r.Dir == transcript.Received && r.Kind == transcript.Closed:
					why = steps.Seen(*r)
				case r.Status >= 400, r.Kind == transcript.Failure:
					why = byHTTP(r)
				}
				return why != "" && ctx.Err() == nil
			})
			if err == nil {
				cancel()
			}
		}()
		_, err := s.Env.Brain.Await(ctx, c.turn.nonce, 1)
		cancel()
		<-refused
		return err
	})
	switch {
	case err == nil:
		return nil
	case why != "":
		return steps.NotTestedf("running_turn of client %s: %s", c.name, why)
	}
	return steps.NotTestedf("running_turn: the model was not asked for the message of client %s within %s", c.name,
		steps.Span(within))
}

// hasTurnRunning starts a turn that lasts until the model continues or it is aborted.
func (s *suite) hasTurnRunning(ctx context.Context, c *client, then string) (err error) {
	text := s.Env.Profile.Provoke.RunningTurn
	switch {
	case then == "" && text != "":
		err = s.provoke(ctx, c, text, nil, vocab.MessageEvent)
	case then == "":
		err = s.chat(ctx, c, "[[hold %s]]")
	case then == " that will answer":
		err = s.chat(ctx, c, "[[hold %[1]s]] [[echo %[1]s]]")
	default:
		err = s.chatCalling(ctx, c, s.Env.Profile.Tools.Confirm, "[[hold %[1]s]] ", "")
	}
	if err == nil && c.turn.nonce != "" {
		err = s.modelCalled(ctx, c)
	}
	if err == nil {
		s.T.Remark(c.name, model.TurnRuns)
	}
	return err
}

// chatCalling sends a message that makes the model call a tool, with other directives around it.
func (s *suite) chatCalling(ctx context.Context, c *client, tool *target.Tool, before, after string) error {
	if tool == nil {
		return steps.NotTestedf("the profile names no tool that makes the server ask its user (tools.confirm, tools.ask)")
	}
	call, err := toolCall(tool)
	if err != nil {
		return err
	}
	if err := s.chat(ctx, c, before+call+after); err != nil {
		return err
	}
	c.turn.tool = tool
	return nil
}

// toolCall returns the directive that makes the model call a tool; it keeps one %s for the nonce.
func toolCall(t *target.Tool) (string, error) {
	args := t.Arguments
	if args == nil {
		args = map[string]any{}
	}
	b, err := json.Marshal(args, jsonform.Escaped)
	if err != nil {
		return "", fmt.Errorf("arguments of tool %s: %w", t.Name, err)
	}
	return "[[tool %[1]s " + t.Name + " " + strings.ReplaceAll(string(b), "%", "%%") + "]]", nil
}

// isAsked starts a turn that asks its user, and whose model may be held after that.
func (s *suite) isAsked(ctx context.Context, c *client, what, then string) error {
	p := s.Env.Profile
	how, tool, text, hold := confirming, p.Tools.Confirm, p.Provoke.PendingConfirmation, ""
	if what == "a question" {
		how, tool, text = answering, p.Tools.Ask, p.Provoke.PendingQuestion
	}
	switch {
	case then != "":
		hold = " [[hold %[1]s]]"
	case text != "":
		return s.provoke(ctx, c, text, tool, how.request)
	}
	if err := s.chatCalling(ctx, c, tool, "", hold); err != nil {
		return err
	}
	return s.awaitRequest(ctx, c, how.request)
}

// calledAgain waits until the model is called a second time for a turn, with the tool's result.
func (s *suite) calledAgain(ctx context.Context, c *client) error {
	if c.turn == nil || s.Env.Brain == nil {
		return steps.NotTestedf("no turn of client %s waits for the model stub", c.name)
	}
	within, err := s.AwaitModel(ctx, func(ctx context.Context) error {
		_, err := s.Env.Brain.AwaitMatch(ctx, 1, withResult(c.turn))
		return err
	})
	if err != nil {
		return steps.NotTestedf("the model was not called with the tool's result within %s", steps.Span(within))
	}
	s.T.Remark(c.name, model.TurnRuns)
	return nil
}

// stillRuns reports whether a turn that waits for the model or its user has ended (AS-062).
func (s *suite) stillRuns(c *client) error {
	if c.turn == nil {
		return steps.NotTestedf("client %s has not chatted", c.name)
	}
	return s.report(s.T.Len(), nil)
}

// provoke brings a session into a state by a plain user message.
func (s *suite) provoke(ctx context.Context, c *client, text string, tool *target.Tool, event string) error {
	if err := s.withSession(ctx, c); err != nil {
		return err
	}
	s.afterTurn(ctx, c)
	if err := s.say(ctx, c, &turn{nonce: "", tool: tool}, text); err != nil {
		return err
	}
	if event == vocab.MessageEvent {
		_, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: c.turn.mark, Within: s.Env.Turn(), Match: isEvent(event)})
		if miss != nil {
			return steps.NotTestedf("running_turn could not be provoked: %s", miss.Reason)
		}
		return nil
	}
	return s.awaitRequest(ctx, c, event)
}

func (s *suite) awaitRequest(ctx context.Context, c *client, event string) error {
	rec, miss := s.awaitTurn(ctx, c, "", isEvent(event), func(_ *client, r *transcript.Record) string {
		if isComplete(r) {
			return "the turn has ended: " + steps.Seen(*r)
		}
		return ""
	})
	if miss != nil {
		return steps.NotTestedf("client %s was not asked by %s: %s", c.name, event, miss.Reason)
	}
	if rec.Event.RequestID == nil {
		rec.Event.RequestID = field(rec, vocab.RequestID)
	}
	c.turn.request = &rec
	return nil
}

// respond answers a request to the user.
func (s *suite) respond(ctx context.Context, c *client, how asking) error {
	if c.turn == nil {
		return steps.NotTestedf("client %s has not chatted", c.name)
	}
	if c.turn.request == nil {
		if err := s.awaitRequest(ctx, c, how.request); err != nil {
			return err
		}
	}
	answer := how.answer
	if t := c.turn.tool; t != nil && t.Response != nil {
		answer = t.Response
	}
	id := c.turn.request.Event.RequestID
	mark, err := s.send(ctx, c, how.response,
		fields{vocab.RequestID: id, vocab.Response: answer, vocab.SessionID: c.session})
	if err != nil {
		return err
	}
	s.mark, s.actor = mark, c
	s.settleHTTP(ctx, c, mark)
	return nil
}

func (s *suite) aborts(ctx context.Context, c *client) error {
	mark, err := s.send(ctx, c, vocab.AbortType, fields{vocab.SessionID: c.session})
	if err != nil {
		return err
	}
	c.aborted = true
	s.mark, s.actor = mark, c
	s.settleHTTP(ctx, c, mark)
	return nil
}

func (s *suite) continues(c *client) error {
	if c.turn == nil || c.turn.nonce == "" {
		return steps.NotTestedf("without the model stub no turn of client %s can be ended", c.name)
	}
	s.release(c)
	return nil
}

// release lets the model of a client's turn answer, so that the turn may end from then on.
func (s *suite) release(c *client) {
	s.T.Remark(c.name, model.TurnMayEnd)
	s.Env.Brain.Release(c.turn.nonce)
}
