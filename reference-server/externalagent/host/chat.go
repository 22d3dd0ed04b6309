package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// Roles of history entries.
const (
	user      = "user"
	agent     = "agent"
	assistant = "assistant"
)

// Errors of Say.
var (
	ErrNoSession = errors.New("no session is active")
	ErrText      = errors.New("the text is not accepted")
	ErrFull      = errors.New("the chat has no room for more: end the session")
)

// chat is the message history.
type chat struct {
	all   []proto.ChatMessage
	bytes int // size of the entries as JSON
}

func (c *chat) add(msg proto.ChatMessage) {
	c.all = append(c.all, msg)
	c.bytes += size(msg)
}

func size(msg proto.ChatMessage) int {
	data, _ := json.Marshal(msg, jsontext.AllowInvalidUTF8(true)) // cannot fail: it holds only strings
	return len(data)
}

func (c *chat) entries() []any {
	entries := make([]any, len(c.all))
	for i, msg := range c.all {
		entries[i] = object{"id": msg.ID, "role": msg.Role, "text": msg.Text, "stage": msg.Stage, "timestamp": msg.Timestamp}
	}
	return entries
}

func (m *machine) entry(role, text string) proto.ChatMessage {
	id := fmt.Sprintf("msg-%d", len(m.chat.all)+1)
	return proto.ChatMessage{ID: id, Role: role, Text: text, Stage: m.stage, Timestamp: m.timestamp()}
}

// say adds an entry to the history, if there is room.
func (m *machine) say(role, text string) error {
	l := m.o.Limits
	if len(text) > l.Text {
		return fmt.Errorf("%w: send at most %d bytes", ErrText, l.Text)
	}
	msg := m.entry(role, text)
	if len(m.chat.all) >= l.History || m.chat.bytes+size(msg) > l.HistoryBytes {
		return ErrFull
	}
	m.chat.add(msg)
	return nil
}

// agentSays shows and records a message and has no other effect (EA-008). It has no reply; state.updated shows it.
func (m *machine) agentSays(msg Message) *Refusal {
	if err := m.say(agent, msg.PayloadText("text")); err != nil {
		return &Refusal{proto.InvalidMessage, err.Error()}
	}
	m.update(msg)
	return nil
}

// userSays handles the participant's input (EA-009, EA-060 to EA-062).
func (m *machine) userSays(text string) error {
	if m.id == "" {
		return ErrNoSession
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if text == "" {
		return fmt.Errorf("%w: it is empty", ErrText)
	}
	if err := m.say(user, text); err != nil {
		return err
	}
	m.internal(userInput, object{"text": text, "stage": m.stage})
	msg := wire.New(proto.UserMessage, object{"text": text, "stage": m.stage})
	m.emit(msg)
	m.update(msg)
	m.settle(nil)
	return nil
}
