package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"parley/target"
	wjson "parley/wire/json"
)

// decoded reads JSON as the probe does.
func decoded(t *testing.T, text string) any {
	t.Helper()
	v, _, err := wjson.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestReadGreeting(t *testing.T) {
	std := target.DefaultAgentSelect()
	const list = `[{"id":"general","name":"General","description":"all"},{"id":"poet","name":"Poet","description":"verse"}]`
	for _, tt := range []struct {
		name   string
		events [][2]string // event: field, data
		want   func(*target.AgentSelect)
		listed bool
	}{
		{"the default binding", [][2]string{
			{"", `{"type":"connected","data":{"connectionId":"c1"}}`},
			{"", `{"type":"agent_list","data":{"agents":` + list + `,"currentAgentId":null}}`},
		}, func(*target.AgentSelect) {}, true},
		{"an event: field beside it", [][2]string{
			{"connected", `{"type":"connected","data":{"connectionId":"c1"}}`},
			{"agent_list", `{"type":"agent_list","data":{"agents":` + list + `}}`},
		}, func(*target.AgentSelect) {}, true},
		{"types in the event: field", [][2]string{
			{"connected", `{"connectionId":"c1"}`},
			{"agent_list", `{"agents":` + list + `}`},
		}, func(a *target.AgentSelect) { a.Envelope.SSEEvent, a.Envelope.Type, a.Envelope.Data = true, "", "" }, true},
		{"flat objects, written with underscores", [][2]string{
			{"", `{"event":"hello","connection_id":"c1"}`},
			{"", `{"event":"agents","agent_list":[{"agent_id":"general","title":"General"}],"current_agent_id":"general"}`},
		}, func(a *target.AgentSelect) {
			a.Envelope.Type, a.Envelope.Data = "/event", ""
			a.Fields.Event.ConnectionID, a.Fields.Event.Agents, a.Fields.Event.CurrentAgentID = "/connection_id", "/agent_list", "/current_agent_id"
			a.Fields.Agent.ID, a.Fields.Agent.Name = "/agent_id", "/title"
			a.Events = map[string]string{"connected": "hello", "agent_list": "agents"}
		}, true},
		{"another protocol", [][2]string{{"", `{"type":"tick","data":{"n":1}}`}, {"", `[1,2]`}, {"", `"x"`}, {"", `{"items":[{"a":1}]}`}},
			func(*target.AgentSelect) {}, false},
		{"nothing", nil, func(*target.AgentSelect) {}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var events []said
			for _, ev := range tt.events {
				events = append(events, said{ev[0], decoded(t, ev[1])})
			}
			got, want := readGreeting(events), std
			tt.want(&want)
			if diff := cmp.Diff(want, got.wire); diff != "" {
				t.Errorf("wire: - want + got\n%s", diff)
			}
			if (got.listed != "") != tt.listed {
				t.Errorf("listed %q", got.listed)
			}
		})
	}
}

func TestFindSessionID(t *testing.T) {
	for _, tt := range []struct {
		answer string
		at     target.Pointer
		id     string
	}{
		{`{"success":true,"session":{"id":"s1"}}`, "/session/id", "s1"},
		{`{"sessionId":"s1","id":"other"}`, "/sessionId", "s1"},
		{`{"ok":true,"result":{"sid":"s1"}}`, "/result/sid", "s1"},
		{`{"id":"s1"}`, "/id", "s1"},
		{`{"request":"r","data":{"session":{"id":"s1"}}}`, "/data/session/id", "s1"},
		{`{"ok":true}`, "", ""},
		{`{"id":7}`, "", ""},
		{`[]`, "", ""},
	} {
		if at, id := findSessionID(decoded(t, tt.answer)); at != tt.at || id != tt.id {
			t.Errorf("%s: %q at %q, want %q at %q", tt.answer, id, at, tt.id, tt.at)
		}
	}
}

