package console

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/transport/transcript"
)

// TestMindOfTypes: a mind is for types that messages can have: those of the protocol, and those that came.
func TestMindOfTypes(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.offer)
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "play", "protocol": "agent-select", "as": "server"})
	at := "/sessions/" + s.ID + "/mind"
	asks := func(types ...string) m { return m{"mind": "ask", "types": types} }
	similar := c.wantRefusal(400, "PUT", at, asks("agent_swtched"), `did you mean "agent_switched"?`).Similar
	if len(similar) == 0 || similar[0] != "agent_switched" {
		t.Errorf("similar: %q", similar)
	}
	c.wantRefusal(400, "PUT", at, asks("agent_switched", "x"),
		`no message of agent-select has the type "x" (types are abort, `)
	if f.has("mind ask [agent_switched x]") {
		t.Error("one mistyped type of two is passed over")
	}
	do[Session](c, 200, "PUT", at, asks("agent_switched", "message", ""))
	f.t.Append(transcript.Record{Conn: "C1", Dir: transcript.Received, Kind: transcript.Frame,
		Bytes: []byte(`{"type":"x"}`)})
	do[Session](c, 200, "PUT", at, asks("x"))

	for _, free := range [][2]string{{"session-runtime", "orchestrator"}, {"agent-select", "model"}} {
		s := do[Session](c, 201, "POST", "/sessions", m{"kind": "play", "protocol": free[0], "as": free[1]})
		do[Session](c, 200, "PUT", "/sessions/"+s.ID+"/mind", asks("text.message"))
	}
}

// TestAmbiguous: a body that lacks what is required, or says one thing twice, changes nothing.
func TestAmbiguous(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.offer)
	at := "/sessions/" + do[Session](c, 201, "POST", "/sessions", m{"kind": "play"}).ID
	f.hold(Held{N: 1, Body: []byte("held")})
	told := len(f.told)
	c.wantRefusal(400, "POST", at+"/held/1", m{"do": "send", "body": "x", "instead": []string{"y"}}, "give one of them")
	c.wantRefusal(400, "POST", at+"/held/1", m{"do": "send", "body": "x", "base64": "eA=="}, "give one of them")
	c.wantRefusal(400, "PUT", at+"/mutant", m{}, "mutant is missing from the body")
	c.wantRefusal(400, "PUT", at+"/script", m{}, "script is missing from the body")
	if len(f.told) != told {
		t.Errorf("the player was told %q", f.told[told:])
	}
}

// TestMethods: a method that a path does not have is refused as such, with those that it has.
func TestMethods(t *testing.T) {
	c, _ := serve(t)
	for _, row := range []struct {
		method, path, allow string
		status              int
	}{
		{"PATCH", "/sessions", "GET, POST", 405},
		{"GET", "/sessions/1/mind", "PUT", 405},
		{"POST", "/sessions/1/script", "GET, PUT", 405},
		{"DELETE", "/openapi.yaml", "GET", 405},
		{"GET", "/none", "", 404},
		{"PUT", "/sessions/1/none", "", 404},
	} {
		req, err := http.NewRequestWithContext(t.Context(), row.method, c.url+prefix+row.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if allow := res.Header.Get("Allow"); res.StatusCode != row.status || allow != row.allow ||
			!strings.HasPrefix(string(body), `{"error":"`) {
			t.Errorf("%s %s: %d, Allow %q: %s", row.method, row.path, res.StatusCode, allow, body)
		}
	}
}
