package sse

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// hosted is a Listener with its transcript.
type hosted struct {
	*testing.T
	l      *Listener
	log    *transcript.Transcript
	client *http.Client
	opened chan *Streamed
}

func host(t *testing.T, answer func(Incoming) Answer) *hosted {
	t.Helper()
	h := &hosted{T: t, log: transcript.New(nil), client: &http.Client{Transport: &http.Transport{}},
		opened: make(chan *Streamed, 64)}
	l, err := Listen(ListenOptions{Sink: h.log.Append, Party: func(*http.Request) string { return "A api" },
		Answer: answer,
		Opened: func(_ Incoming, s *Streamed) { h.opened <- s }})
	if err != nil {
		t.Fatal(err)
	}
	h.l = l
	t.Cleanup(func() { l.Close(); h.client.CloseIdleConnections() })
	return h
}

func (h *hosted) ask(method, path, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(h.Context(), method, h.l.URL()+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return h.client.Do(req)
}

func (h *hosted) must(method, path, body string, header ...string) (*http.Response, string) {
	h.Helper()
	res, err := h.ask(method, path, body, header...)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return res, string(text)
}

// open opens a stream, and returns both of its ends.
func (h *hosted) open() (*http.Response, *Streamed) {
	h.Helper()
	res, err := h.ask(http.MethodGet, "/events", "")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { res.Body.Close() })
	return res, <-h.opened
}

func (h *hosted) kinds() []string {
	var out []string
	for _, r := range h.log.All() {
		out = append(out, strings.TrimSpace(r.Conn+" "+string(r.Dir)+" "+string(r.Kind)+" "+r.Label))
	}
	return out
}

func (h *hosted) awaitRecord(conn string, kind transcript.Kind, dir transcript.Dir) transcript.Record {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
	defer cancel()
	r, err := h.log.Await(ctx, 0, func(r *transcript.Record) bool {
		return r.Conn == conn && r.Kind == kind &&
			r.Dir == dir
	})
	if err != nil {
		h.Fatalf("%v; there is:\n%s", err, strings.Join(h.kinds(), "\n"))
	}
	return r
}

func streaming(Incoming) Answer { return Answer{Stream: true} }

func TestListenerTellsRequestsAndAnswers(t *testing.T) {
	h := host(t, func(in Incoming) Answer {
		if string(in.Body) == "bad" {
			return Answer{Status: http.StatusTeapot, Type: "text/plain", Body: []byte("no")}
		}
		return Answer{Body: []byte(`{"got":"` + string(in.Body) + `"}`)}
	})
	res, text := h.must(http.MethodPost, "/message?x=1", "hello")
	if res.StatusCode != http.StatusOK || text != `{"got":"hello"}` ||
		res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %s", res.StatusCode, res.Header.Get("Content-Type"), text)
	}
	if res, text := h.must(http.MethodPut, "/other", "bad"); res.StatusCode != http.StatusTeapot || text != "no" {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	want := []string{"A api received request POST /message?x=1", "A api sent response POST /message?x=1",
		"A api received request PUT /other", "A api sent response PUT /other"}
	if diff := cmp.Diff(want, h.kinds()); diff != "" {
		t.Error(diff)
	}
	all := h.log.All()
	if string(all[0].Bytes) != "hello" || all[1].Reply != all[0].N || all[3].Status != http.StatusTeapot {
		t.Errorf("%+v", all)
	}
}

