package agentclient

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	texts "parley/protocol/agentclient"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentclient/looks"
	"parley/steps/agentclient/model"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

func (s *suite) registerTelling(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the chat announces the switch from "([^"]*)" to "(.*)"$`, s.announces)
	steps.Step(sc, `^the page shows the prompt "(.*)"$`, s.prompts)
	steps.Step(sc, `^the page has had time to remove the prompt "(.*)"$`, s.removes)
	steps.Step(sc, `^the page again shows the prompt "(.*)"$`, s.promptsAgain)
	steps.Step(sc, `^the page shows the server's message$`, func(ctx context.Context) error {
		return s.prompts(ctx, s.now.refusal)
	})
	steps.Step(sc, `^the page shows "([^"]*)"$`, s.showsText)
	steps.Step(sc, `^the page names the agents (`+namesOf+`)$`, s.namesAgents)
	steps.Step(sc, `^whether the page suggests "([^"]*)" is recorded$`, s.suggests)
	steps.Step(sc, `^no script in the server's texts has run$`, s.noScript)
	steps.Step(sc, `^the server sends markup in these texts:$`, s.sendsMarkup)
	steps.Step(sc, `^the server sends the chat message "([^"]*)"$`, func(ctx context.Context, text string) error {
		return s.emit(ctx, vocab.MessageEvent, fields{
			vocab.Role: "assistant", vocab.Content: text, vocab.SessionID: s.now.session,
		})
	})
	steps.Step(sc, `^the server sends undocumented events$`, s.sendsUndocumented)
}

// prompts waits for a text that was not visible before, on the page outside of its log or in a dialog.
func (s *suite) prompts(ctx context.Context, text string) error {
	p, before := s.now, s.now.idle
	text = s.armed(text)
	if !s.pagesModel().HasPrompted(p.name, text) {
		return steps.NotTestedf("nothing obliges the page to prompt %q", text)
	}
	var news []string
	at := 0
	_, miss := s.awaitSight(ctx, max(p.act, p.word), func(r *transcript.Record) bool {
		if r.Kind == transcript.Dialog {
			news, at = append(news, fmt.Sprintf("a dialog %q", clip(string(r.Bytes)))), r.N
			return looks.Contains(string(r.Bytes), text)
		}
		l := s.snapshotOf(r)
		return l != nil && looks.More(before, l, text)
	})
	c := verdict.Finding{Clauses: model.PromptClauses(text), OK: miss == nil, At: at, Miss: miss,
		Expected: fmt.Sprintf("%q to be shown: on the page (the log aside) or in a dialog", text)}
	switch {
	case miss == nil:
	case miss.At > 0:
		c.Observed, c.At = miss.Reason, miss.At
	default:
		l, n := s.latest()
		if p.unfenced != nil { // ignore what a fence made the page show
			l = p.unfenced
		}
		c.Observed, c.At = strings.Join(append(news, s.news(before, l, text)...), "; "), cmp.Or(at, n)
	}
	c.Observed = cmp.Or(c.Observed, "nothing new was shown")
	return s.Judge(c)
}

// longestPrompt is how long the prompts of pages that remove them by themselves are shown, at most.
const longestPrompt = 6 * time.Second

// promptsStay is the key in Env.Learnt for whether prompts of the target stay for longer than that.
type promptsStay struct{}

// removes waits until a prompt is gone, such as one that is shown for some seconds. A prompt may stay.
func (s *suite) removes(ctx context.Context, text string) error {
	text = s.armed(text)
	gone := func(l *snapshot.Page) bool { return !looks.Contains(l.Text, text) }
	stay, _ := s.learnt(promptsStay{})
	if l, at := s.latest(); l != nil && !gone(l) && !stay {
		_, miss := s.Await(ctx, steps.Wait{Conn: s.now.name, After: at, Within: min(s.Env.Event(), longestPrompt),
			Match: s.looking(gone)})
		if miss != nil && miss.At == 0 {
			s.Env.Learnt.Store(promptsStay{}, true)
		}
	}
	return nil
}

// promptsAgain judges a prompt that was shown before. Where it has stayed, it need not be shown a second time.
func (s *suite) promptsAgain(ctx context.Context, text string) error {
	if l := s.now.idle; l == nil || !looks.Contains(l.Text, s.armed(text)) {
		return s.prompts(ctx, text)
	}
	return s.sees(ctx, sight{fmt.Sprintf("%q to be shown: on the page (the log aside) or in a dialog", text),
		model.PromptClauses(text), func(l *snapshot.Page) string {
			return unless(looks.Contains(l.Text, s.armed(text)) || s.dialogHas(s.armed(text)), "the page shows: %s",
				clip(l.Text))
		}})
}

// news describes what the page shows instead of a text.
func (s *suite) news(before, now *snapshot.Page, text string) (out []string) {
	if now == nil {
		return nil
	}
	if before != nil && looks.Contains(before.Text, text) && looks.Contains(now.Text, text) {
		out = append(out, "the text was already visible before and was not shown again")
	}
	if new := appeared(before, now); new != "" {
		out = append(out, "new on the page: "+new)
	}
	return out
}

// appeared approximates what is new in a snapshot: the words between the common beginning and end.
func appeared(before, now *snapshot.Page) string {
	if before == nil {
		return clip(now.Text)
	}
	a, b := []rune(before.Text), []rune(now.Text)
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	j := 0
	for j < len(a)-i && j < len(b)-i && a[len(a)-1-j] == b[len(b)-1-j] {
		j++
	}
	return clip(strings.TrimSpace(string(b[i : len(b)-j])))
}

