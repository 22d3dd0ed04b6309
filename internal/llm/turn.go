package llm

import (
	"fmt"
	"slices"
	"strings"
)

// turn is what a request says about the answer it asks for.
type turn struct {
	text       string // the last user text
	directives []Directive
	answered   int       // tool results since
	earlier    []Message // before
}

func turnOf(messages []Message) turn {
	i := spoken(messages)
	if i < 0 {
		return turn{}
	}
	return turn{
		text:       messages[i].Text,
		directives: latest(messages[i].Text),
		answered:   results(messages[i+1:]),
		earlier:    messages[:i],
	}
}

// spoken returns the index of the user text that asks for the answer: after the last answer in words, the last text
// with a directive, because a target may append reminders of its own; without a directive, the last text; -1 if there
// is none.
func spoken(messages []Message) int {
	last := -1
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if m.Role == RoleAssistant && len(m.Calls) == 0 && last >= 0 {
			break
		}
		if !isUserText(m) {
			continue
		}
		if len(Directives(m.Text)) > 0 {
			return i
		}
		if last < 0 {
			last = i
		}
	}
	return last
}

// latest returns the directives of a text. Directives of other nonces in lines before the last line with directives
// are left out: a target may join the text of an aborted turn and that of the next one into one message.
func latest(text string) []Directive {
	all := Directives(text)
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i > 0; i-- {
		own := nonces(Directives(lines[i]))
		if len(own) == 0 {
			continue
		}
		return slices.DeleteFunc(all, func(d Directive) bool { return !slices.Contains(own, d.Nonce) })
	}
	return all
}

func isUserText(m Message) bool { return m.Role == RoleUser && m.Text != "" }

// results counts the answered calls rather than the messages: a target may split the result of one call over several.
func results(messages []Message) int {
	calls := map[string]bool{}
	for _, m := range messages {
		if m.Role == RoleTool {
			calls[m.ResultOf] = true
		}
	}
	return len(calls)
}

// resume returns the last answered tool directive, nil if there is none, and the remaining directives.
func (t turn) resume() (last *Directive, rest []Directive) {
	rest, left := t.directives, t.answered
	for i := range t.directives {
		if left == 0 {
			break
		}
		if d := &t.directives[i]; d.Kind == KindTool {
			last, rest = d, t.directives[i+1:]
			left--
		}
	}
	return last, rest
}

// answer carries out the directives.
func (t turn) answer(v *voice) error {
	if len(t.directives) == 0 {
		return v.say("ok")
	}
	last, rest := t.resume()
	if last != nil && (len(rest) == 0 || rest[0].Kind != KindFail) {
		if err := v.say("tool " + last.Nonce + " answered"); err != nil {
			return err
		}
	}
	for _, d := range rest {
		v.line()
		if err := t.carryOut(v, d); err != nil || d.Kind == KindTool {
			return err
		}
	}
	return nil
}

func (t turn) carryOut(v *voice, d Directive) error {
	switch d.Kind {
	case KindHold:
		return v.hold(d)
	case KindStream:
		return v.stream(d.Nonce, d.Count)
	case KindTool:
		return v.call(d.Name, d.Args)
	case KindFail:
		return v.fail(d)
	case KindEcho:
		return v.say(t.text)
	default:
		return v.say(t.recall())
	}
}

// recall names the nonces of the earlier turns.
func (t turn) recall() string {
	var found []string
	for _, m := range t.earlier {
		if isUserText(m) {
			found = append(found, nonces(Directives(m.Text))...)
		}
	}
	return strings.TrimLeft(fmt.Sprintf("%s (%d)", strings.Join(found, " "), len(found)), " ")
}
