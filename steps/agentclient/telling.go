package agentclient

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/cucumber/godog"

	"parley/driver/browser/look"
	texts "parley/protocol/agentclient"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
)

func (s *suite) registerTelling(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the chat tells of a switch from "([^"]*)" to "(.*)"$`, s.chatTells)
	steps.Step(sc, `^the page tells "(.*)"$`, func(ctx context.Context, text string) error { return s.tells(ctx, text) })
	steps.Step(sc, `^the page tells of its preselection$`, func(ctx context.Context) error {
		return s.tells(ctx, fmt.Sprintf(texts.Preselected, s.now.chosen.name))
	})
	steps.Step(sc, `^the page tells of it$`, func(ctx context.Context) error { return s.tells(ctx, s.now.refusal) })
	steps.Step(sc, `^the page shows "([^"]*)"$`, s.showsText)
	steps.Step(sc, `^the agents (".*") are told$`, s.agentsTold)
	steps.Step(sc, `^it is observed whether the page tells "([^"]*)"$`, s.observesTelling)
	steps.Step(sc, `^nothing that the server said was carried out$`, s.nothingCarriedOut)
	steps.Step(sc, `^the server says "([^"]*)" in the chat$`, func(ctx context.Context, text string) error {
		return s.emit(ctx, s.now, vocab.MessageEvent, fields{"role": "assistant", "content": text, "sessionId": s.now.session})
	})
	steps.Step(sc, `^the server says what no document knows$`, s.saysUnknown)
}

