package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/simulator/console"
	"parley/simulator/proxy"
)

// simulating runs parley simulate until the test or stop ends it, and returns the lines that it prints, which must end
// with exit code 0.
func simulating(t *testing.T, args ...string) (line func() string, stop func()) {
	t.Helper()
	return simulatingTo(t, &bytes.Buffer{}, args...)
}

// simulatingTo is simulating, with what it prints on stderr in errs, complete after stop.
func simulatingTo(t *testing.T, errs *bytes.Buffer, args ...string) (line func() string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		root := rootCommand(&streams{In: strings.NewReader(""), Out: in, Err: errs})
		root.SetArgs(append([]string{"simulate"}, args...))
		err := root.ExecuteContext(ctx)
		_ = in.CloseWithError(io.EOF)
		done <- err
	}()
	lines := bufio.NewReader(out)
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("it ends with %v\n%s", err, errs.String())
		}
	}
	t.Cleanup(stop)
	return func() string {
		text, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("no line: %v\n%s", err, errs.String())
		}
		return strings.TrimSpace(text)
	}, stop
}

// asks makes a request of the API, and decodes the answer.
func asks(t *testing.T, client *http.Client, method, url, token string, body, into any) int {
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
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Fatalf("%s %s: %d: %v", method, url, res.StatusCode, err)
	}
	return res.StatusCode
}

