package proxy_test

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/simulator/proxy"
	"parley/transport/transcript"
)

// TestLastingTraffic: of traffic that lasts, a proxy keeps nothing that grows with it, neither of messages nor of
// connections that have ended. Each protocol has what its decoder follows.
func TestLastingTraffic(t *testing.T) {
	for _, row := range []struct {
		protocol, sent, received string
		streams                  bool
	}{
		{"agent-select", `{"type":"switch_agent","agentId":"agent%d"}`,
			`{"type":"agent_switched","data":{"sessionId":"s%d","currentAgentId":"agent%[1]d"}}`, true},
		{"agent-select", `{"type":"switch_agent","agentId":"agent%d","sessionId":"s"}`,
			`{"type":"connected","data":{"connectionId":"conn_%d"}}`, false},
		{"session-chat", `{"type":"chat","agent_id":"a%d","content":"hi"}`,
			`{"message_type":"system","agent_id":"a%d","timestamp":"2026-01-01T00:00:00.000Z"}`, false},
		{"session-runtime", `{"type":"setup","session_id":"s%d"}`,
			`{"event":"AGENT_OUTPUT","id":"m%d","session_id":"s%[1]d","sender":"agent-a","target":"FRONTEND","payload":"a"}`,
			false},
		{"external-agent", `{"type":"tool_call","id":"%d"}`, `{"type":"state","payload":{"n":%d}}`, false},
	} {
		t.Run(fmt.Sprintf("%s, streams %v", row.protocol, row.streams), func(t *testing.T) {
			const lives = 10_000
			n, life, waiting, grown := 0, 0, []transcript.Record(nil), int64(0)
			o := options(t, row.protocol, "http://127.0.0.1:1")
			o.Keep = transcript.Keep{Records: 500}
			err := proxy.JudgeRecording(o, time.Now(), func() (r transcript.Record, err error) {
				if len(waiting) == 0 {
					switch life++; life {
					case lives / 2:
						grown -= heapNow()
					case lives:
						grown += heapNow()
						return r, io.EOF
					}
					waiting = lifeOf(life, row.streams, row.sent, row.received)
				}
				r, waiting, n = waiting[0], waiting[1:], n+1
				r.N, r.At = n, time.Duration(n)*time.Millisecond
				if r.Reply > 0 {
					r.Reply = n - 1
				}
				return r, nil
			})
			if err != nil || grown > 300<<10 {
				t.Errorf("%v: the heap grew by %d KiB in %d lives", err, grown>>10, lives/2)
			}
		})
	}
}

// TestRecordsLost: what of a long connection cannot be kept is told at the end, and a short one needs no file.
func TestRecordsLost(t *testing.T) {
	for messages, lost := range map[int]bool{5: false, 50: true} {
		life := lifeOf(1, false, `{"type":"tool_call","id":"%d"}`, `{"type":"state","payload":{"n":%d}}`)
		for range messages {
			life = slices.Insert(life, len(life)-1, life[len(life)-2])
		}
		o, n := options(t, "external-agent", "http://127.0.0.1:1"), 0
		o.Keep = transcript.Keep{Records: 200, Dir: t.TempDir() + "/kept"} // of a connection it keeps a tenth
		if err := os.Mkdir(o.Keep.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		err := proxy.JudgeRecording(o, time.Now(), func() (r transcript.Record, err error) {
			switch n {
			case 0: // the folder goes behind the start
				err = os.Remove(o.Keep.Dir)
			case len(life):
				return r, io.EOF
			}
			r, n = life[n], n+1
			r.N, r.At = n, time.Duration(n)*time.Millisecond
			return r, err
		})
		if lost != (err != nil) || lost && !strings.HasPrefix(err.Error(), "records of a connection are lost") {
			t.Errorf("%d messages: %v", messages, err)
		}
	}
}

// lifeOf returns the records of the i-th connection: a message and one that comes, over a WebSocket or an event stream.
func lifeOf(i int, streams bool, sent, received string) []transcript.Record {
	conn := fmt.Sprintf("C%d", i)
	add := func(dir transcript.Dir, kind transcript.Kind, kindOf, text string) transcript.Record {
		return transcript.Record{Conn: conn, Dir: dir, Kind: kind, Type: kindOf, Bytes: []byte(text)}
	}
	ask := add(transcript.Sent, transcript.Frame, "text", fmt.Sprintf(sent, i))
	come := add(transcript.Received, transcript.Frame, "text", fmt.Sprintf(received, i))
	ping := add(transcript.Received, transcript.Comment, "", "")
	ping.Label = "ping"
	opened, answered := add(transcript.Received, transcript.Open, "", ""), transcript.Record{}
	opened.Reply, opened.Status = 1, 101
	out := []transcript.Record{add(transcript.Sent, transcript.Open, "", ""), opened, ping}
	if streams {
		ask.Conn, ask.Kind, ask.Label = "", transcript.Request, "POST /api/message"
		come.Kind = transcript.Stream
		answered = transcript.Record{Dir: transcript.Received, Kind: transcript.Response, Reply: 1, Status: 202}
		out = append(out, ask, answered, come)
	} else {
		out = append(out, ask, come)
	}
	closed := add(transcript.Received, transcript.Closed, "", "")
	closed.Label = "closed by the harness"
	return append(out, closed)
}

// heapNow returns the bytes of the heap after a collection.
func heapNow() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