// folded is a text without what makes no difference to a reader: white space, and whether punctuation is full-width.
func folded(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsSpace(r) || r == '\u200b':
			continue
		case r >= '！' && r <= '～':
			r -= '！' - '!'
		case r == '。':
			r = '.'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func contains(text, part string) bool { return strings.Contains(folded(text), folded(part)) }

// more tells whether a text is to be seen more often than before.
func more(before, now *look.Look, text string) bool {
	count := func(l *look.Look) int {
		if l == nil {
			return 0
		}
		return strings.Count(folded(l.Text), folded(text))
	}
	return count(now) > count(before)
}

// promptClauses are what the prompts are about.
var promptClauses = []struct {
	text    string
	clauses []string
}{
	{texts.EmptyIDPrompt, []string{"AC-066", "AC-014"}},
	{texts.FormatIDPrompt, []string{"AC-068", "AC-014"}},
	{texts.BusyPrompt, []string{"AC-073", "AC-014", "AC-009", "AC-049"}},
	{texts.NoSessionPrompt, []string{"AC-075", "AC-014"}},
	{texts.NoAgentsPrompt, []string{"AC-102", "AC-121"}},
	{texts.StalePrompt, []string{"AC-104", "AC-122"}},
	{strings.Split(texts.Preselected, "%s")[0], []string{"AC-044", "AC-097"}},
}

func clausesOf(text string) []string {
	for _, p := range promptClauses {
		if strings.HasPrefix(text, p.text) || strings.HasPrefix(p.text, text) {
			return p.clauses
		}
	}
	return []string{"AC-070", "AC-014", "AC-083", "AC-084", "AC-115"}
}

// tells waits until a text is told that was not to be seen before: on the page but for its log, or in a dialog.
func (s *suite) tells(ctx context.Context, text string) error {
	p := s.now
	text = s.armed(text)
	return s.told(ctx, p, text, clausesOf(text))
}

func (s *suite) told(ctx context.Context, p *page, text string, clauses []string) error {
	told, n := s.hears(ctx, p, text)
	if told == "" {
		return s.Judge(steps.Check{Clauses: clauses, OK: true})
	}
	return s.Judge(steps.Check{Clauses: clauses, Expected: fmt.Sprintf("%q to be told: on the page (the log aside) or in a dialog", text), Observed: told, At: n})
}

// hears waits for a text; what it returns is "" once it was told, and otherwise what was.
func (s *suite) hears(ctx context.Context, p *page, text string) (instead string, at int) {
	since := max(p.act, p.word)
	before := p.idle
	var news []string
	_, miss := s.awaitSight(ctx, p, steps.Wait{Conn: p.name, After: since, Match: func(r *transcript.Record) bool {
		if r.Kind == transcript.Dialog {
			news, at = append(news, fmt.Sprintf("a dialog %q", clip(string(r.Bytes)))), r.N
			return contains(string(r.Bytes), text)
		}
		l := lookOf(r, p)
		return l != nil && more(before, l, text)
	}})
	if miss == nil {
		return "", 0
	}
	if miss.At > 0 {
		return miss.Reason, miss.At
	}
	l, n := s.latest(p)
	if at == 0 {
		at = n
	}
	if p.unfenced != nil { // what a fence has had the page show is none of it
		l = p.unfenced
	}
	if before != nil && l != nil && strings.Contains(folded(before.Text), folded(text)) && strings.Contains(folded(l.Text), folded(text)) {
		news = append(news, "the text was to be seen before already, and is told no more often")
	}
	if l != nil {
		if new := appeared(before, l); new != "" {
			news = append(news, "new on the page: "+new)
		}
	}
	if len(news) == 0 {
		return "nothing new was told", at
	}
	return strings.Join(news, "; "), at
}

// appeared is what a look has that the one before had not, roughly: the words between what they begin and end with.
func appeared(before, now *look.Look) string {
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
	return s.sees(ctx, s.now, fmt.Sprintf("%q to be seen", text), []string{"AC-093"}, func(l *look.Look) string {
		if contains(l.Text, text) {
			return ""
		}
		for _, o := range l.Select.Options {
			if contains(o.Text, text) {
				return ""
			}
		}
		return "the page shows: " + clip(l.Text) + "; the options are " + options(l)
	})
}

func (s *suite) chatTells(ctx context.Context, from, to string) error {
	p := s.now
	text := fmt.Sprintf(texts.Switched, from, s.armed(to))
	before := p.idle
	clauses := []string{"AC-009", "AC-013", "AC-046", "AC-047", "AC-060", "AC-063", "AC-064", "AC-065", "AC-079", "AC-085", "AC-106", "AC-119", "AC-120", "AC-057"}
	found, err := s.saw(ctx, p, fmt.Sprintf("%q in the chat", text), clauses, func(l *look.Look) string {
		if inChat(l, text) > inChat(before, text) {
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
	})
	if !found || err != nil || !s.Judges("AC-060") {
		return err
	}
	return s.keeps(ctx, p, fmt.Sprintf("%q in the chat once", text), []string{"AC-060"}, func(l *look.Look) string {
		if n := inChat(l, text) - inChat(before, text); n > 1 {
			return fmt.Sprintf("it is there %d times", n)
		}
		return ""
	})
}

func inChat(l *look.Look, text string) int {
	n := 0
	if l != nil {
		for _, line := range l.Chat {
			n += strings.Count(folded(line), folded(text))
		}
	}
	return n
}

// agentsTold: in the prompt, or by the selector (AC-123).
func (s *suite) agentsTold(ctx context.Context, list string) error {
	p := s.now
	agents := p.those(list)
	return s.sees(ctx, p, "the agents that there are, in a prompt or in the selector: "+names(agents), []string{"AC-071", "AC-123"}, func(l *look.Look) string {
		if unlike(l, agents, 0) == "" {
			return ""
		}
		for _, a := range agents {
			if !more(p.idle, l, a.name) && !s.dialogHas(p, a.name) {
				return "nothing tells of " + a.name + "; the options are " + options(l)
			}
		}
		return ""
	})
}

func (s *suite) dialogHas(p *page, text string) bool {
	for _, r := range s.T.After(p.word) {
		if r.Conn == p.name && r.Kind == transcript.Dialog && contains(string(r.Bytes), text) {
			return true
		}
	}
	return false
}

// observesTelling records whether the page suggests what the user might do.
func (s *suite) observesTelling(ctx context.Context, text string) error {
	p := s.now
	s.settle(ctx, p)
	what := "the page does not suggest: " + text
	if l, _ := s.latest(p); l != nil && more(p.idle, l, text) || s.dialogHas(p, text) {
		what = "the page suggests: " + text
	}
	if id := map[string]string{"有效的主代理": "AC-067", "检查主代理": "AC-069", "重试": "AC-074", "新建会话": "AC-076"}[text]; id != "" {
		s.Observe(id, what)
	}
	return nil
}

// trap is what a text that would be carried out asks for.
const trap = "parley-trap"

// armed is a text of a feature: PARLEY in it is a script that could not go unseen.
func (s *suite) armed(text string) string {
	text = strings.ReplaceAll(text, `\"`, `"`)
	return strings.ReplaceAll(text, "PARLEY", "fetch('/"+trap+"')")
}

// nothingCarriedOut: what was armed has asked for nothing, up to a fence.
func (s *suite) nothingCarriedOut(ctx context.Context) error {
	p := s.now
	if err := s.fence(ctx, p); err != nil {
		return err
	}
	for _, r := range s.T.All() {
		if r.Conn == p.name && r.Kind == transcript.Ask && strings.Contains(r.Label, trap) {
			s.Security("the page carries out what a server says: a script within a text was run (%s)", r.Label)
			return s.Judge(steps.Check{Clauses: []string{"AC-030", "AC-023", "AC-044", "AC-060", "AC-070", "AC-103", "AC-115"},
				Expected: "what the server says shown as text", Observed: "it was carried out: " + steps.Seen(r), At: r.N})
		}
	}
	return nil
}

// saysUnknown sends what a page has to leave alone: event types that no document has, comments, and what is no event.
func (s *suite) saysUnknown(ctx context.Context) error {
	p := s.now
	for _, e := range []struct {
		kind string
		data fields
	}{
		{"agent_gossip", fields{"currentAgentId": "nobody", "agents": []any{}}},
		{"heartbeat", fields{}},
		{"usage", fields{"sessionId": "sess-of-somebody-else", "tokens": 7}},
	} {
		if err := s.emit(ctx, p, e.kind, e.data); err != nil {
			return err
		}
	}
	st := p.server.stream()
	if st == nil {
		return steps.NotTestedf("the page has no event stream open")
	}
	n, err := st.Emit(ctx, "comment", []byte(": still there\n\n"))
	if err != nil {
		return steps.NotTestedf("the page has closed its event stream: %v", err)
	}
	p.word = n
	return nil
}
