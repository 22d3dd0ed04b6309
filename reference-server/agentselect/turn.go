package agentselect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/llm"
	proto "parley/protocol/agentselect"
)

// controller is an entry of sessionControllers: the right to end a turn.
type controller struct {
	cancel context.CancelFunc
	parked bool // waiting for the user
}

// interaction is an entry of pendingInteractions: an unanswered request to the user.
type interaction struct {
	id         string
	session    string
	kind       string // type of its request event
	controller *controller
	answered   chan any
}

// turn is one conversation in progress.
type turn struct {
	s        *Server
	session  string
	number   int
	ctl      *controller
	started  Config
	messages []llm.Message
}

// errEnded ends a turn that was aborted; the abort has already been reported.
var errEnded = errors.New("turn ended")

// startTurn begins a conversation with the session's current agent. The caller holds the lock.
func (s *Server) startTurn(sess *session, content string) {
	if !s.registerTurn() {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.o.Limits.Turn)
	ctl := &controller{cancel: cancel}
	s.m.sessionControllers[sess.id] = ctl
	sess.turns++
	sess.appendHistory(s.o.Limits.History, llm.Message{Role: llm.RoleUser, Text: content})
	t := &turn{s: s, session: sess.id, number: sess.turns, ctl: ctl, messages: slices.Clone(sess.history)}
	// Here, so that a switch that follows immediately does not affect this turn (AS-061).
	first, err := t.configureCall(1)
	s.o.Logger.Info("turn begun", "session", sess.id, "agent", first.AgentID, "turn", sess.turns)
	go func() {
		defer s.turns.Done()
		defer cancel()
		before := len(t.messages)
		if err == nil {
			err = t.runCalls(ctx, first)
		}
		t.finishTurn(before, err)
	}()
}

// appendHistory appends to the history and drops the oldest turns beyond the limit, so that the history starts with a
// user message.
func (sess *session) appendHistory(limit int, more ...llm.Message) {
	h := append(sess.history, more...)
	for len(h) > limit {
		next := slices.IndexFunc(h[1:], func(m llm.Message) bool { return m.Role == llm.RoleUser })
		if next < 0 {
			break
		}
		h = h[next+1:]
	}
	sess.history = slices.Clone(h)
}

// configureCall asks the policy for the configuration of a call. The caller holds the lock.
func (t *turn) configureCall(call int) (Config, error) {
	id := t.s.m.AgentOf(t.session)
	now, ok := findAgent(t.s.agentsFor(ForTurn), id)
	if !ok && call == 1 {
		return Config{}, fmt.Errorf("agent %s does not exist any more", id)
	}
	view := TurnView{Session: t.session, Turn: t.number, Call: call, Now: now.Config(), Started: t.started}
	if !ok {
		view.Now = t.started
	}
	cfg := t.s.o.Policy.Configure(view)
	if call == 1 {
		t.started = cfg
	}
	return cfg, nil
}

// runCalls calls the model until it requests no more tools.
func (t *turn) runCalls(ctx context.Context, cfg Config) error {
	for call := 1; ; call++ {
		if call > t.s.o.Limits.ModelCalls {
			return fmt.Errorf("more than %d model calls in one turn", t.s.o.Limits.ModelCalls)
		}
		if call > 1 {
			err := t.whileLocked(func() (err error) { cfg, err = t.configureCall(call); return err })
			if err != nil {
				return err
			}
		}
		more, err := t.callModel(ctx, cfg)
		if err != nil || !more {
			return err
		}
	}
}

// whileLocked runs f under the lock, unless the turn has ended.
func (t *turn) whileLocked(f func() error) error {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.s.m.sessionControllers[t.session] != t.ctl {
		return errEnded
	}
	return f()
}

// sendEvent sends an event to the session's connection, unless the turn has ended. It waits until the event is written,
// so that a fast model does not overrun every reader.
func (t *turn) sendEvent(ctx context.Context, ev Event) error {
	var told receipt
	err := t.whileLocked(func() error { t.s.emitTo(t.session, ev, &told); return nil })
	told.waitUntilWritten(ctx)
	return err
}

// callModel makes one model call; more reports whether it requested tools, whose results are then in messages.
func (t *turn) callModel(ctx context.Context, cfg Config) (more bool, err error) {
	var text strings.Builder
	var calls []llm.ToolCall
	request := llm.Request{
		API: llm.APIInProcess, System: cfg.Prompt, Tools: slices.Clone(cfg.Tools),
		Messages: slices.Clone(t.messages), Stream: true,
	}
	err = t.s.o.Brain.Answer(ctx, request, func(p llm.Part) error {
		if p.Call != nil {
			calls = append(calls, *p.Call)
			return nil
		}
		text.WriteString(p.Text)
		return t.sendEvent(ctx, messageEvent(p.Text, true))
	})
	if err != nil {
		return false, err
	}
	if text.Len() > 0 {
		if err := t.sendEvent(ctx, messageEvent(text.String(), false)); err != nil {
			return false, err
		}
	}
	t.messages = append(t.messages, llm.Message{Role: llm.RoleAssistant, Text: text.String(), Calls: calls})
	for _, c := range calls {
		result, err := t.useTool(ctx, cfg, c)
		if err != nil {
			return false, err
		}
		t.messages = append(t.messages, llm.Message{Role: llm.RoleTool, Text: result, ResultOf: c.ID})
	}
	return len(calls) > 0, nil
}

