package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/freeport"
	"parley/transport/driver"
	"parley/transport/transcript"
	wire "parley/transport/wire/sse"
)

// within bounds each wait of a test; only a failing test uses it up.
const within = time.Minute

// serve runs a server until the test ends.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// streams answers with an event stream of the given texts, and keeps it open until the client leaves.
func streams(said ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, s := range said {
			_, _ = io.WriteString(w, s)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// party is a connection with its transcript.
type party struct {
	*testing.T
	url  string
	log  *transcript.Transcript
	conn driver.Conn
}

// connect opens a stream; it is closed when the test ends.
func connect(t *testing.T, url string, o driver.OpenOptions) *party {
	t.Helper()
	d := New()
	p := &party{T: t, url: url, log: transcript.New(nil)}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	o.Party, o.URL = "A", url
	c, err := d.Open(ctx, o, p.log.Append)
	if err != nil {
		t.Fatal(err)
	}
	p.conn = c
	t.Cleanup(func() { _ = c.Close(driver.Reset); _ = d.Close() })
	return p
}

// await waits for a record.
func (p *party) await(what string, match func(*transcript.Record) bool) transcript.Record {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), within)
	defer cancel()
	r, err := p.log.Await(ctx, 0, match)
	if err != nil {
		p.Fatalf("no record of %s; there is:\n%s", what, strings.Join(said(p.log.All()), "\n"))
	}
	return r
}

func (p *party) awaitEnd() { p.Helper(); p.await("the end", kind(transcript.Closed)) }

func (p *party) post(body string) int {
	p.Helper()
	n, err := p.conn.Send(p.Context(), driver.Message{Label: "chat", URL: p.url + "/message", Body: []byte(body)})
	if err != nil {
		p.Fatal(err)
	}
	return n
}

func kind(k transcript.Kind) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool { return r.Kind == k }
}

func answer(to int) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool { return r.Kind == transcript.Response && r.Reply == to }
}

// said renders records for a table.
func said(records []transcript.Record) []string {
	var out []string
	for _, r := range records {
		if r.Kind != transcript.Open {
			label, _, _ := strings.Cut(r.Label, ": ")
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Kind, label, r.Bytes)))
		}
	}
	return out
}

func TestOpen(t *testing.T) {
	var got http.Header
	p := connect(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		streams("data: hi\n\n")(w, r)
	})+"/events?x=1", driver.OpenOptions{Header: http.Header{"Authorization": {"Bearer t"}, "Accept": {"text/html"}}})
	p.await("the event", kind(transcript.Stream))
	for name, want := range map[string]string{"Authorization": "Bearer t", "Accept": "text/event-stream",
		"Cache-Control": "no-cache"} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
	want := []transcript.Record{
		{N: 1, Conn: "A", Dir: transcript.Sent, Kind: transcript.Open, Label: "GET /events?x=1"},
		{N: 2, Conn: "A", Dir: transcript.Received, Kind: transcript.Open, Label: "stream", Status: 200,
			Type: "text/event-stream", Reply: 1},
		{N: 3, Conn: "A", Dir: transcript.Received, Kind: transcript.Stream, Label: "message", Type: "message",
			Bytes: []byte("hi")},
	}
	if diff := cmp.Diff(want, p.log.All(), cmpopts.IgnoreFields(transcript.Record{}, "At")); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}

// TestRecords: the contents and the end of a stream.
func TestRecords(t *testing.T) {
	rows := []struct {
		reason string
		max    int
		body   string
		want   []string
	}{
		{"events, with and without a type", 0, "data: a\n\nevent: agent_list\ndata: b\ndata: c\n\n",
			[]string{"event message a", "event agent_list b\nc"}},
		{"comments, retry and a BOM are told", 0, "\ufeff: hello\nretry: 7\ndata: a\n\n",
			[]string{"comment bom \ufeff", "comment comment  hello", "comment retry 7 ms", "event message a"}},
		{"a stream that ends inside an event dispatches none", 0, "data: a\n\ndata: cut",
			[]string{"event message a", "comment incomplete data: cut"}},
		{"nor does one that ends before the blank line", 0, "data: cut\n", []string{"comment incomplete data: cut"}},
		{"a huge event is dropped and told, and the stream goes on", 20,
			"data: " + strings.Repeat("x", 5000) + "\n\ndata: b\n\n",
			[]string{"comment oversize data: xxxxxxxxxxxxxx", "event message b"}},
		{"an event of many lines too", 20, strings.Repeat("data: x\n", 5000) + "\ndata: b\n\n",
			[]string{"comment oversize data: x\ndata: x\ndata: x", "event message b"}},
		{"nothing at all", 0, "", nil},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			p := connect(t, serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, r.body) }),
				driver.OpenOptions{MaxEvent: r.max})
			p.awaitEnd()
			if diff := cmp.Diff(append(r.want, "closed the target ended the stream"), said(p.log.All())); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestContentTypeIsRecorded(t *testing.T) {
	for _, media := range []string{"text/event-stream; charset=utf-8", "application/json", "text/html"} {
		p := connect(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			_, _ = io.WriteString(w, "data: a\n\n")
		}), driver.OpenOptions{})
		if got := p.log.All()[1].Type; got != media {
			t.Errorf("recorded is %q, want %q", got, media)
		}
		p.await("the event, whatever the type", kind(transcript.Stream))
	}
}

