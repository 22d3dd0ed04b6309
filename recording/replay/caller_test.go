package replay

import (
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"parley/transcript"
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
