package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/features/verdict"
	"parley/simulator/console"
)

// TestProxyConsole: the page of a proxy shows what passes with its judgements, and holds messages. What was edited
// there is not blamed on the server. The end of the session lets everything pass.
func TestProxyConsole(t *testing.T) {
	out := t.TempDir()
	recording := filepath.Join(out, "passed.jsonl")
	p := startProxy(t, "--protocol", "session-chat", "--target", chatServer(t, "no-timestamp"), "--out", out, "--record",
		recording, "--console", "127.0.0.1:0", "--console-token", "open-sesame")
	at, page := p.url(), p.url()
	session := page + "/api/v1/sessions/1"
	if res, err := quickClient(t).Get(session); err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Fatalf("without the token: %v, %v", res, err)
	} else {
		_ = res.Body.Close()
	}
	client := &http.Client{Transport: carrying{quickClient(t).Transport, "open-sesame"}}
	runChatTurn(t, quickClient(t), at)
	var marks []console.Outcome
	asks(t, client, "GET", session+"/outcomes", "", nil, &marks)
	var found []console.Failure
	asks(t, client, "GET", session+"/findings", "", nil, &found)
	broken := func(f console.Failure) bool { return f.Clause == "SC-044" && f.At > 0 }
	failed := console.Outcome{Clause: "SC-044", Outcome: verdict.Failed}
	if !slices.ContainsFunc(found, broken) || !slices.Contains(marks, failed) ||
		!slices.ContainsFunc(marks, func(o console.Outcome) bool { return o.Outcome == verdict.Passed }) {
		t.Errorf("outcomes %+v, findings %+v", marks, found)
	}
	var shown console.Session
	asks(t, client, "PUT", session+"/mind", "", map[string]any{"mind": "ask", "types": []string{"pong"}}, &shown)
	if shown.Role != "server" || shown.Judges == 0 || shown.URL != at {
		t.Errorf("the session is %+v", shown)
	}
	c, _, err := websocket.Dial(t.Context(), at+"/chat/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if got := pings(t, c, func() {
		held := heldBy(t, client, session, 1)
		var rest []console.HeldMessage
		edit := map[string]string{"do": "send", "body": `{"type":"pang"}`}
		asks(t, client, "POST", session+"/held/1", "", edit, &rest)
		if held.Type != "pong" || held.Party != "C2" {
			t.Errorf("held: %+v", held)
		}
	}); got != `{"type":"pang"}` {
		t.Errorf("after the edit: %s", got)
	}
	removes(t, client, session)
	if got := pings(t, c, func() {}); !strings.Contains(got, `"pong"`) {
		t.Errorf("after the session: %s", got)
	}
	p.stop()
	if _, code := p.awaitEnd(); code != 1 {
		t.Errorf("exit %d\n%s", code, p.stderrText())
	}
	text, err := os.ReadFile(recording)
	if err != nil || strings.Contains(string(text), "pang") || strings.Count(string(text), `\"pong\"`) != 2 {
		t.Errorf("the recording has what the server did not send: %v\n%s", err, text)
	}
}

// removes deletes a session.
func removes(t *testing.T, client *http.Client, session string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, session, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode >= 300 {
		t.Fatalf("DELETE: %s", res.Status)
	}
}

// pings sends a ping, has something done, and returns the answer.
func pings(t *testing.T, c *websocket.Conn, then func()) string {
	t.Helper()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	then()
	_, text, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// carrying sends requests with a token.
type carrying struct {
	http.RoundTripper
	token string
}

// RoundTrip implements http.RoundTripper.
func (c carrying) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+c.token)
	return c.RoundTripper.RoundTrip(r)
}

// TestProxyConsoleDoor: other machines reach the page only with a token and TLS.
func TestProxyConsoleDoor(t *testing.T) {
	for _, one := range []struct {
		o    proxyOptions
		want string // "": admitted
	}{
		{proxyOptions{console: "127.0.0.1:0"}, ""},
		{proxyOptions{console: "0.0.0.0:0"}, "other machines could reach it"},
		{proxyOptions{console: "0.0.0.0:0", token: "of clients", cert: "c", key: "k"}, "other machines could reach it"},
		{proxyOptions{console: "0.0.0.0:0", consoleKey: "t", cert: "c", key: "k"}, ""},
		{proxyOptions{console: "0.0.0.0:0", remote: true}, ""},
		{proxyOptions{console: "8125"}, "--console: "},
		{proxyOptions{consoleKey: "t"}, "there is no --console"},
	} {
		_, err := one.o.consoleDoor()
		if got := err != nil; got != (one.want != "") || got && !strings.Contains(err.Error(), one.want) {
			t.Errorf("%+v: %v, want %q", one.o, err, one.want)
		}
	}
}
