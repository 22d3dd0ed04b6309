package sse_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/transcript"
)

// answering answers a request with an event stream that ends with its channel, or with a body if it has none.
func answering(ends map[string]chan bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		end := ends[string(body)]
		if end == nil {
			fmt.Fprint(w, "{}")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header()["X-Session"] = []string{"s1", "s2"}
		fmt.Fprintf(w, "id: 7\ndata: begins %s\n\n", body)
		w.(http.Flusher).Flush()
		<-end
		fmt.Fprintf(w, "data: ends %s\n\n", body)
	}
}

// TestPosts: a request is answered by an event stream, or by a body; what belongs to which request is recorded, also
// where two answers overlap.
func TestPosts(t *testing.T) {
	ends := map[string]chan bool{"one": make(chan bool), "two": make(chan bool)}
	srv := httptest.NewServer(answering(ends))
	defer srv.Close()
	d := sse.Posts{Driver: sse.New()}
	defer d.Close()
	tr := transcript.New(nil)
	c, err := d.Open(t.Context(), driver.OpenOptions{Party: "A", URL: srv.URL, Reads: []string{"X-Session", "X-Asked"}},
		tr.Append)
	if err != nil {
		t.Fatal(err)
	}
	send := func(body string) int {
		n, err := c.Send(t.Context(), driver.Message{URL: srv.URL + "/agent", Body: []byte(body),
			Header: http.Header{"X-Asked": {body}}})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	await := func(match func(*transcript.Record) bool) {
		t.Helper()
		if _, err := tr.Await(t.Context(), 0, match); err != nil {
			t.Fatal(err)
		}
	}
	said := func(text string) func(*transcript.Record) bool {
		return func(r *transcript.Record) bool { return string(r.Bytes) == text && r.Kind == transcript.Stream }
	}
	one := send("one")
	await(said("begins one"))
	two := send("two")
	await(said("begins two"))
	close(ends["one"])
	await(said("ends one"))
	close(ends["two"])
	await(func(r *transcript.Record) bool { return r.Label == driver.AnswerEnded && r.Reply == two })
	plain := send("plain")
	await(func(r *transcript.Record) bool { return r.Kind == transcript.Response && r.Reply == plain })
	var got []string
	for _, r := range tr.All() {
		if r.N == one || r.Reply == one || r.Reply == plain {
			got = append(got, fmt.Sprintf("%s %d %q %s%q", r.Kind, r.Status, r.Bytes, r.ID, r.Headers))
		}
	}
	want := []string{`request 0 "one" "x-asked: one\n"`, `response 200 "" "x-session: s1\nx-session: s2\n"`,
		`event 0 "begins one" 7""`, `event 0 "ends one" ""`, `comment 0 "" ""`, `response 200 "{}" ""`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := c.Close(driver.Graceful); err != nil {
		t.Error(err)
	}
	if _, err := c.Send(t.Context(), driver.Message{URL: srv.URL}); err == nil {
		t.Error("sent on a closed connection")
	}
}

// TestPostsBreakOff: an answer that breaks off is recorded, and closing does not wait for one that goes on.
func TestPostsBreakOff(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: x\n\n")
		w.(http.Flusher).Flush()
		if r.URL.Path == "/breaks" {
			panic(http.ErrAbortHandler)
		}
		<-r.Context().Done()
	}))
	defer srv.Close()
	d := sse.Posts{Driver: sse.New()}
	defer d.Close()
	tr := transcript.New(nil)
	c, err := d.Open(t.Context(), driver.OpenOptions{Party: "A", URL: srv.URL}, tr.Append)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/breaks", "/goes-on"} {
		n, err := c.Send(t.Context(), driver.Message{URL: srv.URL + path, Body: []byte("x")})
		if err == nil {
			_, err = tr.Await(t.Context(), n, func(r *transcript.Record) bool {
				return r.Reply == n && (r.Kind == transcript.Comment || path == "/goes-on" && r.Kind == transcript.Stream)
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(driver.Reset); err != nil {
		t.Error(err)
	}
	for _, r := range tr.All() {
		if r.Label == driver.AnswerEnded {
			t.Errorf("record %d says that an answer ended", r.N)
		}
	}
}
