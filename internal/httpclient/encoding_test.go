package httpclient

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

type flushing interface {
	io.WriteCloser
	Flush() error
}

// encoders by name; what a server may mean by deflate stands twice.
var encoders = []struct {
	name, coding string
	over         func(io.Writer) flushing
}{
	{"gzip", "gzip", func(w io.Writer) flushing { return gzip.NewWriter(w) }},
	{"x-gzip", "X-GZip", func(w io.Writer) flushing { return gzip.NewWriter(w) }},
	{"deflate", "deflate", func(w io.Writer) flushing { return zlib.NewWriter(w) }},
	{"bare deflate", "deflate", func(w io.Writer) flushing { f, _ := flate.NewWriter(w, -1); return f }},
	{"br", "br", func(w io.Writer) flushing { return brotli.NewWriter(w) }},
	{"zstd", "zstd", func(w io.Writer) flushing { z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)); return z }},
}

// TestDecode: what was flushed can be read before the body goes on, and what was not is counted.
func TestDecode(t *testing.T) {
	for _, e := range encoders {
		t.Run(e.name, func(t *testing.T) {
			further := make(chan struct{}, 1)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Accept-Encoding") != AcceptEncoding {
					t.Errorf("Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
				}
				w.Header().Set("Content-Encoding", e.coding)
				out := e.over(w)
				for _, text := range []string{"data: one\n\n", "data: two\n\n"} {
					_, _ = io.WriteString(out, text)
					_ = out.Flush()
					_ = http.NewResponseController(w).Flush()
					<-further
				}
				_ = out.Close()
			}))
			defer srv.Close()
			client := New(&http.Transport{})
			defer client.CloseIdleConnections()
			resp, err := client.Get(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			for _, want := range []string{"data: one\n\n", "data: two\n\n"} {
				got := make([]byte, len(want))
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
					t.Fatalf("%q, %v", got, err)
				}
				further <- struct{}{}
			}
			if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
				t.Errorf("%q follows, %v", rest, err)
			}
		})
	}
}

func encoded(codings string, body []byte) *http.Response {
	resp := &http.Response{Header: http.Header{"Content-Encoding": {codings}}, Body: io.NopCloser(bytes.NewReader(body))}
	Decode(resp)
	return resp
}

func TestDecodeOdd(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, "text")
	_ = z.Flush()
	unended := bytes.Clone(packed.Bytes())
	_ = z.Close()
	var twice bytes.Buffer
	b := brotli.NewWriter(&twice)
	_, _ = b.Write(packed.Bytes())
	_ = b.Close()
	for _, row := range []struct {
		name, codings string
		body          []byte
		want, fails   string
	}{
		{"two encodings", "gzip, br", twice.Bytes(), "text", ""},
		{"no encoding", "identity", []byte("text"), "text", ""},
		{"an unknown one", "snappy", []byte("text"), "text", ""},
		{"too many", "gzip,gzip,gzip,gzip,gzip", []byte("text"), "text", ""},
		{"no body", "gzip", nil, "", ""},
		{"without its last bytes", "gzip", unended, "text", ""},
		{"something else", "gzip", []byte("text, and more of it"), "", "cannot be decoded as gzip"},
	} {
		resp := encoded(row.codings, row.body)
		got, err := io.ReadAll(resp.Body)
		if string(got) != row.want || (err == nil) != (row.fails == "") ||
			err != nil && !strings.Contains(err.Error(), row.fails) {
			t.Errorf("%s: %q, %v", row.name, got, err)
		}
	}
	head := encoded("gzip", unended[:10])
	_, _ = io.ReadAll(head.Body)
	if body, ok := head.Body.(*Body); !ok || body.Pending() != 10 || body.Coding() != "gzip" {
		t.Errorf("%+v", head.Body)
	}
}

func TestJar(t *testing.T) {
	at := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, row := range []struct{ set, get, want string }{
		{"http://127.0.0.1:1/a", "http://127.0.0.1:2/b", "s=1"},
		{"http://localhost:1/a", "ws://localhost:2/b", "s=1"},
		{"unix:///run/a.sock:/events", "unix:///run/a.sock:/message", "s=1"},
		{"http://a.example/", "http://b.example/", ""},
		{"http://a.example/", "http://a.example/", ""}, // it is secure
		{"https://a.example/", "https://a.example/", "s=1"},
	} {
		j := NewJar()
		j.SetCookies(at(row.set), []*http.Cookie{{Name: "s", Value: "1", Path: "/", Secure: true}})
		got := ""
		for _, c := range j.Cookies(at(row.get)) {
			got += c.Name + "=" + c.Value
		}
		if got != row.want {
			t.Errorf("set at %s, %s gets %q, want %q", row.set, row.get, got, row.want)
		}
	}
	j, header := NewJar(), http.Header{"Cookie": {"a=1; b=2"}, "X": {"y"}}
	for range 2 { // the second time the server has changed one
		if left := j.MoveCookies("http://127.0.0.1/x", header); left.Get("Cookie") != "" || left.Get("X") != "y" {
			t.Errorf("the header is %v", left)
		}
		j.SetCookies(at("http://127.0.0.1/"), []*http.Cookie{{Name: "a", Value: "3", Path: "/"}})
	}
	got := map[string]string{}
	for _, c := range j.Cookies(at("http://127.0.0.1/")) {
		got[c.Name] = c.Value
	}
	if want := map[string]string{"a": "3", "b": "2"}; !maps.Equal(got, want) {
		t.Errorf("the cookies are %v, want %v", got, want)
	}
}
