package stub

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/llm"
)

// each runs a test for every API, with and without streaming.
func each(t *testing.T, run func(t *testing.T, d dialect, stream bool)) {
	for _, d := range dialects {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream=%v", d.api, stream), func(t *testing.T) {
				t.Parallel()
				run(t, d, stream)
			})
		}
	}
}

func request(stream bool, messages ...llm.Message) llm.Request {
	return llm.Request{Model: "m", System: "be brief", Tools: []string{"ls", "cat"}, Messages: messages, Stream: stream}
}

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }

func TestAnswers(t *testing.T) {
	tests := []struct{ reason, text, want string }{
		{"plain text", "hello", "ok"},
		{"echo, with characters that need care", "[[echo a]] <é&\"\\\n\u2028>", "[[echo a]] <é&\"\\\n\u2028>"},
		{"stream", "[[stream a 3]]", "stream a 1/3 stream a 2/3 stream a 3/3 "},
		{"an answer without parts", "[[stream a 0]]", ""},
		{"several", "[[stream a 1]] [[recall b]]", "stream a 1/1 \n(0)"},
	}
	each(t, func(t *testing.T, d dialect, stream bool) {
		s, _, c := start(t)
		for _, test := range tests {
			got := d.ask(t, c, s.URL(), request(stream, user(test.text)))
			if diff := cmp.Diff(reply{Text: test.want, Finish: d.stop}, got); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", test.reason, diff)
			}
		}
	})
}

func TestToolThenResult(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		s, b, c := start(t)
		ask := user(`[[stream n 1]] [[tool n cat {"path":"é]]"}]] [[stream n 2]]`)
		got := d.ask(t, c, s.URL(), request(stream, ask))
		want := reply{Text: "stream n 1/1 ", Calls: []llm.ToolCall{{Name: "cat", Arguments: `{"path":"é]]"}`}},
			Finish: d.toolStop}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(llm.ToolCall{}, "ID")); diff != "" {
			t.Fatalf("call: (-want +got)\n%s", diff)
		}
		r := request(stream, ask,
			llm.Message{Role: llm.RoleAssistant, Text: got.Text, Calls: got.Calls},
			llm.Message{Role: llm.RoleTool, Text: "[[echo x]]", ResultOf: got.Calls[0].ID})
		got = d.ask(t, c, s.URL(), r)
		want = reply{Text: "tool n answered\nstream n 1/2 stream n 2/2 ", Finish: d.stop}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after the result: (-want +got)\n%s", diff)
		}
		r.API = d.api
		recorded := b.Requests("n")
		if diff := cmp.Diff(r, recorded[1], cmpopts.IgnoreFields(llm.Request{}, "Seq", "At")); diff != "" {
			t.Errorf("record: (-want +got)\n%s", diff)
		}
	})
}

func TestRecall(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		s, _, c := start(t)
		r := request(stream, user("[[echo a]]"), llm.Message{Role: llm.RoleAssistant, Text: "yes"}, user("[[echo b]]"),
			user("[[recall c]]"))
		if got := d.ask(t, c, s.URL(), r); got.Text != "a b (2)" {
			t.Errorf("recall: %q; want a b (2)", got.Text)
		}
	})
}

func TestFailures(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		s, b, c := start(t)
		for _, status := range []int{400, 401, 429, 500, 529} {
			r := request(stream, user(fmt.Sprintf("[[fail n %d]]", status)))
			res := post(t, t.Context(), c, s.URL()+d.path, d.encode(r))
			if text := faultText(t, d, res); res.StatusCode != status || text != "failing n as asked" {
				t.Errorf("status %d, %q; want %d and the nonce", res.StatusCode, text, status)
			}
		}
		if n := len(b.Requests("n")); n != 5 {
			t.Errorf("%d requests are recorded; want 5", n)
		}
	})
}

// faultText reads an error body and checks its shape.
func faultText(t *testing.T, d dialect, res *http.Response) string {
	t.Helper()
	data := string(readAll(t, res))
	if d.api == llm.APIMessages {
		v := decode[anthropicError](data)
		if v.Type != "error" || v.Error.Type != anthropicErrorType(res.StatusCode) {
			t.Errorf("error body %s", data)
		}
		return v.Error.Message
	}
	v := decode[openAIError](data)
	if v.Error.Type != openAIErrorType(res.StatusCode) {
		t.Errorf("error body %s", data)
	}
	return v.Error.Message
}

func TestFailureInsideOfAStream(t *testing.T) {
	for _, d := range dialects {
		s, _, c := start(t)
		got := d.ask(t, c, s.URL(), request(true, user("[[stream n 1]] [[fail n 500]]")))
		if diff := cmp.Diff(reply{Text: "stream n 1/1 ", Error: "failing n as asked"}, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", d.api, diff)
		}
	}
}

// waitFor reads a stream until its text equals text.
func (d dialect) waitFor(t *testing.T, r *bufio.Reader, whole *reply, text string) {
	t.Helper()
	for whole.Text != text {
		e, err := nextEvent(r)
		if err != nil {
			t.Fatalf("after %q: %v", whole.Text, err)
		}
		d.add(whole, e)
	}
}

