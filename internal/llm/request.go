package llm

import (
	"fmt"
	"time"
)

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
