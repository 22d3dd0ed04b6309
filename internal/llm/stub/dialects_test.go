package stub

import (
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/llm"
)

var chatDialect = dialect{
	api: llm.APIChat, path: "/v1/chat/completions", stop: "stop", toolStop: "tool_calls",
	encode: func(r llm.Request) object {
		var messages, tools []object
		if r.System != "" {
			messages = append(messages, object{"role": "system", "content": r.System})
		}
		for _, m := range r.Messages {
			o := object{"role": m.Role, "content": m.Text}
			var calls []object
			for _, c := range m.Calls {
				f := object{"name": c.Name, "arguments": c.Arguments}
				calls = append(calls, object{"id": c.ID, "type": "function", "function": f})
			}
			if calls != nil {
				o["tool_calls"] = calls
			}
			if m.ResultOf != "" {
				o["tool_call_id"] = m.ResultOf
			}
			messages = append(messages, o)
		}
		for _, name := range r.Tools {
			tools = append(tools, object{"type": "function", "function": object{"name": name}})
		}
		return object{"model": r.Model, "stream": r.Stream, "messages": messages, "tools": tools}
	},
	whole: func(data []byte) reply {
		c := decode[chatCompletion](string(data)).Choices[0]
		whole := reply{Finish: *c.FinishReason}
		if c.Message.Content != nil {
			whole.Text = *c.Message.Content
		}
		for _, t := range c.Message.ToolCalls {
			whole.Calls = append(whole.Calls, llm.ToolCall{ID: t.ID, Name: t.Function.Name,
				Arguments: string(t.Function.Arguments)})
		}
		return whole
	},
	add: func(whole *reply, e event) {
		if e.Data == "[DONE]" {
			return
		}
		if failed := decode[openAIError](e.Data); failed.Error.Message != "" {
			whole.Error = failed.Error.Message
			return
		}
		for _, c := range decode[chatCompletion](e.Data).Choices {
			if c.Delta.Content != nil {
				whole.Text += *c.Delta.Content
			}
			for _, t := range c.Delta.ToolCalls {
				if *t.Index == len(whole.Calls) {
					whole.Calls = append(whole.Calls, llm.ToolCall{ID: t.ID, Name: t.Function.Name})
				}
				whole.Calls[*t.Index].Arguments += string(t.Function.Arguments)
			}
			if c.FinishReason != nil {
				whole.Finish = *c.FinishReason
			}
		}
	},
}

var responsesDialect = dialect{
	api: llm.APIResponses, path: "/v1/responses", stop: "completed", toolStop: "completed",
	encode: func(r llm.Request) object {
		var input, tools []object
		for _, m := range r.Messages {
			switch {
			case m.Role == llm.RoleTool:
				input = append(input, object{"type": "function_call_output", "call_id": m.ResultOf, "output": m.Text})
				continue
			case m.Text != "":
				input = append(input, object{"type": "message", "role": m.Role, "content": m.Text})
			}
			for _, c := range m.Calls {
				input = append(input, object{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments})
			}
		}
		for _, name := range r.Tools {
			tools = append(tools, object{"type": "function", "name": name})
		}
		return object{"model": r.Model, "stream": r.Stream, "instructions": r.System, "input": input, "tools": tools}
	},
	whole: func(data []byte) reply { return responseReply(decode[response](string(data))) },
	add: func(whole *reply, e event) {
		switch v := decode[responsesEvent](e.Data); v.Type {
		case "response.output_text.delta":
			whole.Text += *v.Delta
		case "response.output_item.added":
			if v.Item.Type == "function_call" {
				whole.Calls = append(whole.Calls, llm.ToolCall{ID: v.Item.CallID, Name: v.Item.Name})
			}
		case "response.function_call_arguments.delta":
			whole.Calls[len(whole.Calls)-1].Arguments += *v.Delta
		case "response.completed":
			whole.Finish = v.Response.Status
		case "response.failed":
			whole.Error = v.Response.Error.Message
		}
	},
}

func responseReply(r response) reply {
	whole := reply{Finish: r.Status}
	for _, i := range r.Output {
		if i.Type == "message" {
			whole.Text += i.Content[0].Text
		} else {
			whole.Calls = append(whole.Calls, llm.ToolCall{ID: i.CallID, Name: i.Name, Arguments: *i.Arguments})
		}
	}
	return whole
}

var messagesDialect = dialect{
	api: llm.APIMessages, path: "/v1/messages", stop: "end_turn", toolStop: "tool_use",
	encode: func(r llm.Request) object {
		var messages, tools []object
		for _, m := range r.Messages {
			if m.Role == llm.RoleTool {
				b := object{"type": "tool_result", "tool_use_id": m.ResultOf, "content": m.Text}
				messages = append(messages, object{"role": "user", "content": []object{b}})
				continue
			}
			var blocks []object
			if m.Text != "" {
				blocks = append(blocks, object{"type": "text", "text": m.Text})
			}
			for _, c := range m.Calls {
				blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Name,
					"input": jsontext.Value(c.Arguments)})
			}
			messages = append(messages, object{"role": m.Role, "content": blocks})
		}
		for _, name := range r.Tools {
			tools = append(tools, object{"name": name, "input_schema": object{"type": "object"}})
		}
		return object{"model": r.Model, "stream": r.Stream, "max_tokens": 100, "system": r.System, "messages": messages,
			"tools": tools}
	},
	whole: func(data []byte) reply {
		m := decode[messagesReply](string(data))
		whole := reply{Finish: *m.StopReason}
		for _, b := range m.Content {
			if b.Type == "text" {
				whole.Text += *b.Text
			} else {
				whole.Calls = append(whole.Calls, llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
			}
		}
		return whole
	},
	add: func(whole *reply, e event) {
		if e.Name == "error" {
			whole.Error = decode[anthropicError](e.Data).Error.Message
			return
		}
		v := decode[messagesEvent](e.Data)
		delta, _ := v.Delta.(object)
		switch {
		case v.Block != nil && v.Block.Type == "tool_use":
			whole.Calls = append(whole.Calls, llm.ToolCall{ID: v.Block.ID, Name: v.Block.Name})
		case delta["type"] == "text_delta":
			whole.Text += delta["text"].(string)
		case delta["type"] == "input_json_delta":
			whole.Calls[len(whole.Calls)-1].Arguments += delta["partial_json"].(string)
		case delta["stop_reason"] != nil:
			whole.Finish = delta["stop_reason"].(string)
		}
	},
}
