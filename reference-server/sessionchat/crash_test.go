package sessionchat

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// childDB makes the test binary a server on that file until its input ends; with childUnsynced it leaves the disk
// writes to the operating system.
const (
	childDB       = "PARLEY_TEST_SESSIONCHAT_DB"
	childUnsynced = "PARLEY_TEST_SESSIONCHAT_UNSYNCED"
)

func serveChild(file string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	s, err := New(Options{DB: file, Unsynced: os.Getenv(childUnsynced) != ""})
	fail(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fail(err)
	fmt.Printf("http://%s\n", l.Addr())
	go func() { fail(http.Serve(l, s)) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// child is a server in a separate process.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	url  string
	http *http.Client
}

func spawn(t *testing.T, file string, env ...string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, childDB+"="+file)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, in: in, http: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(c.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c.url = strings.TrimSpace(line)
	return c
}

// kill sends SIGKILL: the process can't react.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	_ = c.in.Close()
	c.http.CloseIdleConnections()
}

// told is what clients were told about a session, over all lives of the server.
type told struct {
	session string
	asked   []string // contents of the turns that began, or may have begun
	begun   int      // turns with a received system message
	answers map[string]string
}

// check compares a stored session with what clients were told about it.
func (k *told) check(t *testing.T, s Store, agentID string) {
	t.Helper()
	if k.session == "" {
		return
	}
	r := lookup(t, s, agentID)
	if r.SessionID != k.session {
		t.Errorf("%s: session %s was told, %s is stored", agentID, k.session, r.SessionID)
	}
	if len(r.Turns) < k.begun {
		t.Errorf("%s: %d turns were told, %d are stored", agentID, k.begun, len(r.Turns))
	}
	for i, turn := range r.Turns {
		if turn.N != i+1 || !slices.Contains(k.asked, turn.Content) {
			t.Errorf("%s: turn %d is %+v", agentID, i, turn)
		}
		if want, ended := k.answers[turn.Content]; ended && (turn.Answer != want || turn.Outcome != "success") {
			t.Errorf("%s: result was told of %q, stored is %+v", agentID, want, turn)
		}
	}
}

// A session is stored before any message about it is sent (SC-018, SC-023).
func TestCrashAtTheFirstMessage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	sessions := map[string]string{}
	for i := range 6 {
		server := spawn(t, file, []string{childUnsynced + "=", childUnsynced + "=1"}[i%2])
		c := dial(t, server.http, server.url)
		for id, session := range sessions {
			if a := c.ask(id, "[[echo alive]]"); a.session != session || a.system["resumed"] != true {
				t.Errorf("%s: was %s, is %+v", id, session, a)
			}
		}
		id := fmt.Sprint("agent ", i)
		c.chat(id, "[[hold crash]]")
		first := c.nextMessage()
		server.kill()
		sessions[id] = first["session_id"].(string)
	}
	s := open(t, Options{DB: file})
	for id, session := range sessions {
		if r := lookup(t, s, id); r.SessionID != session || r.Turns[0].Content != "[[hold crash]]" {
			t.Errorf("%s: %+v", id, r)
		}
	}
}

// Turns of several sessions are in every stage when the server dies.
func TestCrashAtRandomMoments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	ids := []string{"a", "b", "c"}
	known := map[string]*told{}
	for _, id := range ids {
		known[id] = &told{answers: map[string]string{}}
	}
	for round := range 8 {
		server := spawn(t, file, []string{childUnsynced + "=", childUnsynced + "=1"}[round%2])
		c := dial(t, server.http, server.url)
		for i := range 4 {
			for _, id := range ids {
				content := fmt.Sprintf("[[stream %s%dx%d 5]]", id, round, i)
				known[id].asked = append(known[id].asked, content)
				c.chat(id, content)
			}
		}
		listen(c, known, 1+random.IntN(4*len(ids)*8))
		server.kill()
		s, err := OpenStore(Options{DB: file})
		if err != nil {
			t.Fatal(err)
		}
		for id, k := range known {
			k.check(t, s, id)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// listen records n messages.
func listen(c *client, known map[string]*told, n int) {
	streamed := map[string]string{}
	for range n {
		msg := c.nextMessage()
		id := msg["agent_id"].(string)
		k, body := known[id], msg["message"].(object)
		if k.session == "" {
			k.session = msg["session_id"].(string)
		}
		if msg["session_id"] != k.session {
			c.t.Errorf("session %s became %v", k.session, msg)
		}
		switch msg["message_type"] {
		case "system":
			k.begun++
			streamed[id] = ""
		case "stream":
			streamed[id] += body["text"].(string)
		case "result":
			nonce := strings.Fields(streamed[id])[1]
			k.answers["[[stream "+nonce+" 5]]"] = streamed[id]
		}
	}
}
