package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/reports"
)

// faultFile writes a faults file that repeats a pong as often as wanted.
func faultFile(t *testing.T, copies int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f.yaml")
	text := fmt.Sprintf("faults:\n  - {name: again, on: pong, from: server, nth: 1, do: {duplicate: %d}}\n"+
		"  - {on: unheard-of, do: drop}\n", copies)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// pongs sends two pings, and returns the number of pongs that arrive before a message is refused.
func pongs(t *testing.T, client *http.Client, url string) (n int) {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), url+"/chat/ws", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	for _, text := range []string{`{"type":"ping"}`, `{"type":"ping"}`, `{"type":"carrier-pigeon"}`} {
		if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for {
		_, text, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "pong") {
			_ = c.Close(websocket.StatusNormalClosure, "")
			return n
		}
		n++
	}
}

// TestProxyFaults: faults are injected into proxied traffic, and are reported at the end and in results.json.
func TestProxyFaults(t *testing.T) {
	out := t.TempDir()
	at := chatServer(t, "")
	p := startProxy(t, "--protocol", "session-chat", "--target", at, "--out", out, "--faults", faultFile(t, 2))
	if n := pongs(t, quickClient(t), p.url()); n != 4 {
		t.Errorf("%d pongs, want 4", n)
	}
	p.stop()
	if text, _ := p.awaitEnd(); !strings.Contains(p.stderrText(), "again fired 1 time, of 2 messages that it matches\n") ||
		!strings.Contains(p.stderrText(), "f.yaml:3: fault 2 never fired: no message matched") {
		t.Errorf("%s\n%s", text, p.stderrText())
	}
	f, err := os.Open(filepath.Join(out, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	res, err := reports.ReadJSON(f)
	if err != nil || len(res.Runs) != 1 || len(res.Runs[0].Faults) != 2 || res.Runs[0].Faults[0].Fired != 1 {
		t.Errorf("%v, %+v", err, res.Runs)
	}
	if n := pongs(t, quickClient(t), at); n != 2 {
		t.Errorf("%d pongs without the proxy, want 2", n)
	}
}

// TestProxyFaultsRefused: a pipe has no fragments, and clients are not judged with faults.
func TestProxyFaultsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fragments.yaml")
	if err := os.WriteFile(file, []byte("faults: [{on: PONG, do: {fragments: 3}}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		args []string
		want string
	}{
		{[]string{"--protocol", "session-runtime", "--faults", file, "--", "true"},
			"fragments.yaml:1: fragments is not for lines"},
		{[]string{"--protocol", "session-chat", "--target", "http://127.0.0.1:1", "--faults", "none.yaml"}, "--faults: "},
	} {
		p := startProxy(t, append([]string{"--out", t.TempDir()}, one.args...)...) // after -- it would belong to the command
		if _, code := p.awaitEnd(); code != 2 || !strings.Contains(p.stderrText(), one.want) {
			t.Errorf("%v: exit %d, %s", one.args, code, p.stderrText())
		}
	}
}

// TestSimulateFaults: faults are injected between a program and a party, whatever its mind; the API accepts them too.
func TestSimulateFaults(t *testing.T) {
	line, stop := simulating(t, "--protocol", "session-chat", "--as", "server", "--faults", faultFile(t, 2))
	page, at := line(), line()
	client := quickClient(t)
	if n := pongs(t, client, at); n != 4 {
		t.Errorf("%d pongs, want 4", n)
	}
	for copies, want := range map[int]int{0: 2, 1: 3} {
		text := ""
		if copies > 0 {
			text = fmt.Sprintf("faults:\n  - {on: pong, from: server, nth: 1, do: {duplicate: %d}}\n", copies)
		}
		var s struct{ URL string }
		status := asks(t, client, "POST", page+"/api/v1/sessions", "", map[string]string{"kind": "play",
			"protocol": "session-chat", "as": "server", "faults": text}, &s)
		if status != http.StatusCreated {
			t.Fatalf("status %d", status)
		}
		if n := pongs(t, client, s.URL); n != want {
			t.Errorf("%d pongs by the API, want %d", n, want)
		}
	}
	var refused struct{ Error string }
	status := asks(t, client, "POST", page+"/api/v1/sessions", "", map[string]string{"kind": "play",
		"protocol": "session-chat", "as": "server", "faults": "faults: 1"}, &refused)
	if status != http.StatusBadRequest || !strings.Contains(refused.Error, "faults:1:9: faults is a list") {
		t.Errorf("%d %s", status, refused.Error)
	}
	stop()
}