func messageEvent(content string, streaming bool) Event {
	return Event{Type: proto.MessageEvent, Data: EventData{
		proto.Role: "assistant", proto.Content: content, proto.Streaming: streaming,
	}}
}

// useTool returns the result of a tool call, or that the agent may not use the tool. Nothing is ever executed.
func (t *turn) useTool(ctx context.Context, cfg Config, c llm.ToolCall) (string, error) {
	switch {
	case !slices.Contains(cfg.Tools, c.Name):
		return fmt.Sprintf("The tool %s is not permitted to %s.", c.Name, cfg.AgentID), nil
	case c.Name == confirmedTool:
		answer, err := t.askUser(ctx, proto.ConfirmationRequestEvent, c)
		if err == nil && !isApproval(answer) {
			return "The user rejected the command.", nil
		}
		return "The user approved the command. This server executes nothing.", err
	case c.Name == questionTool:
		answer, err := t.askUser(ctx, proto.QuestionRequestEvent, c)
		return fmt.Sprintf("The user answered: %s", printValue(answer)), err
	}
	return fmt.Sprintf("This server does not execute %s.", c.Name), nil
}

// askUser parks the turn until the user has answered.
func (t *turn) askUser(ctx context.Context, kind string, c llm.ToolCall) (any, error) {
	it := &interaction{id: newID("req"), session: t.session, kind: kind, controller: t.ctl, answered: make(chan any, 1)}
	err := t.whileLocked(func() error {
		t.ctl.parked = true
		m := t.s.m
		m.pendingInteractions[t.session] = append(m.pendingInteractions[t.session], it)
		t.s.emitTo(t.session, requestEvent(it, c), nil)
		return nil
	})
	if err != nil {
		return nil, err
	}
	select {
	case answer := <-it.answered:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func requestEvent(it *interaction, c llm.ToolCall) Event {
	data := EventData{"toolName": c.Name, "arguments": c.Arguments, proto.SessionID: it.session}
	var arguments map[string]any
	if json.Unmarshal([]byte(c.Arguments), &arguments) == nil {
		data["arguments"] = arguments
	}
	if it.kind == proto.QuestionRequestEvent { // where clients look for the text to show
		data["question"], data["options"] = arguments["question"], arguments["options"]
	}
	return Event{Type: it.kind, Data: data, RequestID: it.id}
}

// finishTurn removes the turn and reports how it ended. Its own messages begin at before.
func (t *turn) finishTurn(before int, err error) {
	_ = t.whileLocked(func() error {
		t.s.endTurn(t.session, AbortEffect{Turn: true, Interactions: true})
		how := "success"
		if err != nil {
			how = "error"
		}
		t.s.o.Logger.Info("turn ended", "session", t.session, "turn", t.number, "how", how)
		if err != nil {
			t.s.emitTo(t.session, errorEvent(failureText(err)), nil)
		} else {
			t.s.m.sessions[t.session].appendHistory(t.s.o.Limits.History, t.messages[before:]...)
		}
		t.s.emitTo(t.session, Event{Type: proto.CompleteEvent, Data: EventData{proto.SessionID: t.session}}, nil)
		return nil
	})
}

func failureText(err error) string {
	var failure *llm.Failure
	if errors.As(err, &failure) {
		return fmt.Sprintf("The model failed with status %d: %v", failure.Status, err)
	}
	return fmt.Sprintf("The conversation failed: %v", err)
}

// isApproval reads the response to a confirmation: true, or one of the words that clients send for yes.
func isApproval(response any) bool {
	switch v := response.(type) {
	case bool:
		return v
	case string:
		return slices.Contains([]string{"approve", "approve_once", "approve_always", "approved", "yes", "allow", "true"}, v)
	case map[string]any:
		for _, key := range []string{"approved", "decision", "result"} {
			if isApproval(v[key]) {
				return true
			}
		}
	}
	return false
}

func printValue(response any) string {
	if text, ok := response.(string); ok {
		return text
	}
	text, err := json.Marshal(response, json.Deterministic(true))
	if err != nil {
		return fmt.Sprint(response)
	}
	return string(text)
}
