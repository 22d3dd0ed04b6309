package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// two is a driver of sessions with two parties. It keeps what happens, in order, and the connections by party.
type two struct {
	mu    sync.Mutex
	happy bool // the peer is told that it has joined
	log   []string
	sinks map[string]driver.Sink
}

func (d *two) Name() string { return "ws" }

func (d *two) Open(_ context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	d.mu.Lock()
	d.log = append(d.log, "open "+o.Party)
	d.sinks[o.Party] = sink
	happy := d.happy
	d.mu.Unlock()
	sink(transcript.Record{Conn: o.Party, Dir: transcript.Received, Kind: transcript.Open})
	if strings.Contains(o.Party, "peer") && happy {
		d.says(o.Party, transcript.Frame, "joined")
	}
	return &one{d, o.Party}, nil
}

// says has a party receive a record.
func (d *two) says(party string, kind transcript.Kind, text string) {
	d.mu.Lock()
	sink := d.sinks[party]
	d.log = append(d.log, text+" to "+party)
	d.mu.Unlock()
	sink(transcript.Record{Conn: party, Dir: transcript.Received, Kind: kind, Type: "text", Bytes: []byte(text)})
}

func (d *two) happened() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.log)
}

// one is a connection; what is sent over it reaches the other party.
type one struct {
	d     *two
	party string
}

func (c *one) Send(_ context.Context, m driver.Message) (int, error) {
	if other, _, peer := strings.Cut(c.party, ".peer"); peer {
		c.d.says(other+".1", transcript.Frame, string(m.Body))
	} else {
		c.d.says(strings.Replace(c.party, ".", ".peer", 1), transcript.Frame, string(m.Body))
	}
	return 0, nil
}

func (c *one) Close(driver.CloseMode) error { return nil }

// asker is a session whose acts end when its peer says so.
type asker struct{ peer helper }

func (a *asker) Dial() driver.OpenOptions         { return driver.OpenOptions{} }
func (a *asker) Act(name string) []driver.Message { return []driver.Message{{Body: []byte(name)}} }
func (a *asker) Peer() steps.LoadSession          { return &a.peer }
func (a *asker) HandleRecord(r *transcript.Record) steps.LoadStep {
	return steps.LoadStep{Done: r.Kind == transcript.Open}
}

type helper struct{}

func (h *helper) Dial() driver.OpenOptions    { return driver.OpenOptions{} }
func (h *helper) Act(string) []driver.Message { return nil }
func (h *helper) HandleRecord(r *transcript.Record) (out steps.LoadStep) {
	switch string(r.Bytes) {
	case "joined":
		out.Done = true
	case "act":
		out.Other = &steps.LoadStep{Done: true}
	}
	return out
}

// TestPeer checks that the other party of a session is ready before the session connects, ends its acts, and connects
// anew, before it, once its connection is lost.
func TestPeer(t *testing.T) {
	d := &two{happy: true, sinks: map[string]driver.Sink{}}
	s := &session{l: runOver(t, d), by: &asker{}}
	s.pairPeer()
	t.Cleanup(func() { ends(s) })
	s.connectFirst(0, func() {})
	await(t, s)
	s.arriveAct(s.l.elapsed())
	await(t, s)
	d.says("S1.peer1", transcript.Closed, "gone")
	s.arriveAct(s.l.elapsed())
	await(t, s)
	want := []string{"open S1.peer1", "joined to S1.peer1", "open S1.1", "act to S1.peer1", "gone to S1.peer1",
		"open S1.peer2", "joined to S1.peer2", "open S1.2"}
	if got := d.happened(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := fmt.Sprint(s.l.meter.kinds); got != "[connection lost]" {
		t.Errorf("errors %s", got)
	}
	if n := latencyFigures("connect", s.l.meter.acts["connect"], 0).Count; n != 1 {
		t.Errorf("%d acts of connecting, which a peer has none of", n)
	}
}

// TestPeerSilent checks that a peer that gets no answer counts as an error, and is to connect anew.
func TestPeerSilent(t *testing.T) {
	d := &two{sinks: map[string]driver.Sink{}}
	s := &session{l: runOver(t, d), by: &asker{}}
	s.l.o.Timeout = 1
	s.pairPeer()
	t.Cleanup(func() { ends(s) })
	s.peer.joinPeer()
	if got := fmt.Sprint(s.l.meter.kinds); got != "[the other party has no answer within 1ns]" ||
		!s.peer.mustReconnect() {
		t.Errorf("errors %s", got)
	}
}
