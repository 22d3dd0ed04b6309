package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"go.uber.org/goleak"

	"parley/model"
	"parley/model/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run serves on a free port; stop ends it, and returns what Run did.
func run(t *testing.T, args ...string) (url string, client *http.Client, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := Run(ctx, append([]string{"--addr", "127.0.0.1:0"}, args...), in, io.Discard)
		_ = in.CloseWithError(errors.Join(err, io.EOF))
		ended <- err
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	transport := &http.Transport{}
	return strings.TrimSpace(line), &http.Client{Transport: transport}, func() error {
		cancel()
		transport.CloseIdleConnections()
		return <-ended
	}
}

func TestAgentSelect(t *testing.T) {
	for _, args := range [][]string{nil, {"--protocol", "agent-select"}} {
		url, client, stop := run(t, args...)
		res, err := client.Get(url + "/events")
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(res.Body)
		if !lines.Scan() || !strings.Contains(lines.Text(), `"type":"connected"`) {
			t.Errorf("first line %q", lines.Text())
		}
		if err := stop(); err != nil { // an open stream must not hold the server up
			t.Errorf("run: %v", err)
		}
		_ = res.Body.Close()
	}
}

// message is what a session-chat server sends, as far as it matters here.
type message struct {
	Type    string `json:"message_type"`
	Session string `json:"session_id"`
	Message struct {
		Subtype string `json:"subtype"`
		Content string `json:"content"`
	} `json:"message"`
}

// chat has one turn with the agent_id "a", and returns its session and its answer.
func chat(t *testing.T, url string, client *http.Client, content string) (session, answer string) {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), url+"/chat/ws", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if err := wsjson.Write(t.Context(), ws, map[string]string{"type": "chat", "agent_id": "a", "content": content}); err != nil {
		t.Fatal(err)
	}
	for {
		var msg message
		if err := wsjson.Read(t.Context(), ws, &msg); err != nil {
			t.Fatal(err)
		}
		switch {
		case msg.Type == "assistant":
			answer = msg.Message.Content
		case msg.Type == "result" && msg.Message.Subtype != "success":
			t.Fatalf("result: %+v", msg)
		case msg.Type == "result":
			return msg.Session, answer
		}
	}
}

func TestSessionChat(t *testing.T) {
	db := filepath.Join(t.TempDir(), "chat.db")
	var session string
	for i, args := range [][]string{nil, {"--idle", "1ms"}} {
		url, client, stop := run(t, append([]string{"--protocol", "session-chat", "--db", db}, args...)...)
		s, answer := chat(t, url, client, "[[recall n]] [[echo n]]")
		if i > 0 && (s != session || !strings.HasPrefix(answer, "n (1)")) {
			t.Errorf("resumed %s as %s: %q", session, s, answer)
		}
		session = s
		if err := stop(); err != nil {
			t.Errorf("run: %v", err)
		}
	}
}

func TestModelURL(t *testing.T) {
	brain := model.New()
	s, err := stub.Start(brain)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	url, client, stop := run(t, "--protocol", "session-chat", "--model-url", s.URL()+"/v1")
	if _, answer := chat(t, url, client, "[[echo n]] there"); answer != "[[echo n]] there" {
		t.Errorf("answer %q", answer)
	}
	if err := stop(); err != nil {
		t.Errorf("run: %v", err)
	}
	if asked := brain.Requests("n"); len(asked) != 1 || asked[0].Model != "default" || asked[0].API != model.APIChat {
		t.Errorf("asked: %+v", asked)
	}
}

func TestWrongUsage(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"--nonsense"}, "nonsense"},
		{[]string{"--addr", "nowhere:x"}, "nowhere"},
		{[]string{"--addr", "0.0.0.0:0"}, "no loopback address"},
		{[]string{"--addr", busy.Addr().String()}, "in use"},
		{[]string{"--protocol", "session-chat", "--addr", busy.Addr().String()}, "in use"},
		{[]string{"--agents", t.TempDir()}, "directory"},
		{[]string{"session-chat"}, `unexpected argument "session-chat"`},
		{[]string{"--protocol", "smtp"}, "there are agent-select and session-chat"},
		{[]string{"--db", "x.db"}, "--db is for --protocol session-chat"},
		{[]string{"--idle", "1m", "--model-url", "http://127.0.0.1:9/v1"}, "--model-url is for"},
		{[]string{"--protocol", "session-chat", "--agents", "x.toml"}, "--agents is for --protocol agent-select"},
		{[]string{"--protocol", "session-chat", "--idle", "0s"}, "--idle 0s"},
		{[]string{"--protocol", "session-chat", "--idle", "soon"}, "idle"},
		{[]string{"--protocol", "session-chat", "--db", filepath.Join(t.TempDir(), "none", "x.db")}, "there is no folder"},
		{[]string{"--protocol", "session-chat", "--model-url", "127.0.0.1:9/v1"}, "no http URL"},
		{[]string{"--protocol", "session-chat", "--model-url", "http://127.0.0.1:9/v1", "--db", t.TempDir()}, "is a directory"},
	} {
		if err := Run(t.Context(), row.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v: %v, want %q", row.args, err, row.want)
		}
	}
	if err := Run(t.Context(), []string{"-h"}, io.Discard, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help: %v", err)
	}
}
