package stub

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/llm"
)

func TestDecode(t *testing.T) {
	call := []llm.ToolCall{{ID: "1", Name: "ls", Arguments: `{"p":1}`}}
	tests := []struct {
		reason string
		api    api
		body   string
		want   llm.Request
	}{
		{
			"chat: parts are joined by lines, system and developer prompts too; pictures are left out", chatAPI,
			`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"},
			{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"b"}]},{"role":"developer",
			"content":[{"type":"text","text":"d"}]}]}`,
			llm.Request{API: llm.APIChat, System: "s\nd", Messages: []llm.Message{user("a\nb")}},
		},
		{
			"chat: calls without content, and results", chatAPI,
			`{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function",
			"function":{"name":"ls","arguments":"{\"p\":1}"}}]},
			{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"r"}]}],"tools":[{"type":"custom",
			"custom":{"name":"free"}}]}`,
			llm.Request{
				API: llm.APIChat, Tools: []string{"free"},
				Messages: []llm.Message{{Role: "assistant", Calls: call}, {Role: "tool", Text: "r", ResultOf: "1"}},
			},
		},
		{
			"responses: a string", responsesAPI,
			`{"model":"m","input":"x","tools":[{"type":"web_search"}],"stream":true,"previous_response_id":null}`,
			llm.Request{API: llm.APIResponses, Tools: []string{"web_search"}, Stream: true, Messages: []llm.Message{user("x")}},
		},
		{
			"responses: items, an assistant's text and call being one message; others are left out", responsesAPI,
			`{"model":"m","instructions":"i","input":[{"role":"developer","content":"d"},{"type":"message","role":"user",
			"content":[{"type":"input_text","text":"x"}]},
			{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":null},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"y","annotations":[]}]},
			{"type":"function_call","call_id":"1","name":"ls","arguments":"{\"p\":1}"},
			{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"r"}]}]}`,
			llm.Request{
				API: llm.APIResponses, System: "i\nd",
				Messages: []llm.Message{user("x"), {Role: "assistant", Text: "y", Calls: call},
					{Role: "tool", Text: "r", ResultOf: "1"}},
			},
		},
		{
			"messages: blocks; thinking is left out", messagesAPI,
			`{"model":"m","max_tokens":1,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}},
			{"type":"text","text":"t"}],
			"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm",
			"signature":"z"},
			{"type":"text","text":"y"},{"type":"tool_use","id":"1","name":"ls","input":{"p":1}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r"}]}]}],
			"tools":[{"name":"ls"}]}`,
			llm.Request{
				API: llm.APIMessages, System: "s\nt", Tools: []string{"ls"},
				Messages: []llm.Message{user("x"), {Role: "assistant", Text: "y", Calls: call},
					{Role: "tool", Text: "r", ResultOf: "1"}},
			},
		},
		{
			"messages: texts around results keep their place", messagesAPI,
			`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},
			{"type":"tool_result","tool_use_id":"1","content":"r"},{"type":"tool_result","tool_use_id":"2"},{"type":"text",
			"text":"c"}]}]}`,
			llm.Request{API: llm.APIMessages, Messages: []llm.Message{
				user("a\nb"), {Role: "tool", Text: "r", ResultOf: "1"}, {Role: "tool", ResultOf: "2"}, user("c"),
			}},
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			x, err := test.api.decode([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			test.want.Model = "m"
			if diff := cmp.Diff(test.want, x.request); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// twoItems yields a stream with a text and a call.
const twoItems = `[[stream n 2]] [[tool n ls {"p":1}]]`

func streamOf(t *testing.T, d dialect, more object) []event {
	s, _, c := start(t)
	body := d.encode(request(true, user(twoItems)))
	for k, v := range more {
		body[k] = v
	}
	return allEvents(t, post(t, t.Context(), c, s.URL()+d.path, body).Body)
}

func TestChatChunks(t *testing.T) {
	all := streamOf(t, chatDialect, object{"stream_options": object{"include_usage": true}})
	var got []string
	for _, e := range all {
		if e.Data == "[DONE]" {
			got = append(got, e.Data)
			continue
		}
		o := decode[object](e.Data)
		if o["object"] != "chat.completion.chunk" || o["id"] != decode[object](all[0].Data)["id"] || e.Name != "" {
			t.Errorf("chunk %+v", e)
		}
		got = append(got, e.Data[strings.Index(e.Data, `"choices"`):])
	}
	id := decode[chatCompletion](all[3].Data).Choices[0].Delta.ToolCalls[0].ID
	want := []string{
		choice(`"role":"assistant","content":""`, "null"),
		choice(`"content":"stream n 1/2 "`, "null"),
		choice(`"content":"stream n 2/2 "`, "null"),
		choice(`"tool_calls":[{"index":0,"id":"`+id+`","type":"function","function":{"name":"ls","arguments":""}}]`, "null"),
		choice(`"tool_calls":[{"index":0,"function":{"arguments":"{\"p"}}]`, "null"),
		choice(`"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}}]`, "null"),
		choice("", `"tool_calls"`),
		`"choices":[],"usage":{"prompt_tokens":14,"completion_tokens":10,"total_tokens":24}}`,
		"[DONE]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func choice(delta, finish string) string {
	return fmt.Sprintf(`"choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}],"usage":null}`, delta,
		finish)
}

func TestChatWithoutUsageChunk(t *testing.T) {
	for _, e := range streamOf(t, chatDialect, nil) {
		if strings.Contains(e.Data, "usage") {
			t.Errorf("chunk with usage: %s", e.Data)
		}
	}
}

func TestResponsesEvents(t *testing.T) {
	all := streamOf(t, responsesDialect, nil)
	var got []string
	ids := map[int]string{}
	for i, e := range all {
		v := decode[responsesEvent](e.Data)
		if v.Type != e.Name || v.Sequence != i {
			t.Errorf("event %d: %+v", i, e)
		}
		got = append(got, e.Name)
		if v.Item != nil && ids[*v.OutputIndex] == "" {
			ids[*v.OutputIndex] = v.Item.ID
		}
		if v.ItemID != "" && v.ItemID != ids[*v.OutputIndex] {
			t.Errorf("event %d: item %q; want %q", i, v.ItemID, ids[*v.OutputIndex])
		}
	}
	want := []string{
		"response.created", "response.in_progress",
		"response.output_item.added", "response.content_part.added",
		"response.output_text.delta", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done",
		"response.output_item.added",
		"response.function_call_arguments.delta", "response.function_call_arguments.delta",
		"response.function_call_arguments.done", "response.output_item.done",
		"response.completed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	end := decode[responsesEvent](all[len(all)-1].Data).Response
	if len(ids) != 2 || end.Output[0].ID != ids[0] || end.Output[1].ID != ids[1] || end.Usage.Total != 24 {
		t.Errorf("response at the end: %+v; want items %v", end, ids)
	}
	whole := reply{Text: "stream n 1/2 stream n 2/2 ", Calls: []llm.ToolCall{{Name: "ls", Arguments: `{"p":1}`}},
		Finish: "completed"}
	if diff := cmp.Diff(whole, responseReply(*end), cmpopts.IgnoreFields(llm.ToolCall{}, "ID")); diff != "" {
		t.Errorf("response at the end: (-want +got)\n%s", diff)
	}
}

func TestMessagesEvents(t *testing.T) {
	all := streamOf(t, messagesDialect, nil)
	id := decode[messagesEvent](all[6].Data).Block.ID
	want := []event{
		{"ping", `{"type":"ping"}`},
		{"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`},
		{"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"stream n ` +
			`1/2 "}}`},
		{"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"stream n ` +
			`2/2 "}}`},
		{"content_block_stop", `{"type":"content_block_stop","index":0}`},
		{"content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"` + id +
			`","name":"ls","input":{}}}`},
		{"content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta",` +
			`"partial_json":"{\"p"}}`},
		{"content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta",` +
			`"partial_json":"\":1}"}}`},
		{"content_block_stop", `{"type":"content_block_stop","index":1}`},
		{"message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},` +
			`"usage":{"output_tokens":10}}`},
		{"message_stop", `{"type":"message_stop"}`},
	}
	if diff := cmp.Diff(want, all[1:]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	first := decode[object](all[0].Data)
	message := first["message"].(object)
	if first["type"] != "message_start" || message["role"] != "assistant" || message["stop_reason"] != nil ||
		len(message["content"].([]any)) != 0 {
		t.Errorf("first event %+v", all[0])
	}
}

func TestPieces(t *testing.T) {
	for _, text := range []string{"", "x", "{}", "éé", `{"p":"é"}`, "\xff\xff\xff"} {
		got := splitArguments(text)
		if len(got) != 2 || strings.Join(got, "") != text {
			t.Errorf("pieces(%q) = %q", text, got)
		}
		if slices.Contains(got, "") && len(text) > 2 {
			t.Errorf("pieces(%q) = %q: one is empty", text, got)
		}
	}
}