func (s *suite) showsText(ctx context.Context, text string) error {
	return s.sees(ctx, sight{fmt.Sprintf("%q visible", text), []string{"AC-093"}, func(l *snapshot.Page) string {
		has := func(o snapshot.Option) bool { return looks.Contains(o.Text, text) }
		return unless(looks.Contains(l.Text, text) || slices.ContainsFunc(l.Select.Options, has),
			"the page shows: %s; the options are %s", clip(l.Text), looks.Options(l))
	}})
}

// announces judges the system message about a switch, and that there is only one (AC-060). If the chat has a new line
// that names the agent in other words, or the page shows the message elsewhere, feedback was given, and only clauses
// that ask for these words, for the names or for the chat are broken.
func (s *suite) announces(ctx context.Context, from, to string) error {
	p, before := s.now, s.now.idle
	text := fmt.Sprintf(texts.Switched, from, s.armed(to))
	feedback := []string{"AC-009", "AC-013", "AC-057", "AC-119"}
	inChatAtAll := []string{"AC-046", "AC-065"}
	wording := []string{"AC-047", "AC-060", "AC-063", "AC-064", "AC-085", "AC-106", "AC-120"}
	otherwise := false
	found, err := s.saw(ctx, sight{fmt.Sprintf("%q in the chat", text), slices.Concat(feedback, inChatAtAll, wording),
		func(l *snapshot.Page) string {
			if looks.InChat(l, text) > looks.InChat(before, text) {
				return ""
			}
			if len(l.Chat) == 0 {
				return "the chat is empty"
			}
			said := l.Chat
			if p.unfenced != nil {
				said = p.unfenced.Chat
			}
			return fmt.Sprintf("the chat ends with %q", said[max(0, len(said)-3):])
		}}, func() ([]string, string) {
		l, n := s.latest()
		switch {
		case l != nil && s.names(before, l, p.called(to)):
			otherwise = true
			_ = s.Judge(verdict.Finding{Clauses: slices.Concat(feedback, inChatAtAll), OK: true, At: n})
			return wording, "a line of the chat names the agent in other words"
		case l != nil && looks.More(before, l, text):
			_ = s.Judge(verdict.Finding{Clauses: feedback, OK: true, At: n})
			return slices.Concat(inChatAtAll, wording), "the page shows it, but not in the chat"
		}
		return nil, ""
	})
	switch {
	case otherwise && !slices.ContainsFunc(wording, s.Judges):
		return nil
	case !found || err != nil || !s.Judges("AC-060"):
		return err
	}
	return s.keeps(ctx, sight{fmt.Sprintf("%q in the chat once", text), []string{"AC-060"}, func(l *snapshot.Page) string {
		n := looks.InChat(l, text) - looks.InChat(before, text)
		if streams := len(p.server.streams()); streams > 1 {
			return unless(n <= 1, "it is there %d times; the page has %d event streams open", n, streams)
		}
		return unless(n <= 1, "it is there %d times", n)
	}})
}

// names reports whether the chat has a new line with an agent's name or id.
func (s *suite) names(before, now *snapshot.Page, a agent) bool {
	return slices.ContainsFunc([]string{s.armed(a.name), a.id}, func(name string) bool {
		return name != "" && looks.InChat(now, name) > looks.InChat(before, name)
	})
}

// namesAgents judges the agents named in a prompt or by the selector (AC-123).
func (s *suite) namesAgents(ctx context.Context, list string) error {
	p := s.now
	agents := p.those(list)
	return s.sees(ctx, sight{"the available agents, in a prompt or in the selector: " + names(agents),
		[]string{"AC-071", "AC-123"}, func(l *snapshot.Page) string {
			if looks.Unlike(l, agentNames(agents), 0) == "" {
				return ""
			}
			for _, a := range agents {
				if !looks.More(p.idle, l, a.name) && !s.dialogHas(a.name) {
					return "nothing names " + a.name + "; the options are " + looks.Options(l)
				}
			}
			return ""
		}})
}

func (s *suite) dialogHas(text string) bool {
	return slices.ContainsFunc(s.T.After(s.now.word), func(r transcript.Record) bool {
		return r.Conn == s.now.name && r.Kind == transcript.Dialog && looks.Contains(string(r.Bytes), text)
	})
}

// suggests records whether the page suggests what the user could do.
func (s *suite) suggests(ctx context.Context, text string) error {
	s.settle(ctx)
	what := "the page does not suggest: " + text
	if l, _ := s.latest(); l != nil && looks.More(s.now.idle, l, text) || s.dialogHas(text) {
		what = "the page suggests: " + text
	}
	suggestions := map[string]string{"有效的主代理": "AC-067", "检查主代理": "AC-069", "重试": "AC-074", "新建会话": "AC-076"}
	if id := suggestions[text]; id != "" {
		s.Observe(id, what)
	}
	return nil
}

// sendsUndocumented sends what a page must ignore: undocumented event types and a comment.
func (s *suite) sendsUndocumented(ctx context.Context) error {
	for _, e := range []struct {
		kind string
		data fields
	}{
		{"agent_gossip", fields{vocab.CurrentAgentID: "nobody", vocab.Agents: []any{}}},
		{"heartbeat", fields{}},
		{"usage", fields{vocab.SessionID: "sess-of-somebody-else", "tokens": 7}},
	} {
		if err := s.emit(ctx, e.kind, e.data); err != nil {
			return err
		}
	}
	n, err := s.comment(ctx, "still there")
	if err == nil {
		s.now.word = n
	}
	return err
}
