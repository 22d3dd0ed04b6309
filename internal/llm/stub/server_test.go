package stub

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"parley/internal/llm"
)

func marshal(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// serve serves a brain, and sends what each handler panicked with, or nil, to done when it ends.
func serve(t *testing.T, b *llm.Brain, done chan<- any) (url string, c *http.Client) {
	h := Handler(b)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { done <- recover() }()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, s.Client()
}

func TestURLIsOnLoopback(t *testing.T) {
	s, _, _ := start(t)
	host, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL(), "http://"))
	if err != nil || host != "127.0.0.1" || port == "0" {
		t.Errorf("URL %s: %v", s.URL(), err)
	}
}

func TestCloseEndsHeldRequests(t *testing.T) {
	s, b, c := start(t)
	streamed := post(t, t.Context(), c, s.URL()+chatDialect.path, chatDialect.encode(request(true, user("[[hold n]]"))))
	whole := make(chan error)
	go func() {
		res, err := c.Post(s.URL()+chatDialect.path, "application/json",
			strings.NewReader(marshal(t, chatDialect.encode(request(false, user("[[hold n]]"))))))
		if err == nil {
			res.Body.Close()
		}
		whole <- err
	}()
	var got reply
	r := bufio.NewReader(streamed.Body)
	chatDialect.waitFor(t, r, &got, "holding n")
	if _, err := b.Await(t.Context(), "n", 2); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := nextEvent(r); err == nil || err == io.EOF {
		t.Errorf("stream ended with %v; want it broken", err)
	}
	if err := <-whole; err == nil {
		t.Error("the request that waits for a whole answer got one")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if res, err := c.Get(s.URL() + "/v1/models"); err == nil {
		res.Body.Close()
		t.Error("the server still answers")
	}
}

func TestCloseWaitsForHandlersUntilTheContextEnds(t *testing.T) {
	s := &Server{cancel: func() {}, served: make(chan struct{}), load: load{idle: make(chan struct{})}}
	close(s.served)
	if !s.load.enterRequest() {
		t.Fatal("no entry before Close")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close with a handler at work: %v; want the context's error", err)
	}
	if s.load.enterRequest() {
		t.Error("entry after Close")
	}
	s.load.leaveRequest()
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
}
