package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// turn is what a request says about the answer it asks for.
type turn struct {
	text       string // the last user text
	directives []Directive
	answered   int       // tool results since
	earlier    []Message // before
}

func turnOf(messages []Message) turn {
	i := askingText(messages)
	if i < 0 {
		return turn{}
	}
	return turn{
		text:       messages[i].Text,
		directives: latestDirectives(messages[i].Text),
		answered:   countResults(messages[i+1:]),
		earlier:    messages[:i],
	}
}

// askingText returns the index of the user text that asks for the answer: after the last answer in words, the last text
// with a directive, because a target may append reminders of its own; without a directive, the last text; -1 if there
// is none.
func askingText(messages []Message) int {
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

// latestDirectives returns the directives of a text. Directives of other nonces in lines before the last line with
// directives are left out: a target may join the text of an aborted turn and that of the next one into one message.
func latestDirectives(text string) []Directive {
	all := Directives(text)
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i > 0; i-- {
		own := nonceList(Directives(lines[i]))
		if len(own) == 0 {
			continue
		}
		return slices.DeleteFunc(all, func(d Directive) bool { return !slices.Contains(own, d.Nonce) })
	}
	return all
}

func isUserText(m Message) bool { return m.Role == RoleUser && m.Text != "" }

// countResults counts the answered calls rather than the messages: a target may split the result of one call over
// several.
func countResults(messages []Message) int {
	calls := map[string]bool{}
	for _, m := range messages {
		if m.Role == RoleTool {
			calls[m.ResultOf] = true
		}
	}
	return len(calls)
}

// resumeAfterTools returns the last answered tool directive, nil if there is none, and the remaining directives.
func (t turn) resumeAfterTools() (last *Directive, rest []Directive) {
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

// runDirectives carries out the directives.
func (t turn) runDirectives(v *voice) error {
	if len(t.directives) == 0 {
		return v.emitText("ok")
	}
	last, rest := t.resumeAfterTools()
	if last != nil && (len(rest) == 0 || rest[0].Kind != KindFail) {
		if err := v.emitText("tool " + last.Nonce + " answered"); err != nil {
			return err
		}
	}
	for _, d := range rest {
		v.startLine()
		if err := t.carryOut(v, d); err != nil || d.Kind == KindTool {
			return err
		}
	}
	return nil
}

func (t turn) carryOut(v *voice, d Directive) error {
	switch d.Kind {
	case KindHold:
		return v.holdAnswer(d)
	case KindStream:
		return v.streamPieces(d.Nonce, d.Count)
	case KindTool:
		return v.emitCall(d.Name, d.Args)
	case KindFail:
		return v.failAnswer(d)
	case KindEcho:
		return v.emitText(t.text)
	default:
		return v.emitText(t.recallNonces())
	}
}

// recallNonces names the nonces of the earlier turns.
func (t turn) recallNonces() string {
	var found []string
	for _, m := range t.earlier {
		if isUserText(m) {
			found = append(found, nonceList(Directives(m.Text))...)
		}
	}
	return strings.TrimLeft(fmt.Sprintf("%s (%d)", strings.Join(found, " "), len(found)), " ")
}

// clipText returns a text of at most MaxText bytes. A longer one is cut between characters and ends in a note about the
// cut.
func clipText(text string) string {
	if len(text) <= MaxText {
		return text
	}
	note := fmt.Sprintf(" …[clipped from %d bytes]", len(text))
	end := MaxText - len(note)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + note
}

// clipRequest returns a deep copy of the request with its texts clipped.
func clipRequest(r Request) Request {
	r = copyRequest(r)
	for _, s := range []*string{&r.API, &r.Model, &r.System} {
		*s = clipText(*s)
	}
	for i := range r.Tools {
		r.Tools[i] = clipText(r.Tools[i])
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		m.Role, m.Text, m.ResultOf = clipText(m.Role), clipText(m.Text), clipText(m.ResultOf)
		for j := range m.Calls {
			c := &m.Calls[j]
			c.ID, c.Name, c.Arguments = clipText(c.ID), clipText(c.Name), clipText(c.Arguments)
		}
	}
	return r
}

func copyRequest(r Request) Request {
	r.Tools = slices.Clone(r.Tools)
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		r.Messages[i].Calls = slices.Clone(r.Messages[i].Calls)
	}
	return r
}

// requestSize estimates the size of a request's record in bytes.
func requestSize(r Request, nonces []string) int {
	const request, message, call, text = 512, 96, 48, 16
	w := request + len(r.API) + len(r.Model) + len(r.System)
	for _, list := range [][]string{r.Tools, nonces} {
		for _, s := range list {
			w += text + len(s)
		}
	}
	for _, m := range r.Messages {
		w += message + len(m.Role) + len(m.Text) + len(m.ResultOf)
		for _, c := range m.Calls {
			w += call + len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	return w
}

// foretoldMax is the longest answer that is foretold, in bytes.
const foretoldMax = MaxText

// Foretold returns the whole answer to a user text with directives, with its holds released; "" if that depends on more
// than the text, as after a failure, a tool call or a recall, or if it is longer than MaxText bytes.
func Foretold(text string) string {
	t := turnOf([]Message{{Role: RoleUser, Text: text}})
	if len(t.directives) == 0 {
		return ""
	}
	for _, d := range t.directives {
		if d.Kind == KindTool || d.Kind == KindFail || d.Kind == KindRecall || d.Count > foretoldMax {
			return ""
		}
	}
	var said strings.Builder
	open := newGates(len(t.directives) + 1)
	for _, d := range t.directives {
		open.releaseNonce(d.Nonce)
	}
	err := t.runDirectives(&voice{ctx: context.Background(), gates: open, emit: func(p Part) error {
		if said.Len()+len(p.Text) > foretoldMax {
			return errTooLong
		}
		said.WriteString(p.Text)
		return nil
	}})
	if err != nil {
		return ""
	}
	return said.String()
}

var errTooLong = errors.New("the answer is too long to be foretold")

// Values of Request.API that this module uses. An in-process caller may use others.
const (
	APIInProcess = "in-process"
	APIChat      = "openai-chat"
	APIResponses = "openai-responses"
	APIMessages  = "anthropic-messages"
)

// The roles of a Message.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Request is one call of a model, as the model sees it: the whole conversation up to the requested answer.
type Request struct {
	Seq      int       // set by the brain, from 1
	At       time.Time // set by the brain
	API      string    // one of the API constants
	Model    string
	System   string    // system prompts, joined by "\n"
	Tools    []string  // names of the tools offered, in order
	Messages []Message // without the system prompt
	Stream   bool      // the answer is requested in pieces
}

// Asking returns the user text that asks for the answer, as Brain.Answer finds it, and the number of tool calls
// answered since.
func (r Request) Asking() (text string, results int) {
	t := turnOf(r.Messages)
	return t.text, t.answered
}

// Message is one message of a conversation.
type Message struct {
	Role     string // RoleUser, RoleAssistant or RoleTool
	Text     string
	Calls    []ToolCall // of assistant messages
	ResultOf string     // of tool messages: the id of the call that this answers
}

// ToolCall asks for one run of a tool.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text, an object
}

// Part is one streamed piece of an answer: text, or one tool call.
type Part struct {
	Text string
	Call *ToolCall // nil for text
}

// Failure is the error of an answer that a fail directive requested.
type Failure struct {
	Status int    // HTTP status, 400 to 599
	Text   string // names the nonce
}

func (f *Failure) Error() string { return fmt.Sprintf("model failure %d: %s", f.Status, f.Text) }
