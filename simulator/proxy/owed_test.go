package proxy_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/features/verdict"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// owesPongs is a protocol whose targets owe a pong for each ping.
type owesPongs struct{ steps.Protocol }

// Model implements steps.Modelled.
func (owesPongs) Model(_ string, o obligation.Observer) obligation.Model { return &pongs{observer: o} }

type pongs struct {
	observer obligation.Observer
	owed     []obligation.Entry
}

func (p *pongs) Take(r transcript.Record) {
	switch {
	case r.Dir == transcript.Sent && strings.Contains(string(r.Bytes), `"ping"`):
		p.owed = append(p.owed, obligation.Entry{What: "a pong", Clauses: []string{"SC-042"}, Record: r.N, Cause: "ping",
			Since: r.At})
	case r.Dir == transcript.Received && strings.Contains(string(r.Bytes), `"pong"`) && len(p.owed) > 0:
		p.owed = p.owed[1:]
	}
}

func (p *pongs) End()                        {}
func (p *pongs) Findings() []verdict.Finding { return nil }
func (p *pongs) Owing() []obligation.Entry {
	if p.observer != obligation.Foreign {
		return nil
	}
	return p.owed
}

// TestOwed: what a side of foreign traffic owes is listed until it passes, with the number of the record that is the
// cause. A protocol without a model owes nothing.
func TestOwed(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			if _, _, err := c.Read(r.Context()); err != nil {
				return
			}
			asked <- struct{}{}
			<-answer
			_ = c.Write(r.Context(), websocket.MessageText, []byte(`{"message_type":"pong"}`))
		}
	}))
	t.Cleanup(server.Close)
	o := options(t, "session-chat", server.URL, "server")
	o.Protocol = owesPongs{o.Protocol}
	s := openProxy(t, o, "")
	c := dial(t, s.URL()+socket)
	owed := func() []steps.Owed {
		s.Check()
		list, count := s.Owed()
		if len(list) != count {
			t.Errorf("%d of %d are listed", len(list), count)
		}
		return list
	}
	if list := owed(); len(list) > 0 {
		t.Errorf("before any ping %+v is owed", list)
	}
	sendText(t, c, `{"type":"ping"}`)
	<-asked
	list := owed()
	if len(list) != 1 || list[0].By != "server" || list[0].What != "a pong" || list[0].Record == 0 ||
		string(list[0].At.Bytes) != `{"type":"ping"}` {
		t.Fatalf("before the pong, %+v is owed", list)
	}
	answer <- struct{}{}
	readUntil(t, c, `"pong"`)
	if list := owed(); len(list) > 0 {
		t.Errorf("after the pong %+v is owed", list)
	}
	plain := openProxy(t, proxy.Options{Protocol: struct{ steps.Protocol }{o.Protocol}, Profile: o.Profile, Roles: o.Roles,
		To: o.To}, "")
	sendText(t, dial(t, plain.URL()+socket), `{"type":"ping"}`)
	<-asked
	plain.Check()
	if list, count := plain.Owed(); list != nil || count > 0 {
		t.Errorf("without a model %+v is owed", list)
	}
	answer <- struct{}{}
}

// TestPageOwes: at a gate a page owes its user the prompt for an error until the traffic goes on.
func TestPageOwes(t *testing.T) {
	says := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			_, _ = w.Write([]byte(`{"success":true}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for text := `{"type":"connected","data":{"connectionId":"c"}}`; ; {
			if _, err := w.Write([]byte("data: " + text + "\n\n")); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case text = <-says:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	s := openProxy(t, options(t, "agent-client", server.URL, "client"), "")
	req, err := http.NewRequestWithContext(boundedContext(t), http.MethodGet, s.URL()+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	page, err := unpooledClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = page.Body.Close() })
	lines := bufio.NewScanner(page.Body)
	reads := func(part string) {
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("no %s: %v", part, lines.Err())
	}
	reads("connected")
	says <- `{"type":"error","data":{"errorCode":"agent_busy","message":"m"}}`
	reads("agent_busy")
	s.Check()
	list, _ := s.Owed()
	if len(list) != 1 || list[0].By != "client" || !strings.HasPrefix(list[0].What, "a prompt for agent_busy") ||
		!slices.Contains(list[0].Clauses, "AC-073") || list[0].Record == 0 {
		t.Errorf("after an error %+v is owed", list)
	}
	says <- `{"type":"agent_list","data":{"agents":[{"id":"a","name":"A"}],"currentAgentId":"a"}}`
	reads("agent_list")
	s.Check()
	if list, _ := s.Owed(); len(list) > 0 {
		t.Errorf("after the next event %+v is owed", list)
	}
}
