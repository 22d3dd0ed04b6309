package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/steps/monitor"
	"parley/steps/protocols"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// played is a driver whose target answers when the test says so.
type played struct {
	mu     sync.Mutex
	sink   driver.Sink
	party  string
	opened int
	sent   chan string
	err    error
}

func (p *played) Name() string { return "ws" }

func (p *played) Open(_ context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	p.mu.Lock()
	p.sink, p.party = sink, o.Party
	p.opened++
	err := p.err
	p.mu.Unlock()
	sink(transcript.Record{Conn: o.Party, Dir: transcript.Sent, Kind: transcript.Open})
	if err != nil {
		return nil, err
	}
	sink(transcript.Record{Conn: o.Party, Dir: transcript.Received, Kind: transcript.Open})
	return p, nil
}

func (p *played) Send(_ context.Context, m driver.Message) (int, error) {
	n := p.says(transcript.Sent, transcript.Frame, string(m.Body))
	p.sent <- string(m.Body)
	return n, nil
}

func (p *played) Close(driver.CloseMode) error { return nil }

func (p *played) says(dir transcript.Dir, kind transcript.Kind, text string) int {
	p.mu.Lock()
	sink, party := p.sink, p.party
	p.mu.Unlock()
	return sink(transcript.Record{Conn: party, Dir: dir, Kind: kind, Type: "text", Bytes: []byte(text), Label: text})
}

// echoes is a session whose acts end with any answer.
type echoes struct{ n int }

func (e *echoes) Dial() driver.OpenOptions { return driver.OpenOptions{} }

func (e *echoes) Act(name string) []driver.Message {
	e.n++
	return []driver.Message{{Body: fmt.Append(nil, name, " ", e.n)}}
}

func (e *echoes) HandleRecord(r *transcript.Record) (out steps.LoadStep) {
	if r.Dir != transcript.Received {
		return out
	}
	out.Done = true
	if strings.HasPrefix(string(r.Bytes), "wrong") {
		out.Findings = []verdict.Finding{{Clauses: []string{"SC-020"}, Expected: "right", Observed: "wrong", At: r.N}}
	}
	return out
}

// plays makes a session on a played driver.
func plays(t *testing.T) (*session, *played) {
	t.Helper()
	d := &played{sent: make(chan string, 100)}
	s := &session{l: runOver(t, d), by: &echoes{}}
	t.Cleanup(func() { ends(s) })
	s.connectFirst(0, func() {})
	await(t, s)
	return s, d
}

// ends ends a session.
func ends(s *session) {
	s.l.over.Store(true)
	for _, p := range s.sessionAndPeer() {
		p.forgetUnanswered()
		p.endConnection()
	}
	s.l.work.Wait()
}

