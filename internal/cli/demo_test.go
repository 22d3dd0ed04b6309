package cli

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestDemo: the demo finds its fault, says which clause it breaks, and ends; with --console its session is on the page
// until it is interrupted.
func TestDemo(t *testing.T) {
	t.Parallel()
	out, said, code := invoke(t, "demo")
	for _, want := range []string{"agent_switched (message)", "\n  ✗ AS-045\n      expected  agentName \"Debugger\"\n",
		"\n  AS-045  MUST  agent_switched.agentName equals", "\n  parley explain name-of-previous "} {
		if code != 0 || said != "" || !strings.Contains(out, want) {
			t.Errorf("exit %d, says %q; stdout lacks %q:\n%s", code, said, want, out)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := demoOptions{console: "127.0.0.1:0"}.runDemo(ctx, &streams{Out: write, Err: io.Discard})
		_ = write.Close()
		ended <- err
	}()
	text := readUntil(t, read, "Ctrl-C ends it.\n")
	_, rest, _ := strings.Cut(text, "page: ")
	page, _, _ := strings.Cut(rest, "\n")
	answer, err := http.Get(page + "/api/v1/sessions")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(body), `"protocol":"agent-select"`) {
		t.Errorf("the page has no session of the demo: %v, %s", err, body)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// readUntil returns what is read up to a text, and drops what follows.
func readUntil(t *testing.T, in io.Reader, end string) string {
	t.Helper()
	var all strings.Builder
	buffer := make([]byte, 4096)
	for !strings.Contains(all.String(), end) {
		n, err := in.Read(buffer)
		all.Write(buffer[:n])
		if err != nil {
			t.Fatalf("%v after\n%s", err, all.String())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, in) }()
	return all.String()
}
