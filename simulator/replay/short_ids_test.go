package replay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/protocol/messages"
)

// counting is a server whose ids are counters, with a few random letters or without. It knows no ids but its own.
func counting(t *testing.T, from int64, letters string) string {
	t.Helper()
	var drawn atomic.Int64
	drawn.Store(from)
	draw := func(kind string) string { return fmt.Sprint(kind, "_", drawn.Add(1), letters) }
	conn, session := draw("conn"), draw("sess")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"type\":\"connected\",\"data\":{\"connectionId\":%q}}\n\n", conn)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		body := map[string]string{}
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodDelete && r.URL.Path == "/session/"+session:
			fmt.Fprint(w, `{"success":true}`)
		case body["connectionId"] != conn:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":"no connection %s"}`, body["connectionId"])
		default:
			fmt.Fprintf(w, `{"success":true,"of":%q,"session":{"id":%q},"load":%d}`, "for "+conn, session, from)
		}
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return web.URL
}

// counted is a recording of such a server.
func counted(conn, session string) string {
	text := head + `{"n":1,"at_ms":0,"party":"A","dir":"sent","kind":"open","label":"GET /events"}
{"n":2,"at_ms":0,"party":"A","dir":"received","kind":"open","status":200,"type":"text/event-stream","to":1}
{"n":3,"at_ms":0,"party":"A","dir":"received","kind":"event","type":"message","text":"{\"type\":\"connected\",` +
		`\"data\":{\"connectionId\":\"CONN\"}}"}
{"n":4,"at_ms":0,"party":"A","dir":"sent","kind":"request","label":"POST /session/create",` +
		`"text":"{\"connectionId\":\"CONN\"}"}
{"n":5,"at_ms":0,"party":"A","dir":"received","kind":"response","status":200,"type":"application/json",` +
		`"text":"{\"success\":true,\"of\":\"for CONN\",\"session\":{\"id\":\"SESS\"},\"load\":0}","to":4}
{"n":6,"at_ms":0,"party":"A","dir":"sent","kind":"request","label":"DELETE /session/SESS"}
{"n":7,"at_ms":0,"party":"A","dir":"received","kind":"response","status":200,"type":"application/json",` +
		`"text":"{\"success\":true}","to":6}
`
	return strings.NewReplacer("CONN", conn, "SESS", session).Replace(text)
}

// TestShortIDs checks that ids which the protocol knows by the names of their members are mapped whatever they look
// like, and what is said of a number that nothing is known of.
func TestShortIDs(t *testing.T) {
	o := Options{Messages: messages.For("agent-select")}
	for _, c := range []struct {
		reason, conn, session string
		from                  int64
		letters               string
		want                  []string // what may be ignored
	}{
		{"the same again", "conn_1", "sess_2", 0, "", nil},
		{"few random letters", "conn_4mmagc6", "sess_5blhxtj", 0, "axqdl", nil},
		{"another length", "conn_4mmagc6", "sess_7209uahtk", 0, "xqd", nil},
		{"counters that went on", "conn_1", "sess_2", 8, "", []string{"/load"}},
		{"counters that began again", "conn_3", "sess_4", 1, "", []string{"/load"}},
	} {
		var maybe []string
		o.Differs = func(d Difference) {
			for _, one := range d.Maybe {
				maybe = append(maybe, one.String())
			}
			if len(d.Places) != len(c.want) {
				t.Errorf("%s: %s", c.reason, d)
			}
		}
		o.URL = counting(t, c.from, c.letters)
		result, err := PlayClient(t.Context(), reader(t, counted(c.conn, c.session)), o)
		if err != nil || result.Differences != len(c.want) {
			t.Errorf("%s: %+v %v", c.reason, result, err)
		}
		if diff := cmp.Diff(c.want, maybe); diff != "" {
			t.Errorf("%s:\n%s", c.reason, diff)
		}
	}
}

// TestRenamedIDs checks that ids in members that a profile has renamed are mapped too, and the agents' are not.
func TestRenamedIDs(t *testing.T) {
	set := messages.For("agent-select").WithIDs(map[string]string{"/conn": "connectionId", "/id": "sessionId"})
	i := newIDs()
	for _, row := range []struct{ recorded, came, want string }{
		{`{"kind":"hello","conn":"c1"}`, `{"kind":"hello","conn":"c22"}`, ""},
		{`{"id":"s1"}`, `{"id":"s22"}`, ""},
		{`{"agents":[{"id":"a1"}]}`, `{"agents":[{"id":"a2"}]}`, "/agents/0/id"},
	} {
		c := comparison{ids: i}
		var got string
		for _, p := range c.compareMessages(rules{set: set}.decodeRecord(frame(row.recorded)),
			rules{set: set}.decodeRecord(frame(row.came))) {
			got += p.At
		}
		if got != row.want {
			t.Errorf("%s: %q", row.recorded, got)
		}
	}
	m := rules{set: set}.readFrom(frame(`{"conn":"c1","sessionId":"s1","agentId":"s1"}`), messages.Client)
	if got := string(i.outgoingMessage(m)); got != `{"agentId":"s1","conn":"c22","sessionId":"s22"}` {
		t.Error(got)
	}
}
