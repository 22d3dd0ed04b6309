package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/features/verdict"
)

// said is what a command has written to stderr so far.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// underway is a command that runs.
type underway struct {
	*testing.T
	first string // its first line
	errs  said
	rest  chan string // what it writes behind that
	done  chan error
	stop  context.CancelFunc
}

// starts starts a command, and waits for its first line.
func starts(t *testing.T, args ...string) *underway {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &underway{T: t, rest: make(chan string, 1), done: make(chan error, 1), stop: cancel}
	t.Cleanup(cancel)
	out, in := io.Pipe()
	go func() {
		root := rootCommand(&streams{In: strings.NewReader(""), Out: in, Err: &c.errs})
		root.SetArgs(args)
		err := root.ExecuteContext(ctx)
		_ = in.Close()
		c.done <- err
	}()
	lines := bufio.NewReader(out)
	text, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no line: %v\n%s", err, c.errs.String())
	}
	c.first = strings.TrimSpace(text)
	go func() {
		rest, _ := io.ReadAll(lines)
		c.rest <- string(rest)
	}()
	return c
}

// ends waits for its end, and returns its exit code and what it has written behind the first line.
func (c *underway) ends() (int, string) {
	err := <-c.done
	if err != nil {
		return exitCode(err), <-c.rest
	}
	return verdict.ExitConformant, <-c.rest
}

// kept writes recordings to files.
func kept(t *testing.T, texts ...[]byte) (names []string) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		name := filepath.Join(dir, string(rune('a'+i))+".jsonl")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// speaks runs a program of a foreign language, and returns what it prints.
func speaks(t *testing.T, program string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(program + " is not installed")
	}
	c := exec.CommandContext(t.Context(), path, args...)
	c.Dir = filepath.Join("..", "..", "examples", "fake-server")
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "NODE_NO_WARNINGS=1")
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out) + errs.String())
}

// switches are the steps of a client that switches agents.
func switches(steps ...string) []string {
	return append([]string{"client A is connected", "client A has a session"}, steps...)
}

// TestMockServesPython checks that clients written in Python, two at a time, get what was recorded in two recordings,
// each on its own stream, and that one is told what was never shown.
func TestMockServesPython(t *testing.T) {
	good := recorded(t, "agent-select", "sse", switches(`client A switches its session to "debugger"`,
		`client A is switched from "general" to "debugger"`)...)
	refusals := recorded(t, "agent-select", "sse", switches(`client A switches its session to "no_such_agent"`,
		`client A is refused with "agent_not_found"`)...)
	c := starts(t, append([]string{"mock"}, kept(t, good, refusals)...)...)
	got := speaks(t, "python3", "-c", `
import sys, urllib.error
from client import Client
a, b = Client(sys.argv[1]), Client(sys.argv[1])
print(a.connection != b.connection, a.agent, b.agent)
print(b.switch("debugger"), len(a.told))
print(a.switch("debugger"), len(b.told))
print(a.switch("no_such_agent"))
try:
    b.switch("plan")
except urllib.error.HTTPError as refused:
    print(refused.code, refused.read().decode().split("{")[0])
a.close(); b.close()
`, c.first)
	want := `True general general
You are talking to Debugger. 0
You are talking to Debugger. 1
Invalid agent ID: no_such_agent
501 never shown: POST /message switch_agent`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s\n%s", got, want, c.errs.String())
	}
	c.stop()
	if code, _ := c.ends(); code != verdict.ExitConformant {
		t.Errorf("it ends with %d", code)
	}
	if !strings.Contains(c.errs.String(), "parley: never shown: POST /message switch_agent ") ||
		!strings.Contains(c.errs.String(), " differs at /agentId)") || strings.Count(c.errs.String(), "\n") != 1 {
		t.Error(c.errs.String())
	}
}

// TestMockServesNode checks that a client written for Node gets what was recorded on a WebSocket, in another order.
func TestMockServesNode(t *testing.T) {
	file := recorded(t, "session-chat", "ws", `client A has chatted with "red"`)
	c := starts(t, "mock", "--ignore", "chat:/content", "--ignore", "chat:/agent_id", kept(t, file)[0])
	got := speaks(t, "node", "--experimental-websocket", "-e", `
const ws = new WebSocket(process.argv[1].replace("http", "ws") + "/chat/ws")
let ended = 0
ws.onopen = () => ws.send(JSON.stringify({type: "chat", agent_id: "green", content: "What is new?"}))
ws.onmessage = (event) => {
  const message = JSON.parse(event.data)
  console.log(message.message_type)
  if (message.message_type !== "result") return
  if (++ended === 2) return ws.close()
  ws.send(JSON.stringify({type: "dance"}))
  ws.send(JSON.stringify({type: "chat", agent_id: "green", content: "And else?"}))
}
`, c.first)
	c.stop()
	_, _ = c.ends()
	if strings.Contains(got, "WebSocket is not defined") || strings.Contains(got, "bad option") {
		t.Skip("this Node has no WebSocket")
	}
	words := strings.Fields(got)
	if len(words) < 6 || len(words)%2 != 0 || words[0] != "system" || words[len(words)-1] != "result" ||
		strings.Join(words[:len(words)/2], " ") != strings.Join(words[len(words)/2:], " ") {
		t.Errorf("%s\n%s", got, c.errs.String())
	}
	if said := c.errs.String(); strings.Count(said, "\n") != 1 ||
		!strings.Contains(said, "message dance") || !strings.Contains(said, "(nothing of the kind was shown)") {
		t.Error(said)
	}
}

// TestReplayServesPython checks that the server of a recording is played for a client written in Python: without a
// difference for one that does what was recorded, and with one for another.
func TestReplayServesPython(t *testing.T) {
	file := kept(t, recorded(t, "agent-select", "sse", switches(`client A switches its session to "debugger"`,
		`client A is switched from "general" to "debugger"`)...))[0]
	for agent, want := range map[string]int{"debugger": verdict.ExitConformant, "plan": verdict.ExitNonConformant} {
		c := starts(t, "replay", file, "--listen", "127.0.0.1:0")
		got := speaks(t, "python3", "-c", `
import sys
from client import Client
a = Client(sys.argv[1])
print(a.switch(sys.argv[2]))
a.close()
`, c.first, agent)
		code, rest := c.ends()
		if got != "You are talking to Debugger." || code != want {
			t.Errorf("%s: %d, want %d\n%s\n%s%s", agent, code, want, got, rest, c.errs.String())
		}
		if differs := strings.Contains(rest, `+   "agentId": "plan"`); differs != (want != 0) ||
			!strings.HasSuffix(rest, map[bool]string{true: "different 1\n", false: "different 0\n"}[differs]) {
			t.Error(rest)
		}
	}
}