// quickClient keeps no connection.
func quickClient(t *testing.T) *http.Client {
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestSimulate: a session with the bundled target begins at once, takes steps, and knows what can be played.
func TestSimulate(t *testing.T) {
	line, stop := simulating(t, "--protocol", "agent-select")
	api, client := line()+"/api/v1", quickClient(t)
	var judged console.Judged
	asks(t, client, "POST", api+"/sessions/1/steps", "", map[string]string{"text": "client A is connected"}, &judged)
	if judged.Status != "passed" {
		t.Errorf("judged: %+v", judged)
	}
	var all []console.Protocol
	asks(t, client, "GET", api+"/protocols", "", nil, &all)
	if len(all) != len(suite.Kinds()) {
		t.Errorf("protocols: %+v", all)
	}
	var clauses []console.Clause
	asks(t, client, "GET", api+"/clauses?protocol=agent-select", "", nil, &clauses)
	if len(clauses) < 50 || clauses[0].Text == "" || clauses[0].Source == "" {
		t.Errorf("%d clauses", len(clauses))
	}
	var mutants []console.Mutant
	asks(t, client, "GET", api+"/mutants?protocol=agent-select&q=AS-042", "", nil, &mutants)
	if len(mutants) == 0 || !strings.Contains(strings.Join(mutants[0].Clauses, " "), "AS-042") {
		t.Errorf("mutants: %+v", mutants)
	}
	var wrong struct{ Error string }
	if asks(t, client, "GET", api+"/clauses?protocol=x", "", nil, &wrong) != 400 ||
		!strings.HasPrefix(wrong.Error, `protocol: unknown protocol "x"`) {
		t.Errorf("an unknown protocol: %q", wrong.Error)
	}
	stop()
}

// TestSimulateToken: with a token and TLS nobody is let in without it.
func TestSimulateToken(t *testing.T) {
	cert, key := selfSigned(t)
	line, _ := simulating(t, "--token", "s3cret", "--tls-cert", cert, "--tls-key", key)
	url, client := line(), quickClient(t)
	if !strings.HasPrefix(url, "https://127.0.0.1:") {
		t.Errorf("it is at %s", url)
	}
	var wrong struct{ Error string }
	for _, token := range []string{"", "other"} {
		if asks(t, client, "GET", url+"/api/v1/sessions", token, nil, &wrong) != 401 || wrong.Error == "" {
			t.Errorf("token %q: %q", token, wrong.Error)
		}
	}
	var all []console.Session
	if status := asks(t, client, "GET", url+"/api/v1/sessions", "s3cret", nil, &all); status != 200 {
		t.Errorf("with the token: %d", status)
	}
}

// TestSimulateAs: the second line is where the party is reached, and a script may be a file.
func TestSimulateAs(t *testing.T) {
	text := "script: mine\nprotocol: agent-select\nas: server\nrules:\n- on: {request: GET /hello}\n" +
		"  answer: [{respond: 418, body: {short: true}}]\n"
	file := filepath.Join(t.TempDir(), "my.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	line, _ := simulating(t, "--as", "server", "--script", file)
	url, at := line(), line()
	client := quickClient(t)
	var s console.Session
	asks(t, client, "GET", url+"/api/v1/sessions/1", "", nil, &s)
	if s.As != "server" || s.Mind != "script" || s.Script != "mine" || s.Protocol != "agent-select" {
		t.Errorf("session: %+v", s)
	}
	var said map[string]any
	if status := asks(t, client, "GET", at+"/hello", "", nil, &said); status != http.StatusTeapot {
		t.Errorf("the party answers with %d", status)
	}
}

// TestFakeServer runs the tests of examples/fake-server, which have Parley as their server.
func TestFakeServer(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is not installed")
	}
	c := exec.CommandContext(t.Context(), python, "-m", "unittest", "-v")
	c.Dir = filepath.Join("..", "..", "examples", "fake-server")
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1") // parley is on the PATH of a test
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Ran 4 tests") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSimulateTargets: requests name URLs and files below the working directory, besides the target of the command
// line.
func TestSimulateTargets(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	outside := filepath.Join(t.TempDir(), "out.yaml")
	for _, name := range []string{filepath.Join(dir, "in.yaml"), outside} {
		if err := os.WriteFile(name, []byte("protocol: agent-select\nurl: http://localhost:1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	o := simulateOptions{target: "../named.yaml"}
	for target, refused := range map[string]bool{"": false, "in.yaml": false, "http://localhost:1": false, outside: true,
		"../out.yaml": true, "link.yaml": true, "file:///etc/page.html": true, "../named.yaml": false} {
		_, err := o.testOptions(console.TestOptions{Target: target})
		if got := err != nil && strings.Contains(err.Error(), "neither a URL nor a file below"); got != refused {
			t.Errorf("%q: %v, refused: want %v", target, err, refused)
		}
	}
}

// TestSimulateTo: before a server of one's own, what the program sends is held too.
func TestSimulateTo(t *testing.T) {
	line, stop := simulating(t, "--protocol", "session-chat", "--as", "server", "--mind", "ask",
		"--upstream", chatServer(t, ""))
	page, at := line(), line()
	c, _, err := websocket.Dial(t.Context(), at+"/chat/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	client, to := quickClient(t), []string{}
	for n := 1; n <= 2; n++ { // the message, and its answer
		one := heldBy(t, client, page+"/api/v1/sessions/1", n)
		to = append(to, one.To)
		var rest []console.HeldMessage
		url := fmt.Sprintf("%s/api/v1/sessions/1/held/%d", page, n)
		asks(t, client, "POST", url, "", map[string]string{"do": "send"}, &rest)
	}
	_, text, err := c.Read(t.Context())
	if got := strings.Join(to, ", "); err != nil || !strings.Contains(string(text), "pong") ||
		got != "message to the server, message" {
		t.Errorf("%q, %v; held for %q", text, err, to)
	}
	stop()
}

// TestSimulateToJudges: what passes to and from a server of one's own is judged while it passes, and the finding is at
// the record that shows it.
func TestSimulateToJudges(t *testing.T) {
	line, stop := simulating(t, "--protocol", "session-chat", "--as", "server", "--upstream",
		chatServer(t, "no-timestamp"))
	page, at := line(), line()
	runChatTurn(t, quickClient(t), at)
	found := findingOf(t, page+"/api/v1/sessions/1", "SC-044")
	var shown []console.Record
	asks(t, quickClient(t), "GET", fmt.Sprintf("%s/api/v1/sessions/1/records?after=%d&limit=1", page, found.At-1), "", nil,
		&shown)
	if found.At == 0 || len(shown) != 1 || shown[0].Dir != "sent" || shown[0].Kind != "frame" ||
		!slices.Contains(shown[0].Clauses, "SC-044") {
		t.Errorf("the finding %+v is at %+v", found, shown)
	}
	stop()
}

// TestSimulateToJudgesAgents: where the protocol has clauses of the client's side, the program is judged, too.
func TestSimulateToJudgesAgents(t *testing.T) {
	p, err := suite.Find("external-agent")
	if err != nil {
		t.Fatal(err)
	}
	roles, err := proxy.RolesOf(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &between{o: proxy.Options{Roles: roles}}
	if len(b.judgedRoles(proxy.Client)) != 1 || b.judgedRoles(proxy.Client)[0].Name != "agent" ||
		len(b.judgedRoles(proxy.Server)) != 1 {
		t.Errorf("roles: %+v and %+v", b.judgedRoles(proxy.Client), b.judgedRoles(proxy.Server))
	}
}

// TestSimulateSaysWhoIsJudged: a play says at its start in which role the program is judged, and that it is not.
func TestSimulateSaysWhoIsJudged(t *testing.T) {
	for _, row := range []struct{ as, told, finding string }{
		{"server", "parley: your program is judged as frontend by what it sends, on 7 clauses", ""},
		{"model", "parley: your program is not judged: no clause of session-chat is about what a model gets",
			"your program is not judged: no clause of session-chat is about what a model gets"},
	} {
		t.Run(row.as, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			out, in := io.Pipe()
			var errs bytes.Buffer
			done := make(chan error, 1)
			go func() {
				root := rootCommand(&streams{In: strings.NewReader(""), Out: in, Err: &errs})
				args := []string{"simulate", "--protocol", "session-chat", "--as", row.as}
				if row.as == model {
					args = append(args, "--script", "model")
				}
				root.SetArgs(args)
				err := root.ExecuteContext(ctx)
				_ = in.CloseWithError(io.EOF)
				done <- err
			}()
			page, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err, <-done, errs.String())
			}
			go func() { _, _ = io.Copy(io.Discard, out) }()
			var found []console.Failure
			asks(t, quickClient(t), "GET", strings.TrimSpace(page)+"/api/v1/sessions/1/findings", "", nil, &found)
			said := ""
			for _, f := range found {
				said += f.Observed
			}
			cancel()
			if err := <-done; err != nil || said != row.finding || !strings.Contains(errs.String(), row.told+"\n") {
				t.Errorf("%v, findings %+v, told %q", err, found, errs.String())
			}
		})
	}
}

// findingOf waits for a finding of a session.
func findingOf(t *testing.T, session, clause string) console.Failure {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, session+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := quickClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for lines, event := bufio.NewReader(res.Body), ""; ; {
		text, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		name, value, _ := strings.Cut(strings.TrimSpace(text), ": ")
		var f console.Failure
		switch {
		case name == "event":
			event = value
		case name == "data" && event == "finding" && json.Unmarshal([]byte(value), &f) == nil && f.Clause == clause:
			return f
		}
	}
}

// heldBy waits for a message that is held.
func heldBy(t *testing.T, client *http.Client, session string, n int) console.HeldMessage {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, session+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewReader(res.Body); ; {
		if _, err := lines.ReadString('\n'); err != nil { // each event is a reason to look
			t.Fatal(err)
		}
		var all []console.HeldMessage
		asks(t, client, "GET", session+"/held", "", nil, &all)
		for _, one := range all {
			if one.N == n {
				return one
			}
		}
	}
}

// TestPlayByDefault: the first party of each protocol can be played with nothing but its name, and what the API says
// about a mistake names no flag.
func TestPlayByDefault(t *testing.T) {
	line, _ := simulating(t)
	base := line() + "/api/v1"
	var all []console.Protocol
	asks(t, http.DefaultClient, "GET", base+"/protocols", "", nil, &all)
	if len(all) != len(suite.Kinds()) {
		t.Fatalf("the API offers %d protocols", len(all))
	}
	for _, p := range all {
		var s map[string]any
		body := map[string]string{"kind": "play", "protocol": p.ID, "as": p.As[0]}
		if status := asks(t, http.DefaultClient, "POST", base+"/sessions", "", body, &s); status != http.StatusCreated {
			t.Errorf("%s of %s: %d %v", p.As[0], p.ID, status, s["error"])
		}
		for _, wrong := range []map[string]string{{"as": "nobody"}, {"connect": "http://127.0.0.1:1"}, {"mutant": "none"},
			{"script": "none"}, {"mind": "script"}, {"to": "x"}, {"listen": "127.0.0.1:99999"}, {"protocol": "none"},
			{"kind": "test", "role": "none"}, {"kind": "test", "driver": "none"}, {"kind": "test", "target": "/none"},
			{"kind": "test", "protocol": "none"}, {"kind": "test", "target": "http://127.0.0.1:1", "driver": "stdio"}} {
			body := map[string]string{"kind": "play", "protocol": p.ID, "as": p.As[0]}
			maps.Copy(body, wrong)
			var told map[string]any
			status := asks(t, http.DefaultClient, "POST", base+"/sessions", "", body, &told)
			if text, _ := told["error"].(string); status < 400 || strings.Contains(text, "--") {
				t.Errorf("%v: %d %s", body, status, text)
			}
		}
	}
	for _, p := range all {
		for _, as := range p.Clients {
			body := map[string]string{"kind": "play", "protocol": p.ID, "as": as}
			var told map[string]any
			asks(t, http.DefaultClient, "POST", base+"/sessions", "", body, &told)
			if text, _ := told["error"].(string); !slices.Contains(p.Scripts, as) && !strings.HasPrefix(text, "connect: ") {
				t.Errorf("%s of %s: %v", as, p.ID, told)
			}
		}
	}
}

// TestRepeatClause: the command that the page gives for a failed clause judges that clause, against the same target.
func TestRepeatClause(t *testing.T) {
	for want, s := range map[string]console.Session{
		"parley run --protocol p --target http://h:1 --role r --driver sse --strict AS-042": {Kind: "test", Protocol: "p",
			Role: "r", Driver: "sse", Target: "http://h:1", URL: "http://127.0.0.1:5"},
		"parley run --protocol p --target http://h:1 --driver ws --strict AS-042": {Kind: "replay", Protocol: "p",
			Driver: "ws", URL: "http://h:1"},
		"parley simulate --protocol p --as agent --script 'a b' --connect ws://h:1": {Kind: "play", Protocol: "p",
			As: "agent", Script: "a b", Connects: true, URL: "ws://h:1"},
	} {
		if got := repeatClause(s, true, "AS-042"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestSimulateInterruptedEarly: an interrupt while a session begins ends it as any other does.
func TestSimulateInterruptedEarly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute))
	_, stop := simulating(t, "--console", "127.0.0.1:0", "--target", "http://"+l.Addr().String())
	c, err := l.Accept() // it asks which protocol this is, and gets no answer
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stop()
}
