package cli

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// selfSigned writes a certificate for loopback, and its key.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret)
}

// serving returns the offer for a protocol in a role ("": the first) with the given flags.
func serving(t *testing.T, protocol, role string, args ...string) *offer {
	t.Helper()
	for _, one := range offersOf(*bundle.Find(protocol)) {
		if one.role.Name == role || role == "" {
			if err := one.flags.Parse(args); err != nil {
				t.Fatal(err)
			}
			return one
		}
	}
	t.Fatalf("nothing serves %s in the role %q", protocol, role)
	return nil
}

// TestServe: a server with TLS and a token admits clients with the token, and stops although connections are open.
func TestServe(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, *http.Client, string) io.Closer{
		"agent-select": opensStream, "agent-client": opensPage, "session-chat": opensSocket, "session-runtime": opensBus,
		"external-agent": joins, "external-agent relay": joins,
	} {
		protocol, role, _ := strings.Cut(name, " ")
		t.Run(name, func(t *testing.T) { testServe(t, protocol, role, connect) })
	}
}

// joins opens the socket of a relay, and joins a relay session.
func joins(t *testing.T, client *http.Client, url string) io.Closer {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), url+"/agent/ws?token=s3cret", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	const join = `{"v":"mvp-0.2","type":"relay.join","id":"1","payload":{"role":"agent","sessionId":"default"}}`
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(join)); err != nil {
		t.Fatal(err)
	}
	if _, said, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(said), `"relay.joined"`) {
		t.Errorf("a join is answered by %q, %v", said, err)
	}
	return closer(conn.CloseNow)
}

// opensStream opens the stream of an agent-select server.
func opensStream(t *testing.T, client *http.Client, url string) io.Closer {
	t.Helper()
	res, err := client.Get(url + "/events?token=s3cret")
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || !strings.Contains(line, `"connected"`) {
		t.Errorf("the stream begins with %q, %v", line, err)
	}
	return res.Body
}

// opensPage opens a page with a browser's cookie jar, the files it loads, and the stream of the server beside it.
func opensPage(t *testing.T, client *http.Client, url string) io.Closer {
	t.Helper()
	var err error
	if client.Jar, err = cookiejar.New(nil); err != nil {
		t.Fatal(err)
	}
	gets(t, client, url+"/?token=s3cret", "mainAgentSelect")
	gets(t, client, url+"/app.js", "makeConnection") // no token needed after the page was opened
	gets(t, client, url+"/health", "{")
	return opensStream(t, &http.Client{Transport: client.Transport}, url)
}

// gets requests a URL, and checks that the body contains a word.
func gets(t *testing.T, client *http.Client, url, want string) {
	t.Helper()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); res.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
		t.Errorf("%s: %s, %v; %q is not in\n%.200s", url, res.Status, err, want, body)
	}
}

// opensSocket opens the socket of a session-chat server, and starts a chat.
func opensSocket(t *testing.T, client *http.Client, url string) io.Closer {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), url+"/chat/ws?token=s3cret", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(t.Context(), websocket.MessageText,
		[]byte(`{"type":"chat","agent_id":"a","content":"Hello"}`)); err != nil {
		t.Fatal(err)
	}
	if _, said, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(said), `"system"`) {
		t.Errorf("a chat is answered by %q, %v", said, err)
	}
	return closer(conn.CloseNow)
}

// opensBus opens the socket of an orchestrator, and sets up a session.
func opensBus(t *testing.T, client *http.Client, url string) io.Closer {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), url+"/bus/ws?token=s3cret", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(t.Context(), websocket.MessageText,
		[]byte(`{"parley":"setup","session_id":"s","agents":["a"],"active_agent_id":"a"}`)); err != nil {
		t.Fatal(err)
	}
	if _, said, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(said), `"ready"`) {
		t.Errorf("a set-up frame is answered by %q, %v", said, err)
	}
	return closer(conn.CloseNow)
}

type closer func() error

func (c closer) Close() error { return c() }

func testServe(t *testing.T, protocol, role string, connect func(*testing.T, *http.Client, string) io.Closer) {
	cert, key := selfSigned(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	one := serving(t, protocol, role)
	o := serveOptions{addr: "127.0.0.1:0", token: "s3cret", cert: cert, key: key}
	go func() { ended <- one.serveUntilDone(ctx, o, &streams{Out: stdout, Err: io.Discard}) }()
	told := bufio.NewReader(out)
	url, err := told.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, told)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	url = strings.TrimSpace(url)
	refused, err := client.Get(url + "/health")
	if err != nil {
		t.Fatal(err)
	}
	refused.Body.Close()
	if refused.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %s", refused.Status)
	}
	defer connect(t, client, url).Close()

	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it has not ended")
	}
}

func TestGuard(t *testing.T) {
	var seen *http.Request
	h := requireToken("s3cret", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	for _, tt := range []struct {
		name, url, auth string
		method          string
		header          string
		want            int
	}{
		{name: "no token", url: "/events", want: 401},
		{name: "the token", url: "/events", auth: "Bearer s3cret", want: 200},
		{name: "any case of the scheme", url: "/events", auth: "bearer s3cret", want: 200},
		{name: "another token", url: "/events", auth: "Bearer s3cre", want: 401},
		{name: "another scheme", url: "/events", auth: "Basic s3cret", want: 401},
		{name: "in the query", url: "/events?a=1&token=s3cret", want: 200},
		{name: "another in the query", url: "/events?token=x", want: 401},
		{name: "empty in the query", url: "/events?token=", want: 401},
		{name: "a header counts before the query", url: "/events?token=s3cret", auth: "Bearer x", want: 401},
		{name: "preflight", url: "/message", method: "OPTIONS", header: "Access-Control-Request-Method", want: 200},
		{name: "OPTIONS alone", url: "/message", method: "OPTIONS", want: 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen = nil
			r := httptest.NewRequest(tt.method, tt.url, nil)
			if tt.auth != "" {
				r.Header.Set("Authorization", tt.auth)
			}
			if tt.header != "" {
				r.Header.Set(tt.header, "POST")
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.want || (seen != nil) != (tt.want == 200) {
				t.Fatalf("HTTP %d, want %d", w.Code, tt.want)
			}
			if seen != nil && (seen.URL.Query().Has("token") || seen.Header.Get("Authorization") != "") {
				t.Errorf("the token goes on: %v %v", seen.URL, seen.Header)
			}
		})
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.3.2.1": true, "::1": true, "localhost": true,
		"": false, "0.0.0.0": false, "::": false, "192.168.1.2": false, "example.org": false, "localhost.example.org": false,
	} {
		if got := isLoopback(host); got != want {
			t.Errorf("loopback(%q) = %v", host, got)
		}
	}
}

// TestServeStdio: an orchestrator on stdin and stdout answers there, and an interrupt ends it regularly while its
// stdin is open.
func TestServeStdio(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, stdin := io.Pipe()
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	one := serving(t, "session-runtime", "", "--stdio")
	go func() {
		ended <- one.serveUntilDone(ctx, serveOptions{}, &streams{In: in, Out: stdout, Err: io.Discard})
	}()
	if _, err := io.WriteString(stdin, `{"parley":"setup","session_id":"s","agents":["a"]}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil ||
		line != `{"parley":"ready","session_id":"s"}`+"\n" {
		t.Errorf("a set-up frame is answered by %q, %v", line, err)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it has not ended")
	}
}