func TestBrokenOff(t *testing.T) {
	p := connect(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: a\n\ndata: cut")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}), driver.OpenOptions{})
	p.awaitEnd()
	if diff := cmp.Diff([]string{"event message a", "comment incomplete data: cut", "closed the stream broke off"},
		said(p.log.All())); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	rows := []struct {
		reason string
		answer http.HandlerFunc
		status int
		body   string
	}{
		{"not found", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such thing", 404) }, 404,
			"no such thing\n"},
		{"too many", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, 503, ""},
		{"no content", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 204, ""},
		{"a redirect is an answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location",
				other)
			w.WriteHeader(307)
		}, 307, ""},
		{"a stream with another status is a refusal, though it never ends", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(201)
			streams("data: a\n\n")(w, r)
		}, 201, "data: a\n\n"},
		{"a large body is kept up to its bound", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = io.WriteString(w, strings.Repeat("x", MaxAnswer+9))
		}, 500, strings.Repeat("x", MaxAnswer)},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			d := New()
			defer d.Close()
			log := transcript.New(nil)
			_, err := d.Open(t.Context(), driver.OpenOptions{Party: "A", URL: serve(t, r.answer)}, log.Append)
			var open *driver.OpenError
			if !errors.As(err, &open) || open.Status != r.status || open.URL == "" {
				t.Fatalf("Open: %v; want an OpenError with status %d", err, r.status)
			}
			last := log.All()[log.Len()-1]
			if last.Kind != transcript.Response || last.Status != r.status || string(last.Bytes) != r.body || last.Reply != 1 {
				t.Errorf("recorded is %s", last.Line(200))
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	p, err := freeport.Lend()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	d := New()
	defer d.Close()
	log := transcript.New(nil)
	_, err = d.Open(t.Context(), driver.OpenOptions{Party: "A", URL: "http://" + p.Addr()}, log.Append)
	if op := (*net.OpError)(nil); !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("Open: %v; want what a dial says", err)
	}
	if got := said(log.All()); len(got) != 1 || !strings.HasPrefix(got[0], "failure Get ") {
		t.Errorf("recorded is %q", got)
	}
}

func TestNoURL(t *testing.T) {
	d := New()
	defer d.Close()
	_, err := d.Open(t.Context(), driver.OpenOptions{URL: "http://a b/"},
		func(transcript.Record) int { t.Error("something was recorded"); return 0 })
	var open *driver.OpenError
	if !errors.As(err, &open) {
		t.Errorf("Open: %v", err)
	}
}

func TestHeadersThatComeLate(t *testing.T) {
	release := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
			streams("data: late\n\n")(w, r)
		case <-r.Context().Done():
		}
	})
	t.Run("too late", func(t *testing.T) {
		d := New()
		defer d.Close()
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		log := transcript.New(nil)
		sink := func(r transcript.Record) int { cancel(enough); return log.Append(r) } // when the request is under way
		_, err := d.Open(ctx, driver.OpenOptions{Party: "A", URL: url}, sink)
		var open *driver.OpenError
		if !errors.As(err, &open) || !errors.Is(err, enough) || open.Status != 0 {
			t.Errorf("Open: %v", err)
		}
		if diff := cmp.Diff([]string{"failure no answer within the limit"}, said(log.All())); diff != "" {
			t.Errorf("want(-) got(+):\n%s", diff)
		}
	})
	t.Run("in time", func(t *testing.T) {
		d := New()
		defer d.Close()
		ctx, cancel := context.WithCancel(t.Context())
		p := &party{T: t, log: transcript.New(nil)}
		close(release)
		c, err := d.Open(ctx, driver.OpenOptions{Party: "A", URL: url}, p.log.Append)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(driver.Reset)
		cancel() // bounds the opening only
		p.await("the event", kind(transcript.Stream))
		if got := said(p.log.All()); len(got) != 1 {
			t.Errorf("recorded is %q", got)
		}
	})
}

