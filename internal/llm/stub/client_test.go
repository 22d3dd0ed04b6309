package stub

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"parley/internal/llm"
)

type object = map[string]any

// reply is an answer in a neutral form.
type reply struct {
	Text   string
	Calls  []llm.ToolCall
	Finish string
	Error  string // of an error within a stream
}

// dialect is the client side of one API.
type dialect struct {
	api, path string
	stop      string // the finish reason of a text answer
	toolStop  string // the finish reason of a tool call
	encode    func(llm.Request) object
	whole     func(data []byte) reply
	add       func(*reply, event) // one event of a stream
}

var dialects = []dialect{chatDialect, responsesDialect, messagesDialect}

// event is a received server-sent event.
type event struct{ Name, Data string }

// start starts a server, and a client with its own connections.
func start(t testing.TB) (*Server, *llm.Brain, *http.Client) {
	b := llm.New()
	s, err := Start(b)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, b, &http.Client{Transport: transport}
}

// post sends a body, marshaled unless it is a string.
func post(t testing.TB, ctx context.Context, c *http.Client, url string, body any) *http.Response {
	t.Helper()
	text, ok := body.(string)
	if !ok {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer hush-hush")
	r.Header.Set("X-Api-Key", "hush-hush")
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// nextEvent reads one event; it returns io.EOF at the proper end of the stream.
func nextEvent(r *bufio.Reader) (event, error) {
	var e event
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return e, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "":
			return e, nil
		case "event":
			e.Name = value
		case "data":
			e.Data = value
		}
	}
}

func allEvents(t testing.TB, body io.Reader) []event {
	t.Helper()
	var all []event
	for r := bufio.NewReader(body); ; {
		e, err := nextEvent(r)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("after %d events: %v", len(all), err)
		}
		all = append(all, e)
	}
}

// ask sends a request, and reads its answer.
func (d dialect) ask(t testing.TB, c *http.Client, url string, r llm.Request) reply {
	t.Helper()
	res := post(t, t.Context(), c, url+d.path, d.encode(r))
	if res.StatusCode != http.StatusOK {
		t.Fatalf("status %s", res.Status)
	}
	if r.Stream {
		return d.streamed(t, res)
	}
	return d.whole(readAll(t, res))
}

func (d dialect) streamed(t testing.TB, res *http.Response) reply {
	t.Helper()
	if got := res.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	var whole reply
	for _, e := range allEvents(t, res.Body) {
		d.add(&whole, e)
	}
	return whole
}

func readAll(t testing.TB, res *http.Response) []byte {
	t.Helper()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode[T any](data string) T {
	var v T
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		panic(err)
	}
	return v
}
