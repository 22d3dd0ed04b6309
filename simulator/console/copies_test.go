package console

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
	"time"

	"parley/transport/transcript"
)

// TestCopies: the forms of what a party sent can be sent again, and there is none where it could not: the other
// direction, a part, and what has no such form.
func TestCopies(t *testing.T) {
	c, _ := serve(t)
	head := `{"parley":"recording","version":1,"protocol":"agent-select","role":"server","driver":"sse",` +
		`"url":"http://localhost:3000/"}` + "\n" +
		`{"n":1,"at_ms":0,"party":"A","dir":"sent","kind":"open","label":"GET /events"}` + "\n"
	line := func(dir, kind, label, more string) string {
		return `{"n":2,"at_ms":0,"party":"A","dir":"` + dir + `","kind":"` + kind + `","label":"` + label + `"` + more + "}\n"
	}
	ping := `,"text":"{\"type\":\"ping\"}"`
	for _, row := range []struct{ reason, record, connect, curl, step string }{
		{"a request", line("sent", "request", "POST /message", ping), `A> POST /message {"type":"ping"}`,
			`curl -sS 'http://localhost:3000/message' -H 'Content-Type: application/json' --data-binary '{"type":"ping"}'`,
			"    When A sends raw:\n      \"\"\"\n      POST /message {\"type\":\"ping\"}\n      \"\"\"\n"},
		{"a request with its type", line("sent", "request", "DELETE /a abort", ""), "A> DELETE /a ",
			`curl -sS -X DELETE 'http://localhost:3000/a'`,
			"    When A sends raw:\n      \"\"\"\n      DELETE /a \n      \"\"\"\n"},
		{"a stream", line("sent", "open", "GET /events?x=1", ""), "",
			`curl -sS -N -H 'Accept: text/event-stream' 'http://localhost:3000/events?x=1'`, ""},
		{"a frame", line("sent", "frame", "ping", ping), `A> {"type":"ping"}`, "",
			"    When A sends raw:\n      \"\"\"\n      {\"type\":\"ping\"}\n      \"\"\"\n"},
		{"lines", line("sent", "frame", "x", `,"text":"a\nb"`), "", "",
			"    When A sends raw:\n      \"\"\"\n      a\n      b\n      \"\"\"\n"},
		{"bytes", line("sent", "frame", "x", `,"base64":"/w=="`), "", "",
			"    When A sends raw base64:\n      \"\"\"\n      /w==\n      \"\"\"\n"},
		{"a quote", line("sent", "request", "PUT /a'b", `,"text":"it's"`), "A> PUT /a'b it's",
			`curl -sS -X PUT 'http://localhost:3000/a'\''b' --data-binary 'it'\''s'`,
			"    When A sends raw:\n      \"\"\"\n      PUT /a'b it's\n      \"\"\"\n"},
		{"the upgrade of a WebSocket", line("sent", "open", "GET /ws (upgrade)", ""), "", "", ""},
		{"a part", line("sent", "frame", "ping", ping+`,"cut":7`), "", "", ""},
		{"an answer", line("received", "response", "200 OK", ping+`,"to":1`), "", "", ""},
		{"a message of the target", line("received", "frame", "ping", ping), "", "", ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			c := &client{t, c.url, c.http}
			s := do[Session](c, 201, "POST", "/sessions", m{"kind": "replay", "recording": head + row.record})
			at := "/sessions/" + s.ID + "/copies"
			got := do[Copies](c, 200, "GET", at+"?n=2", nil)
			if want := (Copies{row.connect, row.curl, row.step}); got != want {
				t.Errorf("got\n%+v, want\n%+v", got, want)
			}
			c.wantRefusal(404, "GET", at+"?n=3", nil, "there is no record 3")
		})
	}
}

// TestCopiesCurl: a shell that runs the command sends the same request.
func TestCopiesCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	type request struct{ method, path, media, body string }
	came := make(chan request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- request{r.Method, r.RequestURI, r.Header.Get("Content-Type"), string(body)}
	}))
	defer server.Close()
	text, _ := json.Marshal(map[string]string{"text": "it's \\ \"$HOME\" `x`\n"})
	r := transcript.Record{Kind: transcript.Request, Bytes: text}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", curl(r, server.URL+"/m?a=b&c='", "POST"))
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := <-came, (request{"POST", "/m?a=b&c='", "application/json", string(text)}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