// TestEndless: a stream without an end must not exhaust memory, and can be closed.
func TestEndless(t *testing.T) {
	for _, chunk := range []string{strings.Repeat("x", 64<<10), strings.Repeat("data: x\n", 8<<10),
		strings.Repeat(":\n", 32<<10)} {
		p := connect(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}), driver.OpenOptions{MaxEvent: 1 << 20})
		p.await("something", func(r *transcript.Record) bool { return r.N > 2 })
		if err := p.conn.Close(driver.Reset); err != nil {
			t.Error(err)
		}
	}
}

// TestTheTargetGoesAway: the end of the stream and the failure of later messages are both recorded.
func TestTheTargetGoesAway(t *testing.T) {
	srv := httptest.NewServer(streams("data: a\n\n"))
	p := connect(t, srv.URL, driver.OpenOptions{})
	p.await("the event", kind(transcript.Stream))
	srv.CloseClientConnections()
	srv.Close()
	p.awaitEnd()
	n := p.post("{}")
	rec := p.await("the failure", func(r *transcript.Record) bool { return r.Kind == transcript.Failure })
	if rec.Reply != n || !strings.Contains(rec.Label, "connect") {
		t.Errorf("the failure is recorded as %s", rec.Line(200))
	}
}

func TestConcurrent(t *testing.T) {
	p := connect(t, serve(t, chat(func(http.ResponseWriter, *http.Request) {})), driver.OpenOptions{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if _, err := p.conn.Send(t.Context(), driver.Message{URL: p.url + "/message", Body: []byte("{}")}); err != nil &&
					!errors.Is(err, driver.ErrClosed) {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() { _ = p.conn.Close(driver.Reset) })
	all.Go(func() { _ = p.conn.Close(driver.Graceful) })
	all.Wait()
}

// tap records what a stream's tap receives.
type tap struct {
	strings.Builder
	fail   error
	closed bool
}

func (t *tap) Write(p []byte) (int, error) {
	_, _ = t.Builder.Write(p)
	return len(p), t.fail
}

func (t *tap) Close() error { t.closed = true; return nil }

func TestTap(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, s := range []string{"data: a\n\n", ": c\n", "data: cut"} {
			_, _ = io.WriteString(w, s)
			w.(http.Flusher).Flush()
		}
	})
	for _, fail := range []error{nil, errors.New("it gave up")} {
		d, listener := New(), &tap{fail: fail}
		p := &party{T: t, log: transcript.New(nil)}
		d.Tap = func(o driver.OpenOptions, _ driver.Sink) io.WriteCloser {
			if o.Party != "A" {
				t.Errorf("the tap is of %q", o.Party)
			}
			return listener
		}
		sink := func(r transcript.Record) int {
			if r.Kind == transcript.Closed && !listener.closed {
				t.Error("the end is recorded before the tap is closed")
			}
			return p.log.Append(r)
		}
		c, err := d.Open(t.Context(), driver.OpenOptions{Party: "A", URL: url}, sink)
		if err != nil {
			t.Fatal(err)
		}
		p.awaitEnd()
		if want := "data: a\n\n: c\ndata: cut"; listener.String() != want {
			t.Errorf("the tap got %q", listener.String())
		}
		if got := said(p.log.All()); len(got) != 4 {
			t.Errorf("recorded is %q", got)
		}
		_ = c.Close(driver.Reset)
		_ = d.Close()
	}
}

func TestItemRecord(t *testing.T) {
	raw := []byte("raw")
	rows := []struct {
		reason string
		in     wire.Item
		want   transcript.Record
	}{
		{"an event", wire.Item{Kind: wire.Event, Type: "x", Data: "d", ID: "1", Raw: raw},
			transcript.Record{Kind: transcript.Stream, Label: "x", Type: "x", Bytes: []byte("d")}},
		{"a comment", wire.Item{Kind: wire.Comment, Data: " c", Raw: raw},
			transcript.Record{Kind: transcript.Comment, Label: "comment", Bytes: []byte(" c")}},
		{"a retry", wire.Item{Kind: wire.Retry, Retry: 7, Raw: raw},
			transcript.Record{Kind: transcript.Comment, Label: "retry 7 ms"}},
		{"a BOM", wire.Item{Kind: wire.BOM, Raw: raw}, transcript.Record{Kind: transcript.Comment, Label: "bom", Bytes: raw}},
		{"a truncated event", wire.Item{Kind: wire.Incomplete, Type: "x", Data: "d", Raw: raw},
			transcript.Record{Kind: transcript.Comment, Label: "incomplete", Bytes: raw}},
		{"an oversized event", wire.Item{Kind: wire.Oversize, Data: "why", Raw: raw},
			transcript.Record{Kind: transcript.Comment, Label: "oversize", Bytes: raw}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			r.want.Conn, r.want.Dir = "A", transcript.Received
			if diff := cmp.Diff(r.want, ItemRecord("A", r.in)); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}