// runOver makes a run over a driver, which ends with the test.
func runOver(t *testing.T, d driver.Driver) *run {
	t.Helper()
	p, err := protocols.All.Find("session-chat")
	if err != nil {
		t.Fatal(err)
	}
	kind := p.Kind()
	profile := kind.New()
	profile.Protocol = kind.Protocol
	codec, err := proxy.CodecOf(p, profile, false, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &run{o: Options{Profile: profile, Timeout: time.Minute}, driver: d, ctx: ctx, began: time.Now(),
		schedule: schedule{1, time.Second, Soak}, meter: newMeter(0),
		plan:  steps.Load{Acts: []string{"act"}, Decode: func(*transcript.Record) {}},
		judge: newJudge(codec, nil, monitor.Monitor{Name: "own", Clauses: []string{"SC-020"}}, func(string, string) {})}
	t.Cleanup(func() {
		r.judge.judgeRest(1)
		cancel()
	})
	return r
}

// await waits until a session is idle.
func await(t *testing.T, s *session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	(&run{sessions: []*session{s}}).awaitIdle(ctx, 20*time.Second)
	if !s.isIdle() {
		t.Fatal("the session is not idle")
	}
}

// TestLatencyFromDue: an act that had to wait for the one before it is measured from the time at which it was due.
func TestLatencyFromDue(t *testing.T) {
	s, d := plays(t)
	const slow = 40 * time.Millisecond
	due := s.l.elapsed()
	for range 3 {
		s.arriveAct(due)
	}
	<-d.sent
	if late, ok := sleepUntil(t.Context(), s.l.began.Add(due+slow)); !ok || late < 0 {
		t.Fatal("the wait was cut short")
	}
	for range 2 {
		d.says(transcript.Received, transcript.Frame, "ok")
		<-d.sent
	}
	d.says(transcript.Received, transcript.Frame, "ok")
	await(t, s)
	one := latencyFigures("act", s.l.meter.acts["act"], 0)
	if one.Count != 3 || one.Failed != 0 {
		t.Fatalf("%+v", one)
	}
	for name, ms := range map[string]float64{"p50": one.P50, "max": one.Max} {
		if ms < float64(slow.Milliseconds()) {
			t.Errorf("%s is %v ms, although every act was due %v before its answer", name, ms, slow)
		}
	}
}

// TestSessionGoesOn: after an act that fails, a lost connection, or one that cannot be opened, the session connects
// anew, and the errors are counted by kind.
func TestSessionGoesOn(t *testing.T) {
	s, d := plays(t)
	s.arriveAct(s.l.elapsed())
	<-d.sent
	d.says(transcript.Received, transcript.Closed, "reset by peer")
	await(t, s)
	d.mu.Lock()
	d.err = errors.New("refused")
	d.mu.Unlock()
	s.arriveAct(s.l.elapsed())
	await(t, s)
	d.mu.Lock()
	d.err = nil
	d.mu.Unlock()
	s.arriveAct(s.l.elapsed())
	await(t, s)
	s.arriveAct(s.l.elapsed())
	<-d.sent
	s.l.o.Timeout = time.Nanosecond
	s.failOverdue(s.l.elapsed() + time.Second)
	await(t, s)
	if d.opened != 3 || s.isConnected() {
		t.Errorf("it has connected %d times", d.opened)
	}
	want := []string{"connection lost", "not connected", "no answer within 1ns"}
	if got := fmt.Sprint(s.l.meter.kinds); got != fmt.Sprint(want) {
		t.Errorf("errors %v, want %v", got, want)
	}
}

// TestLateRecord: what comes after a life was submitted is not kept, as it is being judged.
func TestLateRecord(t *testing.T) {
	v := &life{}
	if v.addRecord(transcript.Record{}) != 1 || len(v.records) != 1 {
		t.Error("a record is not kept")
	}
	v.over = true
	if v.addRecord(transcript.Record{}) != 1 || len(v.records) != 1 {
		t.Error("a record is kept that came too late")
	}
}

// TestFindingKept: a finding fails its clause, with the records of its connection as evidence.
func TestFindingKept(t *testing.T) {
	s, d := plays(t)
	s.arriveAct(s.l.elapsed())
	<-d.sent
	d.says(transcript.Received, transcript.Frame, "wrong")
	await(t, s)
	s.endConnection()
	s.l.judge.judgeRest(1)
	j := s.l.judge
	if j.worst["SC-020"] != verdict.Failed || len(j.evidence) != 1 || j.failures != 1 || j.violationsSoFar() != 1 {
		t.Fatalf("worst %v, %d lives as evidence", j.worst, len(j.evidence))
	}
	all := transcriptOf(j.evidence[0].life, s.l.began).All()
	if at := j.evidence[0].failures[0].At; at != len(all) || string(all[at-1].Bytes) != "wrong" {
		t.Errorf("the failure is at record %d of %d", at, len(all))
	}
}

// TestLifeIsBounded: whatever comes, a life keeps little, and its session connects anew.
func TestLifeIsBounded(t *testing.T) {
	for name, one := range map[string]transcript.Record{
		"many frames":  {Kind: transcript.Frame, Bytes: []byte("x")},
		"large frames": {Kind: transcript.Frame, Bytes: make([]byte, 100<<10)},
		"pings":        {Kind: transcript.Comment, Label: "ping"},
	} {
		v := &life{}
		for range 5000 {
			v.addRecord(one)
		}
		if len(v.records) > mostRecords || v.bytes > mostBytes {
			t.Errorf("%s: %d records and %d bytes are kept", name, len(v.records), v.bytes)
		}
		if pings := one.Kind == transcript.Comment; v.isOver() == pings || v.cut == pings {
			t.Errorf("%s: tired %v, cut %v", name, v.isOver(), v.cut)
		}
	}
}
