package sessionchat

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/deadline"
	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/steps/sessionchat/binding"
	"parley/steps/sessionchat/model"
	"parley/transport/transcript"
)

// calls returns the model's requests for a turn.
func (s *suite) calls(t *turn) []llm.Request {
	if s.Env.Brain == nil || t.nonce == "" {
		return nil
	}
	return s.Env.Brain.Requests(t.nonce)
}

// modelCalled waits until the model has been asked for a turn, or the turn has ended without that.
func (s *suite) modelCalled(ctx context.Context, t *turn) error {
	within := s.awaitAsked(ctx, t, s.Env.Turn())
	if len(s.calls(t)) > 0 {
		return nil
	}
	if end := s.became(t).Result(); end.N > 0 && s.endsUnasked(t, &end) {
		return s.report(t, model.Asking, nil)
	}
	why := " within " + steps.Span(within)
	if at := s.endedAt(s.client(t.client)); at > 0 {
		why = ": " + steps.Seen(s.T.After(at - 1)[0])
	}
	return steps.NotTestedf("the model was not asked for the chat of client %s with %s%s", t.client, t.of.name, why)
}

// awaitAsked waits until the model has been asked for a turn, until the turn or its connection has ended, or for the
// time that it returns.
func (s *suite) awaitAsked(ctx context.Context, t *turn, limit time.Duration) (within time.Duration) {
	within, _ = s.AwaitModelFor(ctx, limit, func(ctx context.Context) error {
		running, cancel := context.WithCancel(ctx)
		defer cancel()
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			defer cancel()
			_, _ = s.T.Await(running, t.mark, func(r *transcript.Record) bool {
				return r.Conn == t.client && r.Dir == transcript.Received && r.Kind == transcript.Closed || s.endsUnasked(t, r)
			})
		}()
		_, err := s.Env.Brain.Await(running, t.nonce, 1)
		cancel()
		<-watched
		if ctx.Err() == nil { // distinguish the turn's end from a timeout
			return nil
		}
		return err
	})
	return within
}

// endsUnasked matches the end of a turn whose model waits or fails: by then the model has been asked, or will not be.
func (s *suite) endsUnasked(t *turn, r *transcript.Record) bool {
	return s.settles(t, model.End)(r) && r.Event.Type == vocab.ResultMessage
}

func userTexts(r llm.Request) []string {
	var out []string
	for _, m := range r.Messages {
		if m.Role == llm.RoleUser {
			out = append(out, m.Text)
		}
	}
	return out
}

// spoken formats the messages of a request with their roles.
func spoken(r llm.Request) string {
	var out []string
	for _, m := range r.Messages {
		out = append(out, m.Role+" "+quoted([]string{m.Text}))
		if len(out) == 10 {
			out = append(out, fmt.Sprintf("and %d more", len(r.Messages)-10))
			break
		}
	}
	return strings.Join(out, ", ")
}

// quoted formats texts for a report, shortening long ones.
func quoted(list []string) string {
	var out []string
	for i, t := range list {
		if i == 6 {
			out = append(out, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		out = append(out, strconv.Quote(cut.Head(t, 80)))
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// textSent judges that the content of a chat reaches the model unchanged (SC-019).
func (s *suite) textSent(name string) error {
	if err := s.needModel(); err != nil {
		return err
	}
	t, err := s.lastTurn(name)
	if err != nil {
		return err
	}
	clauses := []string{"SC-019"}
	want, _ := t.text.(string)
	calls := s.calls(t)
	if len(calls) == 0 {
		return steps.NotTestedf("no request to the model contains the nonce of the chat")
	}
	var got string
	for _, call := range calls {
		for _, text := range newest(call) {
			if got == "" || mentions(text, t.nonce) {
				got = text
			}
			if same(text, want) || standsIn(text, want) {
				return s.pass(clauses, t.mark)
			}
		}
	}
	return s.breach(clauses, t.mark, "the model asked with the text "+model.Excerpt(want, got),
		"the text "+model.Excerpt(got, want))
}

// newest returns the user messages after the model's last answer: a target may add its own reminders to the user's
// text.
func newest(r llm.Request) []string {
	var out []string
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != llm.RoleAssistant; i-- {
		if r.Messages[i].Role == llm.RoleUser {
			out = append(out, r.Messages[i].Text)
		}
	}
	return out
}

// standsIn reports whether a text forms whole lines of a multipart message, whose parts the record of a request joins
// with newlines.
func standsIn(message, text string) bool {
	return text != "" && strings.Contains("\n"+message+"\n", "\n"+text+"\n")
}

// same compares a text with a request's record of it, which cuts a long text and appends its length.
func same(kept, text string) bool {
	if kept == text {
		return true
	}
	at := strings.LastIndex(kept, " …[clipped from ")
	return at >= 0 && len(text) > llm.MaxText && strings.HasPrefix(text, kept[:at]) &&
		kept[at:] == fmt.Sprintf(" …[clipped from %d bytes]", len(text))
}

func (s *suite) usesModelOption() error {
	if !s.Env.Profile.Has(binding.OptionsModel) {
		return &steps.NotApplicableError{Reason: "the target does not declare the capability " + binding.OptionsModel}
	}
	return s.needModel()
}

// modelNoted records which model the last turn of a session used (SC-033).
func (s *suite) modelNoted(name string) error {
	t, err := s.askedTurn(name)
	if err != nil {
		return err
	}
	got := s.modelsOf(t)
	s.Observe("SC-033", "a later chat that names another model uses "+quoted(got))
	return nil
}

// modelNamed judges which model a turn used (SC-033a).
func (s *suite) modelNamed(name, how, want string) error {
	t, err := s.askedTurn(name)
	if err != nil {
		return err
	}
	got := s.modelsOf(t)
	s.Observe("SC-033", "the model was called as "+quoted(got))
	expected := fmt.Sprintf("model %q in the model request", want)
	if how == "was not" {
		expected = fmt.Sprintf("no model %q in the request of a chat that does not name it", want)
	}
	return s.Judge(verdict.Finding{Clauses: []string{"SC-033a"}, OK: slices.Contains(got, want) == (how == "was"),
		At: t.mark, Judge: verdict.ByLLM,
		Expected: expected, Observed: "model " + quoted(got)})
}

// modelsOf returns the models that a turn used.
func (s *suite) modelsOf(t *turn) (names []string) {
	for _, call := range s.calls(t) {
		names = append(names, call.Model)
	}
	return names
}

// rests waits slightly longer than the target claims to keep idle sessions in memory.
func (s *suite) rests(ctx context.Context, name string) error {
	idle := binding.Of(s.Env.Profile).Idle.Duration
	if idle == 0 {
		return &steps.NotApplicableError{Reason: "the profile declares no inactivity limit (session-chat.idle)"}
	}
	if _, err := s.lastTurn(name); err != nil {
		return err
	}
	s.resumes("%s may have left the target's memory", name)
	limit, cancel := deadline.WithLimit(ctx, idle+max(idle/4, 50*time.Millisecond))
	defer cancel()
	_, _ = s.T.Await(limit, s.T.Len(), func(*transcript.Record) bool { return false })
	for name := range s.clients {
		s.dropEnded(name) // no clause forbids closing an idle connection
	}
	return nil
}
