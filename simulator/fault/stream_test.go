package fault_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/internal/faultrule"
	"parley/simulator/fault"
	"parley/simulator/gate"
)

// block is an event of the stream that tests read.
func block(n int) string { return fmt.Sprintf("data: {\"n\":%d,\"a\":9007199254740993}\n\n", n) }

// stream is what an independent reader receives of events 1 to 4 through a gate: the chunks, and how they end.
type stream struct {
	chunks []string
	end    string // "ended", "FIN" or "RST"
	typ    string
	fired  []fault.Fired
}

func (s stream) text() string { return strings.Join(s.chunks, "") }

// faults reads a file with one fault.
func faults(t *testing.T, text string) *fault.Faults {
	t.Helper()
	set, err := faultrule.Parse("f.yaml", []byte("faults:\n  - {"+text+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return fault.New(set, nil)
}

// heard reads a stream over a raw connection.
func heard(t *testing.T, text string) stream {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 1; i <= 4; i++ {
			fmt.Fprint(w, block(i))
		}
	}))
	defer up.Close()
	x := faults(t, text)
	g, err := gate.New(gate.Options{Upstream: func() string { return up.URL }, Handle: x.Handle})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	u, _ := url.Parse(g.URL())
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
	in := bufio.NewReader(c)
	var s stream
	for {
		line, err := in.ReadString('\n')
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && name == "Content-Type" {
			s.typ = value
		}
		if err != nil || line == "\r\n" {
			break
		}
	}
	s.end = s.read(in)
	s.fired = x.Fired()
	return s
}

// read reads chunks to the end.
func (s *stream) read(in *bufio.Reader) string {
	for {
		line, err := in.ReadString('\n')
		if err == nil {
			size, _ := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
			if size == 0 {
				return "ended"
			}
			b := make([]byte, size+2)
			var n int
			if n, err = io.ReadFull(in, b); err == nil {
				s.chunks = append(s.chunks, string(b[:size]))
				continue
			}
			s.chunks = append(s.chunks, string(b[:n]))
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return "FIN"
		}
		return "RST"
	}
}

var all = block(1) + block(2) + block(3) + block(4)

// TestStream: a reader sees each fault of the second event, and no other change.
func TestStream(t *testing.T) {
	rest := block(3) + block(4)
	for do, want := range map[string]stream{
		"drop":                       {chunks: []string{block(1), rest}},
		"{delay: 1ms}":               {chunks: []string{all}},
		"{duplicate: 2}":             {chunks: []string{block(1), block(2), block(2), block(2), rest}},
		"{reorder: 1}":               {chunks: []string{block(1), block(3), block(2), block(4)}},
		"{behind: {where: {/n: 4}}}": {chunks: []string{block(1), rest, block(2)}},
		"{retype: other}":            {chunks: []string{block(1), "event: other\n", block(2), rest}},
		`{set: {/n: ["${/n}"]}}`: {chunks: []string{block(1),
			"data: {\"a\":9007199254740993,\"n\":[2]}\n\n", rest}},
		"{reorder: 9}":                      {chunks: []string{block(1), rest}},
		"{burst: 2}":                        {chunks: []string{all}},
		"{corrupt: {at: /n, remove: true}}": {chunks: []string{block(1), "data: {\"a\":9007199254740993}\n\n", rest}},
		"{truncate: 2}":                     {chunks: []string{block(1), "data: {\"\n\n", rest}},
		"{pad: 40}": {chunks: []string{block(1), "data: ",
			strings.Repeat(" ", 40-len(block(2))+8), block(2)[6:], rest}},
		"bom":             {chunks: []string{block(1), "\xEF\xBB\xBF", block(2), rest}},
		"{split: 7}":      {chunks: []string{all}},
		"dribble":         {chunks: []string{all}},
		"{slow: 1000000}": {chunks: []string{all}},
		"cr-only":         {chunks: []string{block(1), strings.ReplaceAll(block(2), "\n", "\r"), rest}},
		"{comments: 3}":   {chunks: []string{block(1), strings.Repeat(": flood\n", 3), block(2), rest}},
		"silence":         {chunks: []string{block(1)}},
		"half-close":      {chunks: []string{block(1)}, end: "FIN"},
		"fin":             {chunks: []string{block(1)}, end: "FIN"},
		"{cut: 5}":        {chunks: []string{block(1), block(2)[:5]}, end: "FIN"},
		"{close: 1011}":   {chunks: []string{block(1)}},
		"{corrupt: {at: /n, set: {x: [1, \"\"]}}}": {chunks: []string{block(1),
			"data: {\"a\":9007199254740993,\"n\":{\"x\":[1,\"\"]}}\n\n", rest}},
	} {
		t.Run(do, func(t *testing.T) {
			got := heard(t, "from: server, nth: 2, do: "+do)
			if want.end == "" {
				want.end = "ended"
			}
			if got.text() != want.text() || got.end != want.end {
				t.Errorf("%q (%s), want %q (%s)", got.text(), got.end, want.text(), want.end)
			}
			if f := got.fired[0]; f.Fired != 1 || f.Line != 2 {
				t.Errorf("told %+v", f)
			}
			if twin := heard(t, "from: client, nth: 2, do: "+do); twin.text() != all || twin.end != "ended" ||
				twin.fired[0].Fired != 0 {
				t.Errorf("without the fault: %q (%s), %+v", twin.text(), twin.end, twin.fired)
			}
		})
	}
	if got := heard(t, "from: server, nth: 2, do: reset"); got.end == "ended" || strings.Contains(got.text(), block(2)) {
		t.Errorf("reset: %q (%s)", got.text(), got.end)
	}
}

// TestChunks: each write is a chunk of its own.
func TestChunks(t *testing.T) {
	if got := heard(t, "from: server, nth: 2, do: dribble"); len(got.chunks) < len(block(2))+1 || len(got.chunks[5]) != 1 {
		t.Errorf("dribble: %q", got.chunks)
	}
	if got := heard(t, "from: server, nth: 2, do: {split: 7}"); len(got.chunks) < 3 || got.chunks[1] != block(2)[:7] {
		t.Errorf("split: %q", got.chunks)
	}
	if got := heard(t, "from: server, nth: 2, do: {slow: 100}"); len(got.chunks) < len(all)/10-4 {
		t.Errorf("slow: %q", got.chunks)
	}
}

// TestContentType: a stream with a wrong content type is still a stream, and one without the fault is untouched.
func TestContentType(t *testing.T) {
	got := heard(t, "on: {open: /}, from: server, do: {content-type: text/html}")
	if got.typ != "text/html" || got.text() != all || got.fired[0].Fired != 1 {
		t.Errorf("%s %q %+v", got.typ, got.text(), got.fired)
	}
	got = heard(t, "on: {open: /other}, from: server, do: {content-type: text/html}")
	if got.typ != "text/event-stream" || got.text() != all || got.fired[0].Fired != 0 {
		t.Errorf("%s %q %+v", got.typ, got.text(), got.fired)
	}
}

// TestUnchanged: a fault that changes nothing does not count as fired.
func TestUnchanged(t *testing.T) {
	for _, do := range []string{"{truncate: 1000}", "{corrupt: {at: /none, draw: true}}", "{split: 1000}", "{pad: 3}",
		"{fragments: 3}", "{corrupt: {at: /n, set: 2}}"} {
		got := heard(t, "from: server, nth: 2, do: "+do)
		if got.text() != all || got.fired[0].Fired != 0 || got.fired[0].Met != 4 {
			t.Errorf("%s: %q %+v", do, got.text(), got.fired)
		}
	}
}
