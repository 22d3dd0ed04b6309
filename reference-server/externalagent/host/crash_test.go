package host

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	proto "parley/protocol/externalagent"
)

// childLogs names the log folder for the test binary run as a host, which communicates by lines until its input ends.
const childLogs = "PARLEY_TEST_HOST_LOGS"

func serveChild(dir string) {
	h, err := New(Options{Logs: dir, Now: february})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = h.Serve(context.Background(), &lineConn{in: bufio.NewReader(os.Stdin), out: os.Stdout})
	_ = h.Close()
}

// lineConn is a connection with one message per line. Its reads end with the process.
type lineConn struct {
	in  *bufio.Reader
	out io.Writer
}

func (c *lineConn) Read(context.Context) ([]byte, error) { return c.in.ReadBytes('\n') }

func (c *lineConn) Write(_ context.Context, data []byte) error {
	_, err := c.out.Write(append(data, '\n'))
	return err
}

// A host is killed while working. All that it sent is in its log; only the last line may be torn.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 6 {
		told := crash(t, dir, 1+random.IntN(60))
		file := filepath.Join(dir, "study", fmt.Sprintf("s-20260213-%03d.jsonl", round+1))
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var logged []string
		lines := strings.Split(string(data), "\n") // the last one is torn, or empty
		for i, line := range lines[:len(lines)-1] {
			var e object
			if err := json.Unmarshal([]byte(line), &e); err != nil || e["eventIndex"] != float64(i+1) {
				t.Fatalf("line %d: %v: %.200s", i+1, err, line)
			}
			if e["direction"] == "out" {
				logged = append(logged, e["type"].(string))
			}
		}
		if len(logged) < len(told) || strings.Join(logged[:len(told)], " ") != strings.Join(told, " ") {
			t.Errorf("told %q, logged %q", told, logged)
		}
	}
}

// crash runs a host in its own process and kills it after the given number of messages. It returns the types of what it
// sent.
func crash(t *testing.T, dir string, messages int) (told []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childLogs+"="+dir)
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
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, err := fmt.Fprintln(in, envelope(proto.SessionStart, `{"studyId":"a","participantId":"b"}`))
		for err == nil {
			_, err = fmt.Fprintln(in, envelope(proto.ToolCall, `{"toolName":"highlight","params":{"itemId":"m1"}}`))
		}
	}()
	r := bufio.NewReader(out)
	for range messages {
		line, err := r.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var msg Message
		if err := json.Unmarshal(line, &msg); err != nil {
			t.Fatal(err)
		}
		told = append(told, msg.Type())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_ = in.Close()
	<-written
	return told
}
