package figures_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	experiment "github.com/go-json-experiment/json"
	"github.com/r3labs/sse/v2"
	tmaxmax "github.com/tmaxmax/go-sse"

	"parley/internal/cputime"
	wjson "parley/transport/wire/json"
	wsse "parley/transport/wire/sse"
	wws "parley/transport/wire/ws"
)

// decoding is a text, and those who decode it.
type decoding struct {
	name     string
	text     []byte
	decoders []decoder
}

type decoder struct {
	name   string
	decode func(text []byte) error
	rates  []float64 // MB of a second of processor time
}

// BenchmarkDecoding compares Parley's codecs with libraries, in turns: MB that a second of processor time decodes, and
// allocations. Parley's find what is malformed and keep it, such as names that come twice and bytes that are not UTF-8.
func BenchmarkDecoding(b *testing.B) {
	const message = `{"type":"message_delta","sessionId":"s-1","seq":1042,"delta":"Hello, world","usage":` +
		`{"input":12,"output":3.5},"tags":["a","b"],"done":false}`
	list := "[" + strings.Repeat(`{"id":"debugger","name":"Debugger","enabled":true},`, 1000) + "null]"
	jsons := func() []decoder {
		return []decoder{{name: "parley", decode: func(t []byte) error { _, _, err := wjson.Decode(t); return err }},
			{name: "encoding/json", decode: func(t []byte) error { var v any; return json.Unmarshal(t, &v) }},
			{name: "go-json-experiment", decode: func(t []byte) error { var v any; return experiment.Unmarshal(t, &v) }}}
	}
	streams := []decoder{{name: "parley", decode: decodeEvents}, {name: "tmaxmax/go-sse", decode: readEvents},
		{name: "r3labs, which only splits", decode: splitEvents}}
	sockets := []decoder{{name: "parley", decode: decodeFrames}, {name: "coder/websocket", decode: readFrames}}
	const event = "event: message_delta\nid: 1042\ndata: {\"sessionId\":\"s-1\",\"delta\":\"Hello, world\"}\n\n"
	for _, d := range []decoding{
		{"json, a message", []byte(message), jsons()}, {"json, a list", []byte(list), jsons()},
		{"sse, small events", bytes.Repeat([]byte(event), 10_000), streams},
		{"ws, small frames", bytes.Repeat([]byte("\x81\x0cHello, world"), 50_000), sockets},
		{"ws, 60 KiB frames", bytes.Repeat(append([]byte{0x81, 126, 0xf0, 0}, bytes.Repeat([]byte("x"), 0xf000)...), 20),
			slices.Clone(sockets)},
	} {
		b.Run(d.name, func(b *testing.B) {
			for b.Loop() {
				for range 7 {
					for i := range d.decoders {
						d.decoders[i].measure(b, d.text)
					}
				}
			}
			for _, by := range d.decoders {
				slices.Sort(by.rates)
				allocations := testing.AllocsPerRun(3, func() { _ = by.decode(d.text) })
				b.Logf("%-18s %-26s %6.0f MB/s  %9.0f allocations for %d bytes", d.name, by.name, by.rates[len(by.rates)/2],
					allocations, len(d.text))
			}
		})
	}
}

// measure decodes for a while.
func (d *decoder) measure(b *testing.B, text []byte) {
	b.Helper()
	n, used := 0, cputime.Used()
	for cputime.Used()-used < 30*time.Millisecond {
		for range max(1, 100_000/len(text)) {
			if err := d.decode(text); err != nil {
				b.Fatal(d.name, err)
			}
			n += len(text)
		}
	}
	d.rates = append(d.rates, cputime.MBps(n, used))
}

// pieces calls feed with a text as a socket delivers it.
func pieces(text []byte, feed func([]byte)) {
	for piece := range slices.Chunk(text, 4<<10) {
		feed(piece)
	}
}

func decodeEvents(text []byte) error {
	d, n := wsse.NewDecoder(wsse.Limits{}), 0
	pieces(text, func(p []byte) { n += len(d.Feed(p)) })
	if n != 10_000 {
		return fmt.Errorf("%d events", n)
	}
	return nil
}

func readEvents(text []byte) (err error) {
	n := 0
	tmaxmax.Read(bytes.NewReader(text), nil)(func(_ tmaxmax.Event, failed error) bool {
		n, err = n+1, failed
		return failed == nil
	})
	if err == nil && n != 10_000 {
		err = fmt.Errorf("%d events", n)
	}
	return err
}

func splitEvents(text []byte) error {
	in, n := sse.NewEventStreamReader(bytes.NewReader(text), 1<<20), 0
	for {
		if _, err := in.ReadEvent(); err != nil {
			break
		}
		n++
	}
	if n != 10_000 {
		return fmt.Errorf("%d events", n)
	}
	return nil
}

func decodeFrames(text []byte) (err error) {
	p := wws.NewParser(true, wws.Limits{})
	pieces(text, func(piece []byte) {
		for _, it := range p.Feed(piece) {
			if it.Fault != "" {
				err = fmt.Errorf("fault %s", it.Fault)
			}
		}
	})
	return err
}

// recorded is a connection that has been upgraded, from which recorded bytes come.
type recorded struct{ io.Reader }

func (recorded) Write(p []byte) (int, error) { return len(p), nil }
func (recorded) Close() error                { return nil }

// RoundTrip implements http.RoundTripper: it agrees to an upgrade.
func (r recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	sum := sha1.Sum([]byte(req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: r, Header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
		"Sec-Websocket-Accept": {base64.StdEncoding.EncodeToString(sum[:])}}}, nil
}

func readFrames(text []byte) error {
	ctx := context.Background()
	c, _, err := websocket.Dial(ctx, "ws://recorded", &websocket.DialOptions{HTTPClient: &http.Client{
		Transport: recorded{bytes.NewReader(text)}}})
	if err != nil {
		return err
	}
	defer c.CloseNow()
	c.SetReadLimit(1 << 20)
	for n := 0; ; n++ {
		if _, _, err := c.Read(ctx); err != nil {
			if n < 20 {
				return err
			}
			return nil
		}
	}
}