func TestHoldThenRelease(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		s, b, c := start(t)
		if !stream {
			go func() {
				_, _ = b.Await(t.Context(), "n", 1)
				b.Release("n")
			}()
			if got := d.ask(t, c, s.URL(), request(false, user("[[hold n]]"))); got.Text != "holding n\nreleased n" {
				t.Errorf("answer %q", got.Text)
			}
			return
		}
		res := post(t, t.Context(), c, s.URL()+d.path, d.encode(request(true, user("[[hold n]]"))))
		var whole reply
		r := bufio.NewReader(res.Body)
		d.waitFor(t, r, &whole, "holding n")
		b.Release("n")
		d.waitFor(t, r, &whole, "holding n\nreleased n")
	})
}

func TestClientThatGoesFreesItsHandler(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		b, done := llm.New(), make(chan any, 1)
		s, c := serve(t, b, done)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = b.Await(t.Context(), "n", 1)
			cancel()
		}()
		data := d.encode(request(stream, user("[[hold n]]")))
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s+d.path, strings.NewReader(marshal(t, data)))
		if err != nil {
			t.Fatal(err)
		}
		if res, err := c.Do(r); err == nil {
			res.Body.Close()
		}
		if p := <-done; p != http.ErrAbortHandler {
			t.Errorf("handler ended with %v; want it aborted", p)
		}
	})
}

func TestInvalidBodies(t *testing.T) {
	const chat, responses, messages = "/v1/chat/completions", "/v1/responses", "/v1/messages"
	tests := []struct {
		reason, path, body string
		status             int
	}{
		{"no JSON", chat, "{", 400},
		{"nothing", responses, "", 400},
		{"no object", messages, "[]", 400},
		{"invalid UTF-8", chat, "{\"model\":\"\xff\"}", 400},
		{"a name twice", responses, `{"model":"m","model":"m","input":"x"}`, 400},
		{"model is missing", chat, `{"messages":[{"role":"user","content":"x"}]}`, 400},
		{"model is missing", messages, `{"messages":[{"role":"user","content":"x"}]}`, 400},
		{"messages are missing", chat, `{"model":"m"}`, 400},
		{"only a system message", chat, `{"model":"m","messages":[{"role":"system","content":"x"}]}`, 400},
		{"input is missing", responses, `{"model":"m"}`, 400},
		{"messages are missing", messages, `{"model":"m"}`, 400},
		{"an unknown role", chat, `{"model":"m","messages":[{"role":"bot","content":"x"}]}`, 400},
		{"an unknown role", messages, `{"model":"m","messages":[{"role":"bot","content":"x"}]}`, 400},
		{"an unknown role", responses, `{"model":"m","input":[{"role":"bot","content":"x"}]}`, 400},
		{"content of a wrong type", chat, `{"model":"m","messages":[{"role":"user","content":7}]}`, 400},
		{"no conversation is kept", responses, `{"model":"m","input":"x","previous_response_id":"resp_1"}`, 400},
		{"token counting checks too", messages + "/count_tokens", `{"model":"m"}`, 400},
		{"too large", chat, `"` + strings.Repeat("x", MaxBody) + `"`, 413},
		{"too large", messages, `"` + strings.Repeat("x", MaxBody) + `"`, 413},
		{"an unknown path", "/v1/embeddings", `{}`, 404},
	}
	s, b, c := start(t)
	for _, test := range tests {
		d := dialect{}
		if strings.HasPrefix(test.path, messages) {
			d = messagesDialect
		}
		res := post(t, t.Context(), c, s.URL()+test.path, test.body)
		if text := faultText(t, d, res); res.StatusCode != test.status || text == "" {
			t.Errorf("%s: %s: status %d, %q; want %d", test.path, test.reason, res.StatusCode, text, test.status)
		}
	}
	if got := b.Find(func(llm.Request) bool { return true }); got != nil {
		t.Errorf("%d requests are recorded; want none", len(got))
	}
}

func TestKeysAreNotRecorded(t *testing.T) {
	s, b, c := start(t)
	for _, d := range dialects {
		d.ask(t, c, s.URL(), request(false, user("[[echo n]]")))
	}
	got := b.Requests("n")
	if len(got) != len(dialects) || strings.Contains(fmt.Sprintf("%+v", got), "hush") {
		t.Errorf("%d requests, with a key among them: %+v", len(got), got)
	}
}

func BenchmarkStreamedCompletion(b *testing.B) {
	s, _, c := start(b)
	body := marshal(b, chatDialect.encode(request(true, user("[[stream n 64]]"))))
	b.ReportAllocs()
	for b.Loop() {
		res, err := c.Post(s.URL()+chatDialect.path, "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		if n := len(allEvents(b, res.Body)); n != 67 { // role, 64 parts, finish, [DONE]
			b.Fatalf("%d events", n)
		}
		res.Body.Close()
	}
}
