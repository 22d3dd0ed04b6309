package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/llm/stub"
	"parley/internal/tier"
	"parley/simulator/proxy"
	"parley/steps/protocols"
	"parley/target"
	"parley/transport/transcript"
)

// socket is the path of session-chat's WebSocket.
const socket = "/chat/ws"

// dial opens a WebSocket.
func dial(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.Dial(boundedContext(t), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(-1)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func sendText(t *testing.T, c *websocket.Conn, text string) {
	t.Helper()
	if err := c.Write(boundedContext(t), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// readUntil reads messages until one has a text.
func readUntil(t *testing.T, c *websocket.Conn, text string) {
	t.Helper()
	ctx := boundedContext(t)
	for {
		_, p, err := c.Read(ctx)
		if err != nil {
			t.Fatalf("before %q: %v", text, err)
		}
		if strings.Contains(string(p), text) {
			return
		}
	}
}

// chat is a whole turn with the bundled server.
func chat(t *testing.T, c *websocket.Conn, agent string) {
	t.Helper()
	sendText(t, c, fmt.Sprintf(`{"type":"chat","agent_id":%q,"content":"hello"}`, agent))
	readUntil(t, c, `"result"`)
}

// TestServerKilled: a server in another language is killed in the middle of a connection; the client sees it, and the
// traffic after the restart passes through the same proxy. None of that counts against the server.
func TestServerKilled(t *testing.T) {
	profile, err := protocols.Kinds().Load("../../examples/profiles/python-chat.yaml")
	if err != nil {
		t.Fatal(err)
	}
	running, err := target.NewLauncher(profile).Launch(boundedContext(t),
		target.LaunchOptions{Own: true, ModelURL: model(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Stop(context.Background()) })
	o := options(t, "session-chat", running.BaseURL())
	o.Profile = profile
	s := openProxy(t, o, t.TempDir())
	one := dial(t, s.URL()+socket)
	awaitEvent(t, s.opens, "C1")
	if err := running.Restart(boundedContext(t), true); err != nil {
		t.Fatal(err)
	}
	if _, _, err := one.Read(boundedContext(t)); err == nil {
		t.Error("the client does not learn that the server was killed")
	}
	_ = one.CloseNow()
	awaitEvent(t, s.ends, "C1")
	two := dial(t, s.URL()+socket)
	awaitEvent(t, s.opens, "C2")
	_ = two.Close(websocket.StatusNormalClosure, "")
	awaitEvent(t, s.ends, "C2")
	res := s.close()
	if failed := outcomes(res, "server")[verdict.Failed]; len(failed) > 0 {
		t.Errorf("failed %v", failed)
	}
	if !s.hasLine("C1", "broke off") && !s.hasLine("C1", "closed") {
		t.Errorf("transcript: %q", s.lines)
	}
}

// model starts the HTTP API in front of a scripted model.
func model(t *testing.T) string {
	t.Helper()
	srv, err := stub.Start(llm.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close(context.Background()) })
	return srv.URL()
}

// TestClientKilled: a client that is reset in the middle of a turn ends its own connection only, and the server is
// judged by what it did.
func TestClientKilled(t *testing.T) {
	s := openProxy(t, options(t, "session-chat", bundle(t, "session-chat", "server", "")), "")
	stays, dies := dial(t, s.URL()+socket), rawSocket(t, s.URL(), socket)
	awaitEvent(t, s.opens, "C2")
	chat(t, stays, "one")
	_, _ = dies.Write([]byte("\x01\x9f\x00\x00\x00\x00{\"type\":\"chat\"")) // an incomplete message
	_ = dies.(*net.TCPConn).SetLinger(0)
	_ = dies.Close()
	awaitEvent(t, s.ends, "C2")
	chat(t, stays, "two")
	_ = stays.Close(websocket.StatusNormalClosure, "")
	awaitEvent(t, s.ends, "C1")
	got := outcomes(s.close(), "server")
	if len(got[verdict.Failed]) > 0 || len(got[verdict.Passed]) < 10 {
		t.Errorf("failed %v, passed %v", got[verdict.Failed], got[verdict.Passed])
	}
}

// rawSocket opens a WebSocket without a library.
func rawSocket(t *testing.T, url, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
	return c
}

// TestStuck: a client that never reads, whose server writes without end, stalls neither other connections nor the end
// of the proxy.
func TestStuck(t *testing.T) {
	full := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/endless" {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			line := []byte("data: " + strings.Repeat("x", 64<<10) + "\n\n")
			for i := 0; ; i++ {
				if _, err := w.Write(line); err != nil {
					return
				}
				if i == 200 { // far more than the buffers of a connection hold
					close(full)
				}
			}
		}
		echo(w, r)
	}))
	defer up.Close()
	s := openProxy(t, options(t, "session-chat", up.URL), "")
	stuck, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	_, _ = io.WriteString(stuck, "GET /endless HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
	awaitEvent(t, s.opens, "C1")
	c := dial(t, s.URL()+socket)
	for i := range 200 {
		text := fmt.Sprintf(`{"n":%d}`, i)
		sendText(t, c, text)
		readUntil(t, c, text)
	}
	go func() { // it reads again, which shows that the endless server has written
		_, _ = io.Copy(io.Discard, stuck)
	}()
	select {
	case <-full:
	case <-boundedContext(t).Done():
		t.Fatal("the stuck client's stream has stopped for good")
	}
	s.close()
}

// echo sends each message back.
func echo(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(-1)
	for {
		kind, p, err := c.Read(r.Context())
		if err != nil || c.Write(r.Context(), kind, p) != nil {
			return
		}
	}
}

// TestBounded: memory stays bounded for any traffic: many messages, messages that never end, and many connections.
func TestBounded(t *testing.T) {
	tier.Night(t)
	const most = 200 << 20
	o := options(t, "session-chat", "")
	o.Keep = transcript.Keep{Records: 500, Bytes: 1 << 20}
	for name, pass := range map[string]func(t *testing.T){
		"frames": func(t *testing.T) {
			up := httptest.NewServer(http.HandlerFunc(echo))
			defer up.Close()
			o.To = up.URL
			s := openProxy(t, o, "")
			c := dial(t, s.URL())
			text := `{"type":"chat","agent_id":"a","content":"` + strings.Repeat("x", 100<<10) + `"}`
			for range 500 { // 100 MB in both directions
				sendText(t, c, text)
				readUntil(t, c, "chat")
			}
			grown(t, most)
		},
		"a message without an end": func(t *testing.T) {
			up := httptest.NewServer(http.HandlerFunc(echo))
			defer up.Close()
			o.To = up.URL
			s := openProxy(t, o, "")
			c := rawSocket(t, s.URL(), "/")
			piece := append([]byte("\x01\xff\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00"), make([]byte, 1<<20)...)
			for range 100 {
				if _, err := c.Write(piece); err != nil {
					break
				}
				piece[0] = 0 // a fragment
			}
			grown(t, most)
		},
		"a line without an end": func(t *testing.T) {
			o := options(t, "session-runtime", "")
			collecting(t, &o, "")
			_, err := proxy.Pipe(boundedContext(t), o, proxy.PipeOptions{In: strings.NewReader(""), Out: io.Discard,
				Err:     io.Discard,
				Command: []string{"python3", "-c", "import sys\nfor _ in range(300): sys.stdout.buffer.write(bytes(1 << 20))"}})
			if err != nil {
				t.Error(err)
			}
			grown(t, most)
		},
	} {
		t.Run(name, pass)
	}
}

// grown fails if more than the given number of bytes are in use.
func grown(t *testing.T, most uint64) {
	t.Helper()
	runtime.GC()
	runtime.GC() // frees what pools kept the first time
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > most {
		t.Errorf("%d MB are in use", m.HeapAlloc>>20)
	}
}

// TestManyConnections: connections that are judged separately come faster than they are judged; all pass, and the
// unjudged ones are counted.
func TestManyConnections(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(echo))
	defer up.Close()
	o := options(t, "external-agent", up.URL, "agent")
	s := openProxy(t, o, "")
	const n = 700
	for range n {
		c := dial(t, s.URL())
		sendText(t, c, `{"v":1}`)
		readUntil(t, c, "v")
		_ = c.CloseNow()
	}
	awaitEvent(t, s.ends, fmt.Sprintf("C%d", n))
	stats := s.Stats()
	res := s.close()
	scenarios := 0
	for _, run := range res.Runs {
		scenarios += len(run.Scenarios)
	}
	if stats.Conns != n || int64(scenarios)+stats.Unjudged != n {
		t.Errorf("%d connections, %d judged, %d not", stats.Conns, scenarios, stats.Unjudged)
	}
}
