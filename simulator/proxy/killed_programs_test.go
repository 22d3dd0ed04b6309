package proxy_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/steps/protocols"
	"parley/target"
)

// Clients in other languages that begin a turn, report that, and wait for an answer that never comes; they report when
// they have lost the server.
const (
	pythonInTurn = `
import sys
sys.path.insert(0, "../../examples/fake-server")
from client import Client
c = Client(sys.argv[1])
c._post("/message", {"type": "chat", "content": "hello", "sessionId": c.session, "connectionId": c.connection})
print("in a turn", flush=True)
c.listener.join()
print("lost", flush=True)
`
	nodeInTurn = `
const ws = new WebSocket(process.argv[1].replace("http", "ws") + "/chat/ws")
ws.onopen = () => {
  ws.send(JSON.stringify({type: "chat", agent_id: "red", content: "hello"}))
  console.log("in a turn")
}
ws.onclose = () => console.log("lost")
`
	// with the wire names of the server in Node
	otherInTurn = `
const ws = new WebSocket(process.argv[1].replace("http", "ws") + "/api/v1/conversations/socket", "conversations.v1")
ws.onopen = () => {
  ws.send(JSON.stringify({action: "send", thread: "red", text: "hello"}))
  console.log("in a turn")
}
ws.onclose = () => console.log("lost")
`
)

// webSocket is the option that older versions of Node need for WebSocket.
const webSocket = "--experimental-websocket"

// TestForeignKilled: a client is killed in the middle of a turn of a server, both in other languages, and then the
// server in the middle of a turn of the next client, which sees it. None of that counts against either.
func TestForeignKilled(t *testing.T) {
	tier.Night(t)
	for _, one := range []struct {
		name, profile, protocol string
		client                  []string
	}{
		{"Python and Python over SSE", "python.yaml", "agent-select", []string{"python3", "-c", pythonInTurn}},
		{"Node and Python over WebSocket", "python-chat.yaml", "session-chat", []string{"node", webSocket, "-e", nodeInTurn}},
		{"Node and Node over WebSocket", "node-chat.yaml", "session-chat", []string{"node", webSocket, "-e", otherInTurn}},
	} {
		t.Run(one.name, func(t *testing.T) {
			if one.client[0] == "node" && exec.Command("node", webSocket, "-e", "WebSocket").Run() != nil {
				t.Skip("this Node has no WebSocket")
			}
			profile, err := protocols.Kinds().Load("../../examples/profiles/" + one.profile)
			if err != nil {
				t.Fatal(err)
			}
			running, err := target.NewLauncher(profile).Launch(boundedContext(t),
				target.LaunchOptions{Own: true, ModelURL: mute(t)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = running.Stop(context.Background()) })
			o := options(t, one.protocol, running.BaseURL())
			o.Profile = profile
			s := openProxy(t, o, t.TempDir())
			first := speaks(t, s.URL(), one.client)
			first.reads("in a turn")
			first.kill()
			awaitEvent(t, s.ends, "C1")
			second := speaks(t, s.URL(), one.client)
			second.reads("in a turn")
			if err := running.Restart(boundedContext(t), true); err != nil {
				t.Fatal(err)
			}
			second.reads("lost")
			awaitEvent(t, s.ends, "C2")
			res := s.close()
			for _, run := range res.Runs {
				if failed := outcomes(res, run.Role)[verdict.Failed]; len(failed) > 0 {
					t.Errorf("%s: failed %v", run.Role, failed)
				}
			}
		})
	}
}

// mute starts the HTTP API in front of a model that never answers.
func mute(t *testing.T) string {
	t.Helper()
	over := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() {
		close(over)
		srv.Close()
	})
	return srv.URL
}

// foreigner is a running client in another language.
type foreigner struct {
	t    *testing.T
	cmd  *exec.Cmd
	said *bufio.Reader
	errs strings.Builder
}

// speaks starts a client.
func speaks(t *testing.T, url string, command []string) *foreigner {
	t.Helper()
	f := &foreigner{t: t, cmd: exec.CommandContext(boundedContext(t), command[0], append(command[1:], url)...)}
	f.cmd.Stderr = &f.errs
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	f.said = bufio.NewReader(out)
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.kill)
	return f
}

// reads waits for a line.
func (f *foreigner) reads(want string) {
	f.t.Helper()
	if got, err := f.said.ReadString('\n'); strings.TrimSpace(got) != want {
		f.kill()
		f.t.Fatalf("the client says %q, want %q: %v\n%s", got, want, err, f.errs.String())
	}
}

// kill kills the client, with SIGKILL on systems that have it, unless it has ended.
func (f *foreigner) kill() {
	if f.cmd.ProcessState == nil {
		_ = f.cmd.Process.Kill()
		_ = f.cmd.Wait()
	}
}
