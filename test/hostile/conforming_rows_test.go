package hostile_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/llm"
	"parley/reference-server/agentselect"
	"parley/reference-server/sessionchat"
)

// conforming is the bundled server of agent-select, with a change of its streams.
func conforming(change func(w http.ResponseWriter) http.ResponseWriter) serve {
	return func(t *testing.T) string {
		h, err := agentselect.New(agentselect.Options{Brain: llm.New()})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w = change(w)
			}
			h.ServeHTTP(w, r)
		}))
		t.Cleanup(func() { s.CloseClientConnections(); _ = h.Close(context.Background()); s.Close() })
		return s.URL
	}
}

// noisy adds a text behind each event of a stream, n times, and behind the first one as often as first says.
type noisy struct {
	http.ResponseWriter
	noise    string
	first, n int
}

func (n *noisy) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func (n *noisy) Flush() { _ = http.NewResponseController(n.ResponseWriter).Flush() }

func (n *noisy) Write(said []byte) (int, error) {
	wrote, err := n.ResponseWriter.Write(said)
	if err == nil && bytes.HasSuffix(said, []byte("\n\n")) {
		_, err = io.WriteString(n.ResponseWriter, strings.Repeat(n.noise, n.first+n.n))
		n.first = 0
	}
	return wrote, err
}

func withNoise(text string, first, each int) serve {
	return conforming(func(w http.ResponseWriter) http.ResponseWriter { return &noisy{w, text, first, each} })
}

// between stands before a server and changes each piece that the server writes.
type between struct {
	http.ResponseWriter
	change func(w http.ResponseWriter, said []byte) error
}

func (b *between) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *between) Flush() { _ = http.NewResponseController(b.ResponseWriter).Flush() }

func (b *between) Write(said []byte) (int, error) { return len(said), b.change(b.ResponseWriter, said) }

func changing(change func(w http.ResponseWriter, said []byte) error) serve {
	return conforming(func(w http.ResponseWriter) http.ResponseWriter { return &between{w, change} })
}

// chatting is the bundled server of session-chat, behind which frames are added: each frame of the server is followed
// by a text.
func chatting(noise string) serve {
	return func(t *testing.T) string {
		h, err := sessionchat.New(sessionchat.Options{DB: filepath.Join(t.TempDir(), "sessions.db"), Unsynced: true,
			Backend: llm.New()})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(h)
		t.Cleanup(func() { s.CloseClientConnections(); _ = h.Close(context.Background()); s.Close() })
		return raw(func(c net.Conn) {
			to, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				return
			}
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = io.Copy(to, c); _ = to.Close() })
			passFrames(c, bufio.NewReader(to), noise)
			_ = to.Close()
			_ = c.Close()
			wg.Wait()
		})(t)
	}
}

// passFrames passes on a head, and then frames, each followed by noise.
func passFrames(c io.Writer, in *bufio.Reader, noise string) {
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = in.ReadString('\n'); err != nil {
			return
		}
		if _, err = io.WriteString(c, line); err != nil {
			return
		}
	}
	for {
		head, err := in.Peek(2)
		if err != nil {
			return
		}
		size := 2 + int64(head[1]&0x7f)
		if long := map[byte]int{126: 2, 127: 8}[head[1]&0x7f]; long > 0 {
			if head, err = in.Peek(2 + long); err != nil {
				return
			}
			size = int64(2+long) + int64(binary.BigEndian.Uint64(append(make([]byte, 8-long), head[2:]...)))
		}
		if _, err := io.CopyN(c, in, size); err != nil {
			return
		}
		if _, err := io.WriteString(c, noise); err != nil {
			return
		}
	}
}

// flooded is what is said of a message that may be behind a flood: which of the two, depends on the machine.
const flooded = "more than a transcript holds|still sending when the time was up"

// patient are limits in which a busy machine reads a flood, and answers behind it.
var patient = map[string]string{"open": "20s", "event": "10s", "http": "20s"}

// rightRows are servers that keep their protocol in the company of much else: no clause may fail.
var rightRows = []row{
	{name: "right, among comments", peer: "server", of: "agent-select", right: true,
		says: "counted but not stored|no clause failed|not tested",
		does: "sends 60,000 comments behind its greeting", serve: withNoise(": noise\n", 60_000, 10)},
	{name: "right, among retries", peer: "server", of: "agent-select", right: true, says: "exit 0",
		does: "sends its time of reconnecting 100 times with each event", serve: withNoise("retry: 100\n", 100, 100)},
	{name: "right, among ids", peer: "server", of: "agent-select", right: true, says: "exit 0",
		does: "sends 100 ids with each event", serve: withNoise("id: 1\n\n", 100, 100)},
	{name: "right, among empty events", peer: "server", of: "agent-select", right: true, says: "exit 0",
		does: "sends 100 events without data with each event", serve: withNoise("event: x\n\n", 100, 100)},
	{name: "right, among events", peer: "server", of: "agent-select", right: true, says: "exit 0",
		does: "sends 2,000 events of noise behind its greeting", serve: withNoise("event: noise\ndata: {}\n\n",
			10_000, 0)},
	{name: "right, among more events than are kept", peer: "server", of: "agent-select", right: true, exits: []int{5},
		limits: patient,
		says:   flooded, does: "sends 60,000 events of noise behind its greeting",
		serve: withNoise("event: noise\ndata: {}\n\n", 60_000, 0)},
	{name: "right, among large events", peer: "server", of: "agent-select", right: true, exits: []int{5},
		limits: patient,
		says:   flooded + "|exit 0", does: "sends 40 events of a megabyte each behind its greeting",
		serve: withNoise(`data: {"type":"noise","data":"`+strings.Repeat("x", 1<<20)+"\"}\n\n", 40, 0)},
	{name: "right, among small objects", peer: "server", of: "agent-select", right: true, exits: []int{5},
		limits: patient,
		says:   flooded + "|exit 0", does: "sends 20 events of 200,000 objects each behind its greeting",
		serve: withNoise(`data: {"type":"noise","data":[`+strings.Repeat("{},", 200_000)+"{}]}\n\n", 20, 0)},
	{name: "right, a byte at a time", peer: "server", of: "agent-select", right: true, says: "exit 0",
		does: "sends its stream in pieces of one byte", serve: changing(func(w http.ResponseWriter, said []byte) error {
			for _, b := range said {
				if _, err := w.Write([]byte{b}); err != nil {
					return err
				}
				_ = http.NewResponseController(w).Flush()
			}
			return nil
		})},
	{name: "right, with CRLF", peer: "server", of: "agent-select", right: true, says: "exit 0",
		does: "ends its lines with CR and LF", serve: changing(func(w http.ResponseWriter, said []byte) error {
			_, err := w.Write(bytes.ReplaceAll(said, []byte("\n"), []byte("\r\n")))
			return err
		})},
	{name: "right, and slow", peer: "server", of: "agent-select", right: true, says: "exit 0",
		limits: map[string]string{"event": "5s", "turn": "10s"},
		does:   "takes 50 ms for each event", serve: changing(func(w http.ResponseWriter, said []byte) error {
			time.Sleep(50 * time.Millisecond) // the delay under test
			_, err := w.Write(said)
			return err
		})},
	{name: "right, among pings", peer: "server", of: "session-chat", right: true, says: "exit 0",
		does: "sends 100 pings behind each message", serve: chatting(strings.Repeat(frame(pingFrame, "x"), 100))},
	{name: "right, among pongs", peer: "server", of: "session-chat", right: true, says: "exit 0",
		does: "sends 100 pongs behind each message", serve: chatting(strings.Repeat(frame(pongFrame, ""), 100))},
}
