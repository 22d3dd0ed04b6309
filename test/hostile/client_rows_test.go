package hostile_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// served is a row of a client of a server that parley serves, plays or stands before.
func served(name, does string, act func(t *testing.T, addr string), args ...string) row {
	return row{name: name, peer: "client", does: does, act: act, args: args, says: ".", exits: []int{1, 5}}
}

// bytesFor sends bytes on a connection and then a text again and again, for a second or until the server ends it.
func bytesFor(text, again string) func(*testing.T, string) {
	return func(t *testing.T, addr string) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_, err = io.WriteString(c, text)
		for err == nil && again != "" {
			_, err = io.WriteString(c, again)
		}
		_, _ = io.Copy(io.Discard, c)
	}
}

// many opens connections, sends bytes on each and leaves them open for a while.
func many(n int, text string) func(*testing.T, string) {
	return func(t *testing.T, addr string) {
		for range n {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				return // the server refuses more
			}
			defer c.Close()
			_, _ = io.WriteString(c, strings.ReplaceAll(text, "{addr}", addr))
		}
		time.Sleep(500 * time.Millisecond) // what the server must bear
	}
}

// socket talks over a WebSocket for a second, or until the server ends it.
func socket(path string, talk func(ctx context.Context, c *websocket.Conn)) func(*testing.T, string) {
	return func(t *testing.T, addr string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c, resp, err := websocket.Dial(ctx, "ws://"+addr+path, nil)
		if err != nil {
			t.Fatalf("%v %v", err, resp)
		}
		defer func() { _ = c.CloseNow() }()
		talk(ctx, c)
	}
}

// shouts sends a text for ever and reads nothing.
func shouts(text string) func(ctx context.Context, c *websocket.Conn) {
	return func(ctx context.Context, c *websocket.Conn) {
		for c.Write(ctx, websocket.MessageText, []byte(text)) == nil {
		}
	}
}

// upgrade is the request of a WebSocket.
func upgrade(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
}

var (
	serveSelect  = []string{"serve", "agent-select", "--listen", "127.0.0.1:{port}"}
	serveChat    = []string{"serve", "session-chat", "--listen", "127.0.0.1:{port}"}
	serveRuntime = []string{"serve", "session-runtime", "--listen", "127.0.0.1:{port}"}
	playSelect   = []string{"simulate", "--as", "server", "--listen", "127.0.0.1:{port}"}
	beforeSelect = []string{"proxy", "--listen", "127.0.0.1:{port}", "--target", "{url}"}
)

const (
	post   = "POST /message HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	listen = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
)

// clientRows are clients of servers that parley runs. Each server still answers behind them.
var clientRows = []row{
	served("garbage", "says what is no HTTP", bytesFor("\x00\xff\r\n\r\n", ""), serveSelect...),
	served("an endless head", "never ends the head of its request", bytesFor("GET / HTTP/1.1\r\nX: ", block("x")),
		serveSelect...),
	served("an endless body", "never ends its message", bytesFor(post+"Transfer-Encoding: chunked\r\n\r\n",
		"10000\r\n"+strings.Repeat("x", 1<<16)+"\r\n"), serveSelect...),
	served("a message of many levels", "nests its message 100,000 times",
		bytesFor(fmt.Sprintf(post+"Content-Length: %d\r\n\r\n", 200_000)+deep(100_000), ""), serveSelect...),
	served("half requests", "begins 500 requests and ends none", many(500,
		"POST /message HTTP/1.1\r\nHost: x\r\n"), serveSelect...),
	served("streams that nobody reads", "opens 300 streams and reads none", many(300, listen), serveSelect...),
	served("a foreign host", "comes by a name that somebody else owns",
		bytesFor("GET /events HTTP/1.1\r\nHost: evil.example\r\n\r\n", ""), serveSelect...),
	served("a flood of frames", "never stops talking and reads nothing",
		socket("/chat/ws", shouts(`{"type":"chat","agent_id":"a","content":"`+strings.Repeat("x", 1000)+`"}`)),
		serveChat...),
	served("a flood of pings over frames", "asks for pongs and reads none", socket("/chat/ws",
		shouts(`{"type":"ping"}`)), serveChat...),
	served("a frame of 2^62 bytes", "announces a frame of all the memory in the world",
		bytesFor(upgrade("/chat/ws")+"\x81\xff\x3f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", block("x")),
		serveChat...),
	served("fragments without end", "never ends a message",
		bytesFor(upgrade("/chat/ws")+"\x01\x81\x00\x00\x00\x00[", strings.Repeat("\x00\x81\x00\x00\x00\x00 ",
			9000)), serveChat...),
	served("a flood on the bus", "never stops talking on the bus",
		socket("/bus/ws", shouts(`{"id":"x","session_id":"s","event":"NOISE","target":"SYSTEM","payload":null}`)),
		serveRuntime...),
	served("an endless body, to a play", "never ends its message to a server that parley plays",
		bytesFor(post+"Transfer-Encoding: chunked\r\n\r\n", "10000\r\n"+strings.Repeat("x", 1<<16)+"\r\n"),
		playSelect...),
	served("streams that nobody reads, of a play", "opens 100 streams of a server that parley plays", many(100,
		listen), playSelect...),
	served("an endless head, to a proxy", "never ends the head of its request to a proxy",
		bytesFor("GET / HTTP/1.1\r\nX: ", block("x")), beforeSelect...),
	served("an endless body, to a proxy", "never ends its message to a proxy",
		bytesFor(post+"Transfer-Encoding: chunked\r\n\r\n", "10000\r\n"+strings.Repeat("x", 1<<16)+"\r\n"),
		beforeSelect...),
}

func init() {
	for i := range clientRows {
		if clientRows[i].args[0] == "proxy" {
			clientRows[i].serve = conforming(func(w http.ResponseWriter) http.ResponseWriter { return w })
		}
	}
}

// listens waits until a server listens.
func listens(t *testing.T, addr string, gone <-chan struct{}) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-tick.C:
		case <-gone:
			t.Fatal("the server has ended")
		}
	}
}

// lives checks that a server answers a request.
func lives(t *testing.T, addr string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		t.Errorf("the server answers nobody any more: %v", err)
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(c, "GET /none HTTP/1.1\r\nHost: "+addr+"\r\nConnection: close\r\n\r\n")
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 ") {
		t.Errorf("the server answers nobody any more: %q, %v", line, err)
	}
}
