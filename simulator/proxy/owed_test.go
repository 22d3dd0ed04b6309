package proxy_test

import (
	"net/http"
	"net/http/httptest"
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
