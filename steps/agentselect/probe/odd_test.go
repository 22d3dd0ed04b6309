package probe_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"parley/internal/probetest"
	"parley/steps/agentselect"
	"parley/steps/agentselect/binding"
)

// odd is a server with its own wire: types in event: fields, names with underscores, and a header that identifies the
// connection, or none if single.
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

// conn returns the number of a request's connection; -1 for none.
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
	fmt.Fprintf(w, "event: agent_list\ndata: %s\n\n", `{"agents":[{"id":"general"},{"id":"debugger"},{"id":"poet"}]}`)
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
	data := fmt.Sprintf(`{"previousAgentId":%q,"currentAgentId":%q}`, o.agents[n], m.AgentID)
	o.conns[n] <- "event: agent_switched\ndata: " + data + "\n\n"
	o.agents[n] = m.AgentID
}

func TestProbeOfAnOddServer(t *testing.T) {
	for _, single := range []bool{false, true} {
		srv := httptest.NewServer(&odd{single: single, agents: map[int]string{}})
		defer srv.Close()
		p, said := probetest.Profile(t, agentselect.Protocol{}, srv.URL)
		want := binding.Correlation{Header: "X-Client-Id"}
		if single {
			want = binding.Correlation{Single: true}
		}
		if binding.Of(p).Correlation != want {
			t.Errorf("correlation %+v, want %+v\n%s", binding.Of(p).Correlation, want, said)
		}
		a := binding.Of(p)
		if f := a.Fields; !a.Envelope.SSEEvent || f.Answer.SessionID != "/result/sid" || f.Answer.Success != "/ok" ||
			a.Fields.Event.ConnectionID != "/client_id" || a.EventName("connected") != "welcome" {
			t.Errorf("the wire is not what it was\n%+v\n%s", a, said)
		}
	}
}
