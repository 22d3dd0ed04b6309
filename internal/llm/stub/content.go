package stub

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/llm"
)

// content is what the APIs write as null, a string, one block, or an array of blocks.
type content []block

// block is one part of a content. Its fields are the union of those that the APIs use; a block of another type has
// none of them.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`

	// Anthropic tool_use and tool_result.
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Input     jsonText `json:"input"`
	ToolUseID string   `json:"tool_use_id"`
	Content   content  `json:"content"`
}

func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		*c = content{{Type: "text"}}
		return json.UnmarshalDecode(d, &(*c)[0].Text)
	case '{':
		*c = content{{}}
		return json.UnmarshalDecode(d, &(*c)[0])
	}
	return json.UnmarshalDecode(d, (*[]block)(c))
}

func (b block) isText() bool {
	return b.Type == "text" || b.Type == "input_text" || b.Type == "output_text"
}

func (b block) isResult() bool { return b.Type == "tool_result" }

// text returns the texts of the blocks, one per line.
func (c content) text() string {
	var texts []string
	for _, b := range c {
		if b.isText() {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// jsonText is the JSON text of a tool call's arguments, which some APIs write as a string and others as the value
// itself.
type jsonText string

func (t *jsonText) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		return json.UnmarshalDecode(d, (*string)(t))
	}
	v, err := d.ReadValue()
	*t = jsonText(v)
	return err
}

// conversation collects a request's messages in the form of the brain.
type conversation struct {
	system   []string
	messages []llm.Message
}

func (c *conversation) say(role, text string) error {
	switch role {
	case "system", "developer":
		c.system = append(c.system, text)
	case llm.RoleUser, llm.RoleAssistant:
		c.messages = append(c.messages, llm.Message{Role: role, Text: text})
	default:
		return fmt.Errorf("unknown role %q", role)
	}
	return nil
}

// call adds a tool call to the last message if that is the assistant's, or to a new one.
func (c *conversation) call(t llm.ToolCall) {
	if n := len(c.messages); n == 0 || c.messages[n-1].Role != llm.RoleAssistant {
		c.messages = append(c.messages, llm.Message{Role: llm.RoleAssistant})
	}
	m := &c.messages[len(c.messages)-1]
	m.Calls = append(m.Calls, t)
}

func (c *conversation) result(id, text string) {
	c.messages = append(c.messages, llm.Message{Role: llm.RoleTool, Text: text, ResultOf: id})
}

// request returns the request for the brain.
func (c *conversation) request(api, name string, tools []string, stream bool) (llm.Request, error) {
	if name == "" {
		return llm.Request{}, errors.New("model is missing")
	}
	if len(c.messages) == 0 {
		return llm.Request{}, errors.New("there are no messages")
	}
	return llm.Request{
		API:      api,
		Model:    name,
		System:   strings.Join(c.system, "\n"),
		Tools:    tools,
		Messages: c.messages,
		Stream:   stream,
	}, nil
}

// toolDef is a tool definition, with the union of the APIs' fields.
type toolDef struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Function named  `json:"function"`
	Custom   named  `json:"custom"`
}

// names returns the names of tools. A tool built into the API may have only a type.
func names(tools []toolDef) []string {
	var found []string
	for _, t := range tools {
		for _, name := range []string{t.Name, t.Function.Name, t.Custom.Name, t.Type} {
			if name != "" {
				found = append(found, name)
				break
			}
		}
	}
	return found
}

type named struct {
	Name string `json:"name"`
}
