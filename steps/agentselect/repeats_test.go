package agentselect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

const (
	busy   = `error {"errorCode":"agent_busy"}`
	blanks = `error {"errorCode":"invalid_agent_id"}`
)

var repeatRows = []struct {
	reason string
	in     []string // > an agent id that is switched to, + a pause in milliseconds, or an event: its time, type and data
	again  []int    // lines with repeats
}{
	{"two refusals of two switches", []string{"> a", "1.101 " + busy, "> a", "1.103 " + busy}, nil},
	{"one that comes twice", []string{"> a", "1.101 " + busy, "1.102 " + busy}, []int{2}},
	{"one that comes again after the next switch", []string{"> a", "1.101 " + busy, "+ 20", "> a", "1.101 " + busy,
		"1.122 " + busy}, []int{4}},
	{"one in the same millisecond, at once", []string{"> a", "1.101 " + busy, "> a", "1.101 " + busy}, nil},
	{"one that was made later", []string{"> a", "1.101 " + busy, "+ 20", "> a", "1.121 " + busy}, nil},
	{"times in seconds", []string{"> b", "1.000 " + busy, "+ 20", "> a", "2.000 " + busy, "+ 20", "> a", "2.000 " + busy},
		nil},
	{"a time that never changes", []string{"> a", "1.101 " + busy, "+ 20", "> a", "1.101 " + busy}, nil},
	{"two switches at once, both refused", []string{"> a", "> a", "1.101 " + busy, "+ 20", "> b", "1.101 " + busy}, nil},
	{"an empty id, and then a wrong one", []string{"> ", "1.101 " + blanks, "> A", "1.140 " + blanks}, []int{3}},
	{"two empty ids", []string{"> ", "1.101 " + blanks, ">  ", "1.140 " + blanks}, nil},
}

// TestRepeats checks which events count as repeats: only those that no message can have caused.
func TestRepeats(t *testing.T) {
	for _, row := range repeatRows {
		t.Run(row.reason, func(t *testing.T) {
			s := repeats{env: &steps.Env{}}
			now := time.Second
			// A different time, so that times are known to distinguish events.
			if row.reason != "a time that never changes" {
				hears(t, &s, now, `0.500 message {}`)
			}
			var again []int
			for i, line := range row.in {
				now += 100 * time.Microsecond
				switch head, rest, _ := strings.Cut(line, " "); head {
				case "+":
					var ms int
					if _, err := fmt.Sscan(rest, &ms); err != nil {
						t.Fatal(err)
					}
					now += time.Duration(ms) * time.Millisecond
				case ">":
					s.note(&transcript.Record{Conn: "A", At: now, Dir: transcript.Sent, Event: &transcript.Event{
						Type: vocab.SwitchAgentType, Data: map[string]any{"agentId": rest}}})
				default:
					if hears(t, &s, now, line) {
						again = append(again, i)
					}
				}
			}
			if !slices.Equal(again, row.again) {
				t.Errorf("repeats in lines %v, want %v", again, row.again)
			}
		})
	}
}

// hears notes an event, and reports whether it counts as a repeat.
func hears(t *testing.T, s *repeats, at time.Duration, line string) bool {
	t.Helper()
	words := strings.SplitN(line, " ", 3)
	data, _, err := wjson.Decode([]byte(words[2]))
	if err != nil {
		t.Fatal(err)
	}
	r := transcript.Record{Conn: "A", At: at, Dir: transcript.Received, Event: &transcript.Event{Type: words[1],
		Data: data, Timestamp: "2026-01-01T00:00:0" + words[0] + "Z"}}
	s.note(&r)
	return r.Event.Again
}

// TestRepeatsAreReadBack: a record that is decoded again, as it was moved to a file meanwhile, is marked as before, and
// not counted again.
func TestRepeatsAreReadBack(t *testing.T) {
	s := repeats{env: &steps.Env{}}
	note := func(n int, dir transcript.Dir, kind, member string) bool {
		r := transcript.Record{N: n, Conn: "A", At: time.Duration(n) * time.Second, Dir: dir,
			Event: &transcript.Event{Type: kind, Data: map[string]any{member: "debugger"}}}
		s.note(&r)
		return r.Event.Again
	}
	note(1, transcript.Sent, vocab.SwitchAgentType, vocab.AgentID)
	for _, n := range []int{2, 3, 2, 3} {
		if again := note(n, transcript.Received, vocab.AgentSwitchedEvent, vocab.CurrentAgentID); again != (n == 3) {
			t.Errorf("record %d is a repeat: %v", n, again)
		}
	}
	note(4, transcript.Sent, vocab.SwitchAgentType, vocab.AgentID)
	if note(5, transcript.Received, vocab.AgentSwitchedEvent, vocab.CurrentAgentID) {
		t.Error("the answer to the second switch is a repeat")
	}
}

// TestEndedConnectionsAreForgotten: of traffic with any number of connections, what those have counted that ended long
// ago is forgotten, but not what one has that connected again under its name.
func TestEndedConnectionsAreForgotten(t *testing.T) {
	s := repeats{env: &steps.Env{}}
	n := 0
	note := func(conn string, dir transcript.Dir, kind transcript.Kind, ev *transcript.Event) bool {
		n++
		s.note(&transcript.Record{N: n, Conn: conn, Dir: dir, Kind: kind, Event: ev})
		return ev != nil && ev.Again
	}
	lives := func(conn string) bool {
		note(conn, transcript.Sent, transcript.Open, nil)
		note(conn, transcript.Sent, transcript.Frame, &transcript.Event{Type: vocab.SwitchAgentType,
			Data: map[string]any{vocab.AgentID: "debugger"}})
		return note(conn, transcript.Received, transcript.Frame, switchedTo("debugger"))
	}
	lives("A")
	note("A", transcript.Received, transcript.Closed, nil)
	lives("A")
	const many = 2000
	for i := range many {
		conn := fmt.Sprint("C", i)
		if lives(conn) {
			t.Fatalf("the answer on %s is a repeat", conn)
		}
		note(conn, transcript.Received, transcript.Closed, nil)
	}
	if known := s.conns.Len(); known > many/2 {
		t.Errorf("%d connections are known", known)
	}
	if !note("A", transcript.Received, transcript.Frame, switchedTo("debugger")) {
		t.Error("what an open connection had received was forgotten")
	}
}

// switchedTo is the answer to a switch.
func switchedTo(agent string) *transcript.Event {
	return &transcript.Event{Type: vocab.AgentSwitchedEvent, Data: map[string]any{vocab.CurrentAgentID: agent}}
}
