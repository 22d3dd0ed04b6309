package sse

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/deadline"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// chat answers posts at /message with the given handler, and streams everywhere else.
func chat(post http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/message" {
			post(w, r)
			return
		}
		streams("data: hello\n\n")(w, r)
	}
}

func TestSend(t *testing.T) {
	type request struct{ Method, Type, Auth, Conn, Body string }
	got := make(chan request, 1)
	p := connect(t, serve(t, chat(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- request{r.Method, r.Header.Get("Content-Type"), r.Header.Get("Authorization"),
			r.Header.Get("X-Connection-Id"), string(b)}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"success":true}`)
	})), driver.OpenOptions{Header: http.Header{"Authorization": {"stream"}, "X-Connection-Id": {"stream"}}})
	rows := []struct {
		reason string
		m      driver.Message
		want   request
	}{
		{"a message is a POST of JSON", driver.Message{Body: []byte(`{}`)},
			request{"POST", "application/json", "stream", "stream", `{}`}},
		{"headers of the message win", driver.Message{Body: []byte(`x`),
			Header: http.Header{"X-Connection-Id": {"message"}, "Content-Type": {"text/plain"}}},
			request{"POST", "text/plain", "stream", "message", `x`}},
		{"another method, and no body", driver.Message{Method: "DELETE"}, request{"DELETE", "", "stream", "stream", ""}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			r.m.Label, r.m.URL = "chat", p.url+"/message?a=b"
			n, err := p.conn.Send(t.Context(), r.m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.want, <-got); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
			rec := p.await("the answer", answer(n))
			if rec.Status != 202 || !rec.Flushed || rec.Type != "application/json" || string(rec.Bytes) != `{"success":true}` {
				t.Errorf("the answer is recorded as %+v", rec)
			}
			sent := p.log.All()[n-1]
			if sent.Kind != transcript.Request || sent.Dir != transcript.Sent || sent.Label != r.want.Method+" /message?a=b" ||
				sent.Type != "chat" || string(sent.Bytes) != r.want.Body {
				t.Errorf("the message is recorded as %+v", sent)
			}
		})
	}
	if _, err := p.conn.Send(t.Context(), driver.Message{URL: "http://a b/"}); err == nil {
		t.Error("a message to nowhere was sent")
	}
	_ = p.conn.Close(driver.Graceful)
	if _, err := p.conn.Send(t.Context(), driver.Message{URL: p.url}); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Send after Close: %v", err)
	}
}

func TestAnswers(t *testing.T) {
	rows := []struct {
		reason  string
		post    http.HandlerFunc
		kind    transcript.Kind
		status  int
		flushed bool
		bytes   int
	}{
		{"empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, transcript.Response, 204, true, 0},
		{"a refusal", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 400) }, transcript.Response, 400,
			true, 3},
		{"a redirect is an answer", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(302)
		}, transcript.Response, 302, true, 0},
		{"a body at its bound", func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = io.WriteString(w, strings.Repeat("x", MaxAnswer))
		}, transcript.Response, 200, true, MaxAnswer},
		{"a body beyond it is cut, and was not read to its end", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", 2*MaxAnswer))
		},
			transcript.Response, 200, false, MaxAnswer},
		{"a body that breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "12345")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, transcript.Failure, 200, false, 5},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, transcript.Failure, 0,
			false, 0},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			p := connect(t, serve(t, chat(r.post)), driver.OpenOptions{})
			n := p.post("{}")
			rec := p.await("the answer", func(r *transcript.Record) bool { return r.Reply == n })
			if rec.Kind != r.kind || rec.Status != r.status || rec.Flushed != r.flushed || len(rec.Bytes) != r.bytes {
				t.Errorf("%s, %d, flushed %v, %d bytes: %s", rec.Kind, rec.Status, rec.Flushed, len(rec.Bytes), rec.Line(200))
			}
		})
	}
}

// TestHeldAnswers: a target may hold the response to a chat until the turn is over. Only waits for that record are
// affected.
func TestHeldAnswers(t *testing.T) {
	const held = 300 // more than the pool keeps
	release := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Add(held)
	p := connect(t, serve(t, chat(func(w http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); string(b) == "hold" {
			waiting.Done()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	})), driver.OpenOptions{})
	first := p.post("hold")
	for range held - 1 {
		p.post("hold")
	}
	waiting.Wait()
	p.await("the stream meanwhile", kind(transcript.Stream))
	n := p.post("at once")
	if rec := p.await("the answer to another message", answer(n)); rec.Status != 200 {
		t.Errorf("the answer is %s", rec.Line(200))
	}
	close(release)
	p.await("the answer that was held", answer(first))
}

func TestCloseWithHeldAnswers(t *testing.T) {
	for _, reason := range []string{"no answer at all", "an answer whose body never ends"} {
		t.Run(reason, func(t *testing.T) {
			arrived := make(chan struct{}, 2)
			p := connect(t, serve(t, chat(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if reason != "no answer at all" {
					_, _ = io.WriteString(w, "partly")
					w.(http.Flusher).Flush()
				}
				arrived <- struct{}{}
				<-r.Context().Done()
			})), driver.OpenOptions{})
			p.post("1")
			p.post("2")
			<-arrived
			<-arrived
			go deadline.Watch(t.Context())
			limit := deadline.In(2 * time.Second)
			for range 2 { // closing twice is harmless
				if err := p.conn.Close(driver.Graceful); err != nil {
					t.Error(err)
				}
			}
			if limit.Over() {
				t.Error("Close took two seconds")
			}
			n := p.log.Len()
			last := said(p.log.All())
			if !strings.Contains(strings.Join(last, "|"), "closed closed by the harness") {
				t.Errorf("recorded is %q", last)
			}
			for _, r := range p.log.All() {
				if r.Kind == transcript.Failure || r.Flushed {
					t.Errorf("what the harness ended is recorded as %s", r.Line(100))
				}
			}
			if p.log.Len() != n {
				t.Error("something was recorded after Close")
			}
		})
	}
}