// TestDraft holds that whatever a server says, the draft is a profile that says what was found out.
func TestDraft(t *testing.T) {
	p, err := target.ForURL("http://127.0.0.1:3000/base")
	if err != nil {
		t.Fatal(err)
	}
	p.Drivers, p.Capabilities = []string{"ws", "sse"}, []string{target.Health}
	p.Agents.Default = "poet"
	p.Agents.Custom = []target.CustomAgent{{ID: "poet", Name: "a: \"b\" #c\n- d", Description: "诗人 \u2028 \u0000"}, {ID: "null"}}
	a := &p.AgentSelect
	a.Correlation = target.Correlation{Header: "X-Client-Id"}
	a.Envelope.SSEEvent, a.Envelope.Type, a.Envelope.Data = true, "", ""
	a.Fields.Event.ConnectionID, a.Fields.Answer.SessionID, a.Fields.Agent.ID = "/a b", "/x~1y/0", "/agent_id"
	a.Events = map[string]string{"connected": "hello: you", "agent_list": "*"}
	text := draft(p, map[string][]string{"drivers": {"a\nurl: http://evil\x00\u2028"}, "answer": {"# x"}})

	got, err := target.Parse([]byte(text), "draft.yaml", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Errorf("- found + read\n%s\n%s", diff, text)
	}
	for _, key := range hinted {
		if !strings.Contains(text, "\n"+key) {
			t.Errorf("no hint about %s", key)
		}
	}
}

// odd is a server with a wire of its own: types in event: fields, names with underscores, and a header that names the
// connection; or, when it cannot tell connections apart, none.
type odd struct {
	single bool
	mu     sync.Mutex
	conns  []chan string
	agents map[int]string
}

func (o *odd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/events":
		o.stream(w, r)
	case "/session/create":
		n := o.conn(r)
		if n < 0 {
			http.Error(w, `{"ok":false}`, http.StatusBadRequest)
			return
		}
		o.mu.Lock()
		o.agents[n] = "general"
		o.mu.Unlock()
		fmt.Fprintf(w, `{"ok":true,"result":{"sid":"s%d"}}`, n)
	case "/message":
		o.message(w, r)
	default:
		http.NotFound(w, r)
	}
}

// conn is the number of the connection that a request belongs to; -1 for none.
func (o *odd) conn(r *http.Request) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.single {
		return len(o.conns) - 1
	}
	var n int
	if _, err := fmt.Sscanf(r.Header.Get("X-Client-Id"), "c%d", &n); err != nil || n >= len(o.conns) {
		return -1
	}
	return n
}

func (o *odd) stream(w http.ResponseWriter, r *http.Request) {
	events := make(chan string, 10)
	o.mu.Lock()
	n := len(o.conns)
	o.conns = append(o.conns, events)
	o.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: welcome\ndata: {\"client_id\":\"c%d\"}\n\n", n)
	fmt.Fprint(w, "event: agent_list\ndata: {\"agents\":[{\"id\":\"general\"},{\"id\":\"debugger\"},{\"id\":\"poet\"}]}\n\n")
	w.(http.Flusher).Flush()
	for {
		select {
		case ev := <-events:
			fmt.Fprint(w, ev)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (o *odd) message(w http.ResponseWriter, r *http.Request) {
	var m struct {
		AgentID string `json:"agentId"`
	}
	n := o.conn(r)
	if err := json.UnmarshalRead(r.Body, &m); err != nil || n < 0 {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conns[n] <- fmt.Sprintf("event: agent_switched\ndata: {\"previousAgentId\":%q,\"currentAgentId\":%q}\n\n", o.agents[n], m.AgentID)
	o.agents[n] = m.AgentID
}

func TestInitOfAnOddServer(t *testing.T) {
	for _, single := range []bool{false, true} {
		srv := httptest.NewServer(&odd{single: single, agents: map[int]string{}})
		defer srv.Close()
		var said strings.Builder
		path := filepath.Join(t.TempDir(), "odd.yaml")
		s := &streams{Out: &said, Err: &said}
		if err := initialise(context.Background(), []string{srv.URL}, initOptions{protocol: target.Default().Protocol, out: path}, s); err != nil {
			t.Fatalf("%v\n%s", err, said.String())
		}
		p, err := target.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		want := target.Correlation{Header: "X-Client-Id"}
		if single {
			want = target.Correlation{Single: true}
		}
		if p.AgentSelect.Correlation != want {
			t.Errorf("correlation %+v, want %+v\n%s", p.AgentSelect.Correlation, want, said.String())
		}
		if told := strings.Contains(said.String(), "breaks AS-095 already"); told != single {
			t.Errorf("that it guesses whose switch it is: told %v, want %v\n%s", told, single, said.String())
		}
		if a := p.AgentSelect; !a.Envelope.SSEEvent || a.Fields.Answer.SessionID != "/result/sid" || a.Fields.Answer.Success != "/ok" ||
			a.Fields.Event.ConnectionID != "/client_id" || a.EventName("connected") != "welcome" {
			text, _ := os.ReadFile(path)
			t.Errorf("the wire is not what it was\n%s\n%s", text, said.String())
		}
	}
}