func TestListenerLetsEveryOriginIn(t *testing.T) {
	h := host(t, func(Incoming) Answer { return Answer{} })
	for _, origin := range []string{"null", "http://127.0.0.1:1"} {
		res, _ := h.must(http.MethodOptions, "/message", "", "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "content-type")
		if res.StatusCode != http.StatusNoContent || res.Header.Get("Access-Control-Allow-Origin") != origin ||
			res.Header.Get("Access-Control-Allow-Headers") != "content-type" ||
			res.Header.Get("Access-Control-Allow-Methods") != "POST" {
			t.Errorf("preflight of %s: %d %v", origin, res.StatusCode, res.Header)
		}
		if res, _ := h.must(http.MethodPost, "/message", "{}", "Origin",
			origin); res.Header.Get("Access-Control-Allow-Origin") != origin {
			t.Errorf("answer to %s: %v", origin, res.Header)
		}
	}
	if n := len(h.kinds()); n != 4 {
		t.Errorf("preflights are told: %v", h.kinds())
	}
}

func TestListenerStreams(t *testing.T) {
	h := host(t, streaming)
	res, s := h.open()
	if res.Header.Get("Content-Type") != "text/event-stream" || s.n != 1 || s.Conn() != "A api 1" {
		t.Fatalf("%v %d %s", res.Header, s.n, s.Conn())
	}
	n, err := s.Emit(t.Context(), "hello", []byte("data: 1\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	if err != nil || line != "data: 1\n" {
		t.Fatalf("%q %v", line, err)
	}
	if r := h.awaitRecord("A api 1", transcript.Stream, transcript.Sent); r.N != n || r.Label != "hello" {
		t.Errorf("%+v, want record %d", r, n)
	}
	_, second := h.open()
	if got := h.l.Streams("A api"); len(got) != 2 || got[0] != s || got[1] != second {
		t.Errorf("streams: %v", got)
	}
	s.End(driver.Graceful)
	if rest, err := io.ReadAll(res.Body); err != nil || string(rest) != "" {
		t.Errorf("after the end: %q %v", rest, err)
	}
	h.awaitRecord("A api 1", transcript.Closed, transcript.Sent)
	if _, err := s.Emit(t.Context(), "late", []byte("data: 2\n\n")); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	s.End(driver.Graceful)
}

// A stream ends without the end of its HTTP response: its TCP connection is closed, or reset by RST.
func TestListenerDropsStreams(t *testing.T) {
	for how, want := range map[driver.CloseMode]error{driver.Reset: io.ErrUnexpectedEOF, driver.Fin: io.ErrUnexpectedEOF,
		driver.Abort: syscall.ECONNRESET} {
		h := host(t, streaming)
		res, s := h.open()
		s.End(how)
		if _, err := io.ReadAll(res.Body); !errors.Is(err, want) {
			t.Errorf("mode %d: reading ends with %v, want %v", how, err, want)
		}
		h.awaitRecord("A api 1", transcript.Closed, transcript.Sent)
	}
}

func TestListenerTellsThatATargetHasClosedAStream(t *testing.T) {
	h := host(t, streaming)
	res, s := h.open()
	res.Body.Close()
	h.awaitRecord("A api 1", transcript.Closed, transcript.Received)
	<-s.done
	if got := h.l.Streams("A api"); len(got) != 0 {
		t.Errorf("it still stands: %v", got)
	}
}

func TestListenerHoldsAnswers(t *testing.T) {
	later := make(chan Answer, 1)
	h := host(t, func(Incoming) Answer { return Answer{After: later} })
	done := make(chan string, 1)
	go func() {
		res, err := h.ask(http.MethodPost, "/message", "x")
		if err != nil {
			done <- err.Error()
			return
		}
		res.Body.Close()
		done <- res.Status
	}()
	h.awaitRecord("A api", transcript.Request, transcript.Received)
	if n := len(h.log.All()); n != 1 {
		t.Fatalf("answered before it was to be: %v", h.kinds())
	}
	later <- Answer{Status: http.StatusAccepted}
	if got := <-done; got != "202 Accepted" {
		t.Error(got)
	}
}

func TestListenerCloseEndsWhatIsHeld(t *testing.T) {
	h := host(t, func(in Incoming) Answer {
		if in.Request.Method == http.MethodGet {
			return Answer{Stream: true}
		}
		return Answer{After: make(chan Answer)}
	})
	_, s := h.open()
	done := make(chan error, 1)
	go func() {
		res, err := h.ask(http.MethodPost, "/message", "x")
		if err == nil {
			res.Body.Close()
		}
		done <- err
	}()
	h.awaitRecord("A api", transcript.Request, transcript.Received)
	h.l.Close()
	<-s.done
	if err := <-done; err == nil {
		t.Error("a held request was answered")
	}
	n := len(h.log.All())
	if res, err := h.ask(http.MethodPost, "/message", "y"); err == nil {
		res.Body.Close()
		t.Error("it still answers")
	}
	if len(h.log.All()) != n {
		t.Error("something reached the sink after Close")
	}
}

func TestListenerDropsAndRefuses(t *testing.T) {
	h := host(t, func(in Incoming) Answer { return Answer{Drop: true} })
	if res, err := h.ask(http.MethodPost, "/message", "x"); err == nil {
		res.Body.Close()
		t.Error("a dropped request was answered")
	}
	if res, _ := h.must(http.MethodPost, "/message", strings.Repeat("x",
		maxBody+1)); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body beyond the bound: %d", res.StatusCode)
	}
}

func TestListenerBoundsStreams(t *testing.T) {
	h := host(t, streaming)
	for range maxStreams {
		h.open()
	}
	if res, _ := h.must(http.MethodGet, "/events", ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one stream more: %d", res.StatusCode)
	}
}

func TestListenerPausesAndResumes(t *testing.T) {
	h := host(t, func(in Incoming) Answer { return Answer{Stream: in.Request.Method == http.MethodGet} })
	at := h.l.URL()
	_, s := h.open()
	h.l.Pause()
	<-s.done
	if res, err := h.ask(http.MethodPost, "/message", "x"); err == nil {
		res.Body.Close()
		t.Error("a paused listener answers")
	}
	if err := h.l.Resume(); err != nil {
		t.Fatal(err)
	}
	if res, _ := h.must(http.MethodPost, "/message", "x"); res.StatusCode != http.StatusOK || h.l.URL() != at {
		t.Errorf("resumed: %d at %s, was at %s", res.StatusCode, h.l.URL(), at)
	}
	if _, s := h.open(); s.n != 2 {
		t.Errorf("the streams are counted anew: %d", s.n)
	}
}
