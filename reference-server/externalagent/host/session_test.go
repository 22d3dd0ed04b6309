package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// A second session begins like the first.
func TestReset(t *testing.T) {
	p := startParty(t, Options{})
	first := p.start()
	before := p.snapshot()
	p.goToStage(proto.SeatStage)
	p.callAndRead(proto.Sort, object{"attribute": "zone", "order": "desc"})
	p.callAndRead(proto.PostMessage, object{"text": "remember me"})
	if ended := p.end(); ended["stateReset"] != true || ended["sessionId"] != first ||
		ended["logFile"] != "logs/study/"+first+".jsonl" {
		t.Errorf("%v", ended)
	}
	second := p.start()
	if second == first {
		t.Error("the same id again")
	}
	after := p.snapshot()
	before["sessionId"] = second
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("not reset:\n%s", diff)
	}
}

// The session survives its connection and continues where it was.
func TestReconnect(t *testing.T) {
	p := startParty(t, Options{})
	p.start()
	p.callAndRead(proto.Select, object{"itemId": "m1"})
	before := p.snapshot()
	p.reconnect()
	if diff := cmp.Diff(before, p.snapshot()); diff != "" {
		t.Errorf("lost:\n%s", diff)
	}
	if spec(p.callAndRead(proto.Next, object{}))["stage"] != proto.TheaterStage {
		t.Error("the choice is lost")
	}
	if err := p.h.Serve(t.Context(), newPipe()); !errors.Is(err, ErrServing) {
		t.Error(err)
	}
}

// Participant input while no agent is connected is in the next snapshot, but is not sent.
func TestSayUnconnected(t *testing.T) {
	h, err := New(Options{Logs: t.TempDir(), Now: february})
	if err != nil {
		t.Fatal(err)
	}
	p := &party{t: t, h: h}
	p.connect()
	p.start()
	close(p.conn.ended)
	<-p.done
	if err := h.Say("hello?"); err != nil {
		t.Error(err)
	}
	p.connect()
	if got := history(p.snapshot()); len(got) != 1 || got[0] != "user: hello?" {
		t.Errorf("%v", got)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := <-p.done; !errors.Is(err, ErrClosed) {
		t.Errorf("serve: %v", err)
	}
	if err := h.Serve(t.Context(), newPipe()); !errors.Is(err, ErrClosed) {
		t.Errorf("serve: %v", err)
	}
	if err := errors.Join(h.Close(), h.Say("more")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestServeEndsWithContext(t *testing.T) {
	h, err := New(Options{Now: february}) // a temporary folder
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := h.Serve(ctx, newPipe()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// Backend data is never sent, at any stage of the flow.
func TestNoBackendData(t *testing.T) {
	var told []string
	o := Options{Outbound: func(_ View, msg Message, send func(Message)) {
		told = append(told, string(wire.Encode(msg)))
		send(msg)
	}}
	p := startParty(t, o)
	p.start()
	p.goToStage(proto.ConfirmStage)
	p.callAndRead(proto.Next, object{})
	p.end()
	for _, secret := range []string{"backendData", "Backend", "supplier", "SUP-", "occupancy", "licence", "KST-",
		"ledger", "margin"} {
		if all := strings.Join(told, "\n"); strings.Contains(all, secret) {
			t.Errorf("told: %s", secret)
		}
	}
}

// Several hosts log into one folder without knowing of each other.
func TestSideBySide(t *testing.T) {
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var wg sync.WaitGroup
	ids := make([]string, 4)
	for i := range ids {
		p := startParty(t, Options{Store: store})
		wg.Go(func() {
			ids[i] = p.start()
			p.callAndRead(proto.PostMessage, object{"text": fmt.Sprint("host ", i)})
			p.goToStage(proto.ConfirmStage)
			if got := history(p.callAndRead(proto.Next, object{})); len(got) != 2 ||
				got[0] != fmt.Sprint("assistant: host ", i) {
				t.Errorf("%v", got)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] || !strings.HasPrefix(id, "s-20260213-00") {
			t.Errorf("ids %v", ids)
		}
		seen[id] = true
	}
}

func BenchmarkBooking(b *testing.B) {
	p := startParty(b, Options{})
	for b.Loop() {
		p.start()
		p.goToStage(proto.ConfirmStage)
		p.callAndRead(proto.Next, object{})
		p.end()
	}
}
