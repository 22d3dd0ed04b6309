package proxy_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/simulator/proxy"
	"parley/transport/transcript"
)

// TestManyRecordedConnections: of a recording every connection is judged, however many there are, and those that have
// ended are released meanwhile. The last one alone breaks SC-044.
func TestManyRecordedConnections(t *testing.T) {
	const conns = 1200 // more than live traffic may have waiting
	var records []transcript.Record
	add := func(conn string, dir transcript.Dir, kind transcript.Kind, label, text string) {
		records = append(records, transcript.Record{N: len(records) + 1, At: time.Duration(len(records)) * time.Millisecond,
			Conn: conn, Dir: dir, Kind: kind, Label: label, Type: "text", Bytes: []byte(text)})
	}
	for i := range conns {
		conn, stamp := fmt.Sprintf("C%d", i+1), `,"timestamp":"2026-01-01T00:00:00.000Z"`
		if i == conns-1 {
			stamp = ""
		}
		add(conn, transcript.Sent, transcript.Open, "GET /chat/ws (upgrade)", "")
		add(conn, transcript.Received, transcript.Open, "socket", "")
		records[len(records)-1].Reply, records[len(records)-1].Status = len(records)-1, 101
		add(conn, transcript.Sent, transcript.Frame, "", `{"type":"chat","agent_id":"a","content":"hi"}`)
		add(conn, transcript.Received, transcript.Frame, "", `{"message_type":"system","agent_id":"a"`+stamp+`}`)
		add(conn, transcript.Received, transcript.Closed, "closed by the harness", "")
	}
	o := options(t, "session-chat", "http://127.0.0.1:1", "server")
	o.Roles[0].Together = false
	ended, early, broken, read := map[string]int{}, 0, []string{}, 0
	o.Ended = func(e proxy.Ended) {
		ended[e.Conn] += e.T.Len()
		if read < len(records) {
			early++
		}
		for _, f := range e.Failures {
			if f.Clause == "SC-044" && f.Outcome == verdict.Failed {
				broken = append(broken, e.Conn)
			}
		}
	}
	err := proxy.JudgeRecording(o, time.Now(), func() (r transcript.Record, err error) {
		if read == len(records) {
			return r, io.EOF
		}
		read++
		return records[read-1], nil
	})
	if err != nil || len(ended) != conns || early < conns/2 {
		t.Errorf("%v: %d connections are judged, %d of them early", err, len(ended), early)
	}
	for conn, n := range ended {
		if n != 5 {
			t.Errorf("%s is judged by %d records", conn, n)
		}
	}
	if len(broken) != 1 || broken[0] != fmt.Sprint("C", conns) {
		t.Errorf("SC-044 is broken on %v", broken)
	}
}
