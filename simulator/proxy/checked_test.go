package proxy_test

import (
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/features/verdict"
	"parley/simulator/proxy"
	"parley/transport/transcript"
)

// TestChecked: each round says by the numbers of records what they show, with the failures, and the last one says so of
// all records. What was recorded is judged alike by JudgeRecording, under its own numbers.
func TestChecked(t *testing.T) {
	o := options(t, "session-chat", bundle(t, "session-chat", "server", "no-timestamp"), "server")
	var mu sync.Mutex
	var records []transcript.Record
	var last proxy.Checked
	o.Record = func(r transcript.Record, _ *transcript.Redactor) {
		mu.Lock()
		defer mu.Unlock()
		records = append(records, r)
	}
	o.Checked = func(c proxy.Checked) {
		mu.Lock()
		defer mu.Unlock()
		if c.Through > len(records) {
			t.Errorf("record %d is judged, and only %d were recorded", c.Through, len(records))
		}
		last = c
	}
	s := openProxy(t, o, "")
	c := dial(t, s.URL()+socket)
	sendText(t, c, `{"type":"chat","agent_id":"a","content":"hello"}`)
	readUntil(t, c, `"result"`)
	_ = c.Close(websocket.StatusNormalClosure, "")
	awaitEvent(t, s.ends, "C1")
	s.close()
	chat := 1 + slices.IndexFunc(records, func(r transcript.Record) bool { return r.Kind == transcript.Frame })
	checkJudged(t, last, len(records), chat, 0)

	judgeAgain(t, options(t, "session-chat", o.To, "server"), records, chat)
}

// judgeAgain judges records as a recording, with numbers of its own.
func judgeAgain(t *testing.T, again proxy.Options, records []transcript.Record, chat int) {
	t.Helper()
	const gap = 100
	recorded := slices.Clone(records)
	for i := range recorded {
		recorded[i].N += gap
		if recorded[i].Reply > 0 {
			recorded[i].Reply += gap
		}
	}
	var times []time.Duration
	again.Record = func(r transcript.Record, _ *transcript.Redactor) { times = append(times, r.At) }
	var ended []proxy.Ended
	var last proxy.Checked
	again.Ended = func(e proxy.Ended) { ended = append(ended, e) }
	again.Checked = func(c proxy.Checked) { last = c }
	err := proxy.JudgeRecording(again, time.Now().Add(-time.Hour), func() (r transcript.Record, err error) {
		if len(recorded) == 0 {
			return r, io.EOF
		}
		r, recorded = recorded[0], recorded[1:]
		return r, nil
	})
	if err != nil || len(ended) != 1 || len(times) != len(records) {
		t.Fatalf("%v: %d roles, %d records", err, len(ended), len(times))
	}
	for i, at := range times {
		if at != records[i].At {
			t.Errorf("record %d passed at %v, and was recorded at %v", i+1, at, records[i].At)
		}
	}
	checkJudged(t, last, len(records)+gap, chat, gap)
	err = proxy.JudgeRecording(again, time.Now(), func() (r transcript.Record, err error) {
		return r, io.ErrUnexpectedEOF
	})
	if err == nil {
		t.Error("a recording that cannot be read is judged")
	}
}

// checkJudged checks that the message after the chat, which has no timestamp, breaks SC-044, and that others show
// clauses to be kept.
func checkJudged(t *testing.T, c proxy.Checked, through, chat, gap int) {
	t.Helper()
	i := slices.IndexFunc(c.Broken, func(b proxy.Broken) bool { return b.Clause == "SC-044" })
	if c.Through != through || i < 0 {
		t.Fatalf("judged to record %d of %d: %+v", c.Through, through, c.Broken)
	}
	if b := c.Broken[i]; b.N != chat+1+gap || b.Outcome != verdict.Failed || b.Role != "server" || b.Observed == "" {
		t.Errorf("the chat is record %d, and the failure %+v", chat+gap, b)
	}
	for n, clauses := range c.Held {
		if n <= gap || n > through || slices.Contains(clauses, "SC-044") {
			t.Errorf("record %d keeps %v", n, clauses)
		}
	}
	if len(c.Held) < 2 {
		t.Errorf("%d records keep clauses", len(c.Held))
	}
}
