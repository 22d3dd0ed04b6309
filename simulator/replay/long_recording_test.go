package replay

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/coder/websocket"

	"parley/transport/recording"
	"parley/transport/transcript"
)

// echo is a server whose WebSocket returns each message.
func echo(t testing.TB) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, text, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, text) != nil {
				return
			}
		}
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// long writes a recording of n messages of a size that were echoed, without holding it.
func long(w io.Writer, n, size int) error {
	out, err := recording.NewWriter(w, recording.Header{Protocol: "p"}, nil)
	if err != nil {
		return err
	}
	number := 0
	add := func(r transcript.Record) {
		if number++; err == nil {
			r.N, r.Conn = number, "A"
			err = out.Add(r)
		}
	}
	add(transcript.Record{Dir: transcript.Sent, Kind: transcript.Open, Label: "GET ws://then/x (upgrade)"})
	add(transcript.Record{Dir: transcript.Received, Kind: transcript.Open, Status: 101, Reply: 1})
	fill := string(bytes.Repeat([]byte("x"), size))
	for i := range n {
		text := fmt.Appendf(nil, `{"type":"chat","id":"m_%012dab","text":%q}`, i, fill)
		add(transcript.Record{Dir: transcript.Sent, Kind: transcript.Frame, Type: "text", Bytes: text})
		add(transcript.Record{Dir: transcript.Received, Kind: transcript.Frame, Type: "text", Bytes: text})
	}
	return err
}

// TestLong checks that a long recording replays in memory that does not depend on its length.
func TestLong(t *testing.T) {
	const messages, size = 1000, 8 << 10 // 16 MiB in all
	from, to := io.Pipe()
	wrote := make(chan error, 1)
	go func() { wrote <- to.CloseWithError(long(to, messages, size)) }()
	in, err := recording.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result, err := PlayClient(t.Context(), in, Options{URL: echo(t),
		Differs: func(d Difference) { t.Error(d) }})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil || result.Compared != messages+1 || result.Sent != messages+1 {
		t.Errorf("%+v, %v", result, err)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d bytes more are in use", grown)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

// BenchmarkAgainst replays a recording of b.N messages.
func BenchmarkAgainst(b *testing.B) {
	from, to := io.Pipe()
	go func() { _ = to.CloseWithError(long(to, b.N, 8<<10)) }()
	in, err := recording.NewReader(from)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(2 * 8 << 10)
	if result, err := PlayClient(b.Context(), in, Options{URL: echo(b)}); err != nil || result.Differences > 0 {
		b.Fatalf("%+v, %v", result, err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-of-process")
}
