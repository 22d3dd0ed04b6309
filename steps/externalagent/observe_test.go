package externalagent

import (
	"strings"
	"testing"

	"parley/transport/transcript"
)

// TestObserved: the connections that tests of each role have.
func TestObserved(t *testing.T) {
	join := func(conn, role string) transcript.Record {
		return transcript.Record{Conn: conn, Dir: transcript.Sent, Kind: transcript.Frame, Event: &transcript.Event{
			Type: "relay.join", Data: object{"role": role}}}
	}
	answer := func(conn string) transcript.Record {
		return transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Frame,
			Event: &transcript.Event{Type: "relay.joined"}}
	}
	end := func(conn string) transcript.Record { return transcript.Record{Conn: conn, Kind: transcript.Closed} }
	open := func(conn string) transcript.Record { return transcript.Record{Conn: conn, Kind: transcript.Open} }
	all := []transcript.Record{open("C1"), join("C1", "host"), answer("C1"), open("C2"), join("C2", "agent"), answer("C2"),
		end("C1"), open("C3"), join("C3", "host"), answer("C3"), open("C4"), join("C4", "host"), answer("C4"), answer("C2")}
	for role, want := range map[string]string{
		"relay": "host host host C2 C2 C2 host host host host", // C4 is a second host
		"host":  "C2 C2 C2 C2",
		"agent": "C2 C2 C2 C2",
	} {
		var got []string
		for _, r := range (Protocol{}).Observed(role, all) {
			got = append(got, r.Conn)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", role, got, want)
		}
	}
	if all[0].Conn != "C1" {
		t.Error("the records were changed")
	}
}
