package replay

import (
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"parley/transport/transcript"
)

// TestCallerIsABrowser: requests accept the encodings of browsers, which are decoded, and each party keeps its cookies.
func TestCallerIsABrowser(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := "new"
		if c, err := r.Cookie("lb"); err == nil {
			said = c.Value
		}
		http.SetCookie(w, &http.Cookie{Name: "lb", Value: r.URL.Path[1:]})
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = packed.Write([]byte(said + r.Header.Get("Accept-Encoding")[:4]))
		_ = packed.Close()
	}))
	defer s.Close()
	got := make(chan string, 9)
	c := NewCaller(t.Context(), Dial{URL: s.URL, Within: time.Second}, func(r transcript.Record) int {
		if r.Dir == transcript.Received {
			got <- string(r.Bytes)
		}
		return 1
	})
	defer c.Close()
	same := func(path string) string { return path }
	for _, one := range []struct{ party, path, want string }{
		{"A", "/a", "newgzip"}, {"A", "/b", "agzip"}, {"B", "/c", "newgzip"}, {"A", "/d", "bgzip"}, {"B", "/e", "cgzip"},
	} {
		r := transcript.Record{Conn: one.party, Label: "POST " + one.path}
		if _, err := c.Ask(r, []byte("{}"), same); err != nil {
			t.Fatal(err)
		}
		if text := <-got; text != one.want {
			t.Errorf("%s %s: %q, want %q", one.party, one.path, text, one.want)
		}
	}
}

// TestEventIDs: ids of events are written, recorded, and named by a party that connects again, as its server gave them.
func TestEventIDs(t *testing.T) {
	event := transcript.Record{Kind: transcript.Stream, Type: "message", ID: "e7"}
	if got := string(eventBlock(event, []byte("hi"))); got != "id: e7\ndata: hi\n\n" {
		t.Errorf("%q", got)
	}
	event.ID = "e7\ndata: other"
	if got := string(eventBlock(event, []byte("hi"))); got != "data: hi\n\n" {
		t.Errorf("an id with a line break is written: %q", got)
	}
	named := make(chan string, 2)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		named <- r.Header.Get("Last-Event-ID")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("id: n1\ndata: hi\n\ndata: more\n\n"))
	}))
	defer s.Close()
	ids := make(chan string, 9)
	c := NewCaller(t.Context(), Dial{URL: s.URL, Within: time.Second}, func(r transcript.Record) int {
		if r.Kind == transcript.Stream || r.Kind == transcript.Open && r.Dir == transcript.Sent {
			ids <- string(r.Kind) + " " + r.ID
		}
		return 1
	})
	defer c.Close()
	for _, last := range []string{"", "e7"} {
		open := transcript.Record{Conn: "A", Kind: transcript.Open, Label: "GET /events", ID: last}
		if _, err := c.Open(t.Context(), open, func(path string) string { return path }); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"": "", "e7": "n1"}[last]
		if got := <-named; got != want {
			t.Errorf("recorded %q: named %q, want %q", last, got, want)
		}
		for _, one := range []string{"open " + want, "event n1", "event "} {
			if got := <-ids; got != one {
				t.Errorf("recorded %q: %q, want %q", last, got, one)
			}
		}
	}
}
