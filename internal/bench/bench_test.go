package bench

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/reference-server/bundled"
	"parley/runner"
	"parley/steps/protocols"
	"parley/transport/driver/browser"
	"parley/transport/driver/r3labs"
	"parley/transport/driver/sse"
	"parley/transport/driver/stdio"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// record returns a record of a party, whose payload has n bytes of which some are cut off.
func record(party string, dir transcript.Dir, kind transcript.Kind, n int) transcript.Record {
	return transcript.Record{Conn: party, Dir: dir, Kind: kind, Bytes: make([]byte, n/2), Cut: n - n/2}
}

// TestCourse: a course has the connections and messages of a transcript, and nothing else.
func TestCourse(t *testing.T) {
	const sent, received = transcript.Sent, transcript.Received
	late := record("A", received, transcript.Frame, 9)
	late.Late = true
	request, answer := record("A", sent, transcript.Request, 3), record("A", received, transcript.Response, 7)
	request.N, answer.Reply = 5, 5
	for _, tt := range []struct {
		reason, driver string
		records        []transcript.Record
		want           []act
		row            Row
	}{
		{"a socket, its messages, and records that are neither", ws.Name, []transcript.Record{
			record("", transcript.Noted, transcript.Remark, 4),
			record("A", sent, transcript.Open, 0), record("A", received, transcript.Open, 0),
			record("A", sent, transcript.Frame, 10), record("A", received, transcript.Frame, 20),
			record("A", received, transcript.Comment, 5),
			record("A", received, transcript.Closed, 2), late,
		}, []act{{opens, 0, 0, 0}, {sends, 0, 10, 0}, {receives, 0, 20, 0}, {closes, 0, 0, 0}},
			Row{Connections: 1, Sent: 1, Received: 1, Bytes: 30}},
		{"two parties, one of which connects again; one is called by the target", ws.Name, []transcript.Record{
			record("A", sent, transcript.Open, 0), record("B", received, transcript.Open, 0),
			record("A", sent, transcript.Closed, 0), record("B", received, transcript.Frame, 1),
			record("A", sent, transcript.Open, 0), record("A", received, transcript.Frame, 2),
		}, []act{{opens, 0, 0, 0}, {opens, 1, 0, 0}, {closes, 0, 0, 0}, {receives, 1, 1, 0}, {opens, 2, 0, 0},
			{receives, 2, 2, 0}}, Row{Connections: 3, Received: 2, Bytes: 3}},
		{"a request has its answer, a stream its events", sse.Name, []transcript.Record{
			record("A", sent, transcript.Open, 0), request, record("A", received, transcript.Stream, 6), answer,
		}, []act{{opens, 0, 0, 0}, {sends, 0, 3, 7}, {receives, 0, 6, 0}},
			Row{Connections: 1, Sent: 1, Received: 2, Bytes: 16}},
		{"a page, without what it exchanges with its server", browser.Name, []transcript.Record{
			record("A", sent, transcript.Open, 0), record("A", received, transcript.Ask, 3),
			record("A", sent, transcript.Act, 4), record("A api", received, transcript.Request, 5),
			record("A api 1", received, transcript.Open, 0), record("A api 1", sent, transcript.Open, 0),
			record("A api 1", sent, transcript.Stream, 6), record("A", received, transcript.Snapshot, 8),
		}, []act{{opens, 0, 0, 0}, {sends, 0, 4, 0}, {receives, 0, 8, 0}},
			Row{Connections: 1, Sent: 1, Received: 1, Bytes: 12}},
	} {
		got := courseOf(tt.driver, tt.records)
		if diff := cmp.Diff(tt.want, got.acts, cmp.AllowUnexported(act{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		row := Row{Driver: tt.driver}
		row.countCourses([]course{got})
		tt.row.Driver = tt.driver
		if diff := cmp.Diff(tt.row, row); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// long is a course with two connections, in which more is sent than the buffers of a connection hold.
var long = course{conns: 2, acts: []act{
	{opens, 0, 0, 0}, {opens, 1, 0, 0}, {receives, 1, 3, 0}, {sends, 0, 10, 5}, {sends, 0, 0, 0}, {receives, 0, 0, 0},
	{receives, 0, 3 << 20, 0}, {sends, 1, 3 << 20, 2 << 20}, {closes, 0, 0, 0}, {receives, 1, 9, 0},
}}

// TestFloors: client and server of every transport get through courses side by side, and leave nothing behind.
func TestFloors(t *testing.T) {
	for _, driver := range []string{ws.Name, sse.Name, r3labs.Name, stdio.Name} {
		if err := runFloor(t.Context(), driver, slices.Repeat([]course{long}, 5), 3); err != nil {
			t.Errorf("%s: %v", driver, err)
		}
	}
	w, err := newWires()
	if err != nil {
		t.Fatal(err)
	}
	if err := followCourses(t.Context(), w, slices.Repeat([]course{long}, 5), 3); err != nil {
		t.Errorf("tcp: %v", err)
	}
	if err := runFloor(t.Context(), "pigeon", nil, 1); err == nil {
		t.Error("pigeon has a floor")
	}
}

// TestFloorCounts: over each transport a client that expects more than the script has waits for it; so what is
// exchanged is what the course says, and no floor is faster because it leaves something out.
func TestFloorCounts(t *testing.T) {
	for _, driver := range []string{ws.Name, sse.Name, stdio.Name} {
		tr, err := newTransport(driver)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		l, err := tr.open(ctx, []act{{receives, 0, 4, 0}, {sends, 0, 4, 0}, {receives, 0, 4, 0}})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.receive(act{size: 4}); err != nil {
			t.Errorf("%s: %v", driver, err)
		}
		came := make(chan error, 1)
		go func() { came <- l.receive(act{size: 4}) }()
		second, err := tr.open(ctx, []act{{receives, 0, 4, 0}}) // the fence: another connection gets its message
		if err == nil {
			err = second.receive(act{size: 4})
		}
		if err != nil {
			t.Errorf("%s: %v", driver, err)
		}
		select {
		case err := <-came:
			t.Errorf("%s: a message that must follow another came before it: %v", driver, err)
		default:
		}
		cancel()
		if err := <-came; err == nil {
			t.Errorf("%s: a message came that was never due", driver)
		}
		_, _ = second.closeSite(), l.closeSite()
		if err := tr.closeSite(); err != nil {
			t.Errorf("%s: %v", driver, err)
		}
	}
}

// noted is a transport that notes what is done, and fails at the end of its patience.
type noted struct {
	mu   sync.Mutex
	did  []act
	fail actKind
}

var errNoted = errors.New("no more")

func (n *noted) note(a act) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.did = append(n.did, a)
	if a.kind == n.fail {
		return errNoted
	}
	return nil
}

func (n *noted) open(_ context.Context, script []act) (link, error) {
	return notedLink{n}, n.note(act{kind: opens, size: len(script)})
}
func (n *noted) closeSite() error { return nil }

type notedLink struct{ n *noted }

func (l notedLink) send(a act) error    { return l.n.note(a) }
func (l notedLink) receive(a act) error { return l.n.note(a) }
func (l notedLink) closeSite() error    { return l.n.note(act{kind: closes}) }

// TestFollow: a course is followed in its order; at its end all is closed; a failure ends it.
func TestFollow(t *testing.T) {
	const nothing = 99
	n := &noted{fail: nothing}
	if err := followCourses(t.Context(), n, []course{long}, 1); err != nil {
		t.Error(err)
	}
	want := slices.Clone(long.acts)
	want[0].size, want[1].conn, want[1].size = 4, 0, 3 // those of the scripts
	want = append(want, act{kind: closes})
	if diff := cmp.Diff(want, n.did, cmp.AllowUnexported(act{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, d := range []actKind{opens, sends, receives} {
		if err := followCourses(t.Context(), &noted{fail: d}, []course{long}, 1); !errors.Is(err, errNoted) {
			t.Errorf("act of kind %d fails: %v", d, err)
		}
	}
}

func TestConclude(t *testing.T) {
	c := Cost{Measured: Times{Wall: []float64{40, 10, 30}, CPU: []float64{0, 0, 0}},
		Floor: Times{Wall: []float64{4, 8}, CPU: []float64{0, 0}}}
	c.computeMedians(10)
	if c.Wall != 3 || c.FloorWall != 0.6 || c.Ratio != 5 || c.CPURatio != 0 {
		t.Errorf("%+v", c)
	}
}

// selected returns a part of a suite against the bundled server, with a fault or without.
func selected(protocol, driver, fault string) Suite {
	return Suite{Protocol: protocol, Driver: driver, Title: protocol, Fresh: func() runner.Options {
		s := bundled.All.With(protocols.Kinds(), protocol, "", fault)
		return runner.Options{Protocols: protocols.All, Profile: s.Profile, Launcher: s.Launcher, Brain: s.Brain,
			Tags: "@AS-080"}
	}}
}

// TestRun: a suite that passes has figures; one that does not has none.
func TestRun(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	res, err := Run(t.Context(), Options{Runs: 2, Suites: []Suite{selected("agent-select", ws.Name, "")}})
	if err != nil {
		t.Fatal(err)
	}
	row := res.Rows[0]
	if row.Scenarios < 4 || row.Connections < row.Scenarios || row.Received < row.Sent || row.Sent == 0 {
		t.Errorf("%+v", row)
	}
	if len(row.Measured.Wall) != 2 || len(row.Floor.Wall) != 2 || row.Wall <= 0 || row.FloorWall <= 0 || row.Ratio <= 0 {
		t.Errorf("%+v", row.Cost)
	}
	if len(res.Peers) != 0 || len(res.Skipped) != len(tools) {
		t.Errorf("peers %v, skipped %q", res.Peers, res.Skipped)
	}
	var found *NotPassedError
	_, err = Run(t.Context(), Options{Suites: []Suite{selected("agent-select", ws.Name, "trims-ids")}})
	if !errors.As(err, &found) || found.Exit != 1 {
		t.Errorf("with a fault: %v", err)
	}
}
