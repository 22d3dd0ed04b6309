package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"parley/internal/llm"
	"parley/internal/llm/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t *testing.T, base, key string) *Client {
	t.Helper()
	c := New(base, key)
	t.Cleanup(c.Close)
	return c
}

// stubbed returns a client of a model stub, and the brain behind it.
func stubbed(t *testing.T) (*Client, *llm.Brain) {
	t.Helper()
	brain := llm.New()
	s, err := stub.Start(brain)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client(t, s.URL()+"/v1/", "hush-hush"), brain
}

// ask collects the pieces of an answer.
func ask(ctx context.Context, c *Client, r llm.Request) (pieces []string, err error) {
	err = c.Answer(ctx, r, func(p llm.Part) error {
		pieces = append(pieces, p.Text)
		return nil
	})
	return pieces, err
}

func saying(text string) llm.Request {
	return llm.Request{Model: "m-1", Messages: []llm.Message{{Role: llm.RoleUser, Text: text}}}
}

func TestAnswer(t *testing.T) {
	c, brain := stubbed(t)
	r := llm.Request{Model: "m-1", System: "Be brief.", Messages: []llm.Message{
		{Role: "user", Text: "[[echo n1]]"}, {Role: "assistant", Text: "cut \xff"},
		{Role: "user", Text: "[[stream n2 3]] \u2028\x00 [[recall n3]]"},
	}}
	got, err := ask(t.Context(), c, r)
	want := []string{"stream n2 1/3 ", "stream n2 2/3 ", "stream n2 3/3 ", "\nn1 (1)"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	asked := brain.Requests("n2")
	want0 := r
	want0.API, want0.Stream = llm.APIChat, true
	want0.Messages[1].Text = "cut \ufffd"
	if diff := cmp.Diff([]llm.Request{want0}, asked, cmpopts.IgnoreFields(llm.Request{}, "Seq", "At")); diff != "" {
		t.Errorf("the model was asked (-want +got):\n%s", diff)
	}
}

func TestLongAnswer(t *testing.T) {
	c, _ := stubbed(t)
	text := "[[echo n]]" + strings.Repeat("x", 7<<20)
	got, err := ask(t.Context(), c, saying(text))
	if err != nil || len(got) != 1 || got[0] != text {
		t.Errorf("%d pieces, %v", len(got), err)
	}
}

func TestCallsAreLeftOut(t *testing.T) {
	c, _ := stubbed(t)
	got, err := ask(t.Context(), c, saying("[[stream n 1]] [[tool n read {}]]"))
	if diff := cmp.Diff([]string{"stream n 1/1 "}, got); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
}

func TestFailures(t *testing.T) {
	c, _ := stubbed(t)
	for _, row := range []struct {
		text   string
		status int
		pieces int
	}{{"[[fail n 429]]", 429, 0}, {"[[fail n]]", 500, 0}, {"[[stream n 2]] [[fail n 503]]", 500, 2}} {
		got, err := ask(t.Context(), c, saying(row.text))
		f, is := errors.AsType[*llm.Failure](err)
		if !is || f.Status != row.status || !strings.Contains(f.Text, "failing n as asked") || len(got) != row.pieces {
			t.Errorf("%s: %q, %v", row.text, got, err)
		}
	}
}

func TestContextEnds(t *testing.T) {
	c, _ := stubbed(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := c.Answer(ctx, saying("[[hold n]]"), func(llm.Part) error {
		cancel()
		return nil
	})
	if err != context.Canceled {
		t.Errorf("while held: %v", err)
	}
	if err := c.Answer(ctx, saying("x"), nil); err != context.Canceled {
		t.Errorf("before: %v", err)
	}
	full := errors.New("full")
	if err := c.Answer(t.Context(), saying("[[stream n 1000]]"), func(llm.Part) error { return full }); err != full {
		t.Errorf("emit: %v", err)
	}
}

// TestContextEndsBeforeTheHeader checks that a server that has not answered yet does not delay the end of a turn.
func TestContextEndsBeforeTheHeader(t *testing.T) {
	arrived, release := make(chan bool), make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- true
		<-release
	}))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if err := client(t, server.URL, "").Answer(ctx, saying("x"), nil); err != context.Canceled {
		t.Errorf("answer: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	for _, base := range []string{server.URL, "http://%zz", ""} {
		if err := client(t, base, "").Answer(t.Context(), saying("x"), nil); err == nil {
			t.Errorf("%q: no error", base)
		}
	}
}

