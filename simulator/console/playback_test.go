package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/simulator/console"
)

// ask calls the API of a console, which must answer with success.
func ask(t testing.TB, method, url string, body any) []byte {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode > 299 {
		t.Fatalf("%s %s: %s %s %v", method, url, res.Status, got, err)
	}
	return got
}

// openPlay starts a play of the bundled server of agent-select, and returns its address in the API and its URL for
// programs.
func openPlay(t testing.TB, base string, more map[string]string) (at, url string) {
	t.Helper()
	body := map[string]string{"kind": "play", "protocol": "agent-select", "as": "server"}
	for name, value := range more {
		body[name] = value
	}
	var s console.Session
	if err := json.Unmarshal(ask(t, "POST", base+"/api/v1/sessions", body), &s); err != nil {
		t.Fatal(err)
	}
	return base + "/api/v1/sessions/" + s.ID, s.URL
}

// program is a client as a user would write it.
type program struct {
	t   testing.TB
	c   *websocket.Conn
	ctx context.Context
}

func connectProgram(t testing.TB, url string, path ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pageWithin)
	t.Cleanup(cancel)
	if path == nil {
		path = []string{"/agents/ws"}
	}
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+path[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	return &program{t, c, ctx}
}

func (p *program) sendMessage(format string, args ...any) {
	p.t.Helper()
	if err := p.c.Write(p.ctx, websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		p.t.Fatal(err)
	}
}

// readUntilType reads messages up to one of a type, and returns them.
func (p *program) readUntilType(typ string) (all []string) {
	p.t.Helper()
	for {
		_, b, err := p.c.Read(p.ctx)
		if err != nil {
			p.t.Fatalf("no %s: %v, after %s", typ, err, all)
		}
		all = append(all, string(b))
		var m struct{ Type string }
		if json.Unmarshal(b, &m) == nil && m.Type == typ {
			return all
		}
	}
}

var instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)

// talk runs two programs that overlap, and returns what each receives, with ids replaced by their places.
func talk(t *testing.T, url, id string) (heard []string) {
	a, b := connectProgram(t, url), (*program)(nil)
	hear := func(who *program, typ string) {
		t.Helper()
		for _, text := range who.readUntilType(typ) {
			if !instant.MatchString(text) {
				t.Errorf("no time in %s", text)
			}
			heard = append(heard, strings.ReplaceAll(instant.ReplaceAllString(text, "now"), id, "ID"))
		}
	}
	hear(a, "agent_list")
	b = connectProgram(t, url)
	hear(b, "agent_list")
	a.sendMessage(`{"type":"session_create","requestId":"%s-a"}`, id)
	hear(a, "session_created")
	b.sendMessage(`{"type":"session_create","requestId":"%s-b"}`, id)
	hear(b, "session_created")
	b.sendMessage(`{"type":"switch_agent","agentId":"debugger","requestId":"%s-3"}`, id)
	hear(b, "agent_switched")
	a.sendMessage(`{"type":"switch_agent","agentId":"no_such_agent","requestId":"%s-4"}`, id)
	hear(a, "error")
	return heard
}

// TestPlayback: the script saved from a session answers other programs, with other ids, as the target answered the
// first ones; each program receives only its own messages.
func TestPlayback(t *testing.T) {
	base := pageServer(t).URL
	at, url := openPlay(t, base, nil)
	want := talk(t, url, "first")
	saved := string(ask(t, "GET", at+"/script?name=saved", nil))
	if strings.Contains(saved, "first-") || instant.MatchString(saved) {
		t.Errorf("ids or times of the session are in\n%s", saved)
	}
	_, url = openPlay(t, base, map[string]string{"mind": "script", "script": saved})
	got := talk(t, url, "second-and-longer")
	if w, g := strings.Join(want, "\n"), strings.Join(got, "\n"); w != g || len(want) < 8 {
		t.Errorf("got\n%s\nwant\n%s\nby\n%s", g, w, saved)
	}
}

// TestPlaybackEnds: the script cuts a connection that was cut, and closes one that was closed.
func TestPlaybackEnds(t *testing.T) {
	base := pageServer(t).URL
	for how, want := range map[string]bool{"close": true, "cut": false} {
		at, url := openPlay(t, base, nil)
		p := connectProgram(t, url)
		p.readUntilType("agent_list")
		ask(t, "POST", at+"/hang", map[string]string{"party": "C1", "how": how})
		if _, _, err := p.c.Read(p.ctx); err == nil || (websocket.CloseStatus(err) != -1) != want {
			t.Errorf("%s: the program sees %v", how, err)
		}
		ask(t, "POST", at+"/wait", map[string]string{"text": "by the harness", "dir": ""})
		saved := string(ask(t, "GET", at+"/script", nil))
		_, url = openPlay(t, base, map[string]string{"mind": "script", "script": saved})
		again := connectProgram(t, url)
		again.readUntilType("agent_list")
		if _, _, err := again.c.Read(again.ctx); err == nil || (websocket.CloseStatus(err) != -1) != want {
			t.Errorf("%s is played as %v by\n%s", how, err, saved)
		}
	}
}