// serving answers every request with a status, a content type and a body.
func serving(t *testing.T, status int, kind, body string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" ||
			r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("asked %s %s by %q", r.Method, r.URL, r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return client(t, server.URL+"/v1", "k")
}

func TestRefusals(t *testing.T) {
	for _, row := range []struct {
		status     int
		body, want string
	}{
		{401, `{"error":{"message":"no such key","type":"x"}}`, "no such key"},
		{404, "page not found\n", "page not found"},
		{502, "", "502 Bad Gateway"},
		{307, "", "307 Temporary Redirect"},
		{500, strings.Repeat("é", 100_000), strings.Repeat("é", 1000)},
	} {
		_, err := ask(t.Context(), serving(t, row.status, "application/json", row.body), saying("x"))
		f, is := errors.AsType[*llm.Failure](err)
		if !is || f.Status != row.status || f.Text != row.want {
			t.Errorf("%d: %.200v", row.status, err)
		}
	}
	_, err := ask(t.Context(), serving(t, 200, "application/json", `{"choices":[]}`), saying("x"))
	if !errors.Is(err, ErrBroken) {
		t.Errorf("no stream: %v", err)
	}
}

func TestStreams(t *testing.T) {
	const hi, there = `{"choices":[{"delta":{"content":"hi"}}]}`, `{"choices":[{"delta":{"content":"there"}}]}`
	for _, row := range []struct {
		name, body string
		want       []string
		broken     bool
	}{
		{"plain", "data: " + hi + "\n\ndata: " + there + "\n\ndata: [DONE]\n\n", []string{"hi", "there"}, false},
		{"no blank after the colon", "data:" + hi + "\n\ndata:[DONE]\n\n", []string{"hi"}, false},
		{"CRLF", "data: " + hi + "\r\n\r\ndata: [DONE]\r\n\r\n", []string{"hi"}, false},
		{"comments and other fields", ": ping\n\nid: 1\nevent: x\ndata: " + hi + "\nretry: 1\n\n\n\ndata: [DONE]\n\n",
			[]string{"hi"}, false},
		{"data of two lines", "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: [DONE]\n\n",
			[]string{"hi"}, false},
		{"no text", `data: {"choices":[{"delta":{"content":null}},{"delta":{}}]}` + "\n\ndata: {}\n\ndata: [DONE]\n\n", nil,
			false},
		{"nothing after the end", "data: [DONE]\n\ndata: " + hi + "\n\n", nil, false},
		{"no line after the end", "data: " + hi + "\n\ndata: [DONE]", []string{"hi"}, false},
		{"no [DONE]", "data: " + hi + "\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
			[]string{"hi"}, false},
		{"cut off", "data: " + hi + "\n\n", []string{"hi"}, true},
		{"cut off in an event", "data: " + hi + "\n\ndata: {\"choi", []string{"hi"}, true},
		{"empty", "", nil, true},
		{"no JSON", "data: hello\n\n", nil, true},
		{"a member twice", `data: {"choices":[],"choices":[]}` + "\n\n", nil, true},
		{"no UTF-8", "data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n", nil, true},
		{"a long line", "data: " + strings.Repeat(" ", MaxLine) + "\n\n", nil, true},
		{"a long event", strings.Repeat("data: "+strings.Repeat(" ", MaxLine/4)+"\n", 5) + "\n", nil, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := ask(t.Context(), serving(t, 200, "text/event-stream; charset=utf-8", row.body), saying("x"))
			if diff := cmp.Diff(row.want, got); diff != "" || errors.Is(err, ErrBroken) != row.broken || !row.broken &&
				err != nil {
				t.Errorf("%v, %s", err, diff)
			}
		})
	}
}

// TestConnectionBreaks checks that a broken connection is not the end of an answer.
func TestConnectionBreaks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := ask(ctx, client(t, server.URL, ""), saying("x"))
	if !errors.Is(err, ErrBroken) || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
}
