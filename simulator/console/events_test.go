package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/transport/transcript"
)

// event is an event of a stream.
type event struct {
	id, name string
	data     []byte
}

// listen opens a stream of events. Its events are read by the returned function; io.EOF at the end.
func (c *client) listen(path, last string) (next func() (event, error), hangUp func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", c.url+prefix+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != "text/event-stream" {
		c.t.Fatalf("%s: %d %s", path, res.StatusCode, kind)
	}
	hangUp = func() { cancel(); _ = res.Body.Close() }
	c.t.Cleanup(hangUp)
	in := bufio.NewReader(res.Body)
	return func() (e event, err error) {
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return e, err
			}
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch {
			case field == "id":
				e.id = value
			case field == "event":
				e.name = value
			case field == "data":
				e.data = []byte(value)
			case line == "\n" && e.name != "":
				return e, nil
			}
		}
	}, hangUp
}

// schemas of the data of events.
var schemas = map[string]any{
	"record": m{"$ref": "#/components/schemas/Record"}, "finding": m{"$ref": "#/components/schemas/Finding"},
	"judged": m{"$ref": "#/components/schemas/Judged"}, "state": m{"$ref": "#/components/schemas/Session"},
	"outcomes": m{"type": "array", "items": m{"$ref": "#/components/schemas/Outcome"}},
	"held":     m{"type": "array", "items": m{"$ref": "#/components/schemas/Held"}},
	"run":      m{"$ref": "#/components/schemas/Progress"}, "owed": m{"$ref": "#/components/schemas/OwedList"},
}

// awaitEvent reads events until one of a name matches; all are validated against the document.
func (c *client) awaitEvent(next func() (event, error), name string, match func(data []byte) bool) event {
	c.t.Helper()
	for {
		e, err := next()
		if err != nil {
			c.t.Fatalf("no event %s: %v", name, err)
		}
		if err := valid(schemas[e.name], e.data); err != nil {
			c.t.Errorf("event %s: %v\n%s", e.name, err, e.data)
		}
		if e.name == name && (match == nil || match(e.data)) {
			return e
		}
	}
}

// TestEvents: records come with their numbers, each once; judgements and findings come after the records that they are
// about, and again for a client that reconnects.
func TestEvents(t *testing.T) {
	c, _ := serve(t)
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "test", "protocol": "agent-select", "driver": "ws"})
	at := "/sessions/" + s.ID
	next, hangUp := c.listen(at+"/events", "")
	c.awaitEvent(next, "state", func(data []byte) bool { return strings.Contains(string(data), `"state":"open"`) })
	for _, text := range []string{"client A is connected", "client A has a session", `client A switches to "nobody"`,
		`client A is switched to "plan"`} {
		do[Judged](c, 200, "POST", at+"/steps", m{"text": text})
	}
	last, seen := "", 0
	var failed event
	for failed.name == "" {
		e, err := next()
		if err != nil {
			t.Fatal(err)
		}
		switch e.name {
		case "record":
			seen++
			if last = e.id; e.id != strconv.Itoa(seen) {
				t.Errorf("record %s comes as number %d", e.id, seen)
			}
		case "judged":
			var j Judged
			if err := json.Unmarshal(e.data, &j); err != nil {
				t.Fatal(err)
			}
			if j.To > seen {
				t.Errorf("%s was judged after record %d, and %d have come", j.Step, j.To, seen)
			}
			if j.Status == "failed" {
				failed = e
			}
		}
		if err := valid(schemas[e.name], e.data); err != nil {
			t.Errorf("event %s: %v\n%s", e.name, err, e.data)
		}
	}
	hangUp()
	next, _ = c.listen(at+"/events?after=0", last)
	again := c.awaitEvent(next, "judged", func(data []byte) bool { return string(data) == string(failed.data) })
	if again.id != "" {
		t.Errorf("what was judged has the id of a record, %s", again.id)
	}
	do[Judged](c, 200, "POST", at+"/steps", m{"text": `client A switches to "debugger"`})
	if e := c.awaitEvent(next, "record", nil); e.id != strconv.Itoa(seen+1) {
		t.Errorf("record %s follows %d", e.id, seen)
	}
	do[string](c, 204, "DELETE", at, nil)
	c.awaitEvent(next, "state", func(data []byte) bool { return strings.Contains(string(data), `"state":"ended"`) })
	if e, err := next(); err != io.EOF {
		t.Errorf("behind the end: %v %v", e, err)
	}
}

// TestEndComesLast: a stream that has not sent all records does not say that the session has ended.
func TestEndComesLast(t *testing.T) {
	f := newFake()
	c, console := serve(t, f.offer)
	s, err := console.findSession(do[Session](c, 201, "POST", "/sessions", m{"kind": "play"}).ID)
	if err != nil {
		t.Fatal(err)
	}
	s.end()
	st := &stream{s: s, version: -1}
	for _, st.ended = range []bool{false, true} {
		st.version = -1
		st.fillBuffer()
		if told := bytes.Contains(st.out.Bytes(), []byte(`"state":"ended"`)); told != st.ended {
			t.Errorf("ended when the records were counted: %t; told: %t", st.ended, told)
		}
	}
}

// TestFlood: records at any rate reach every reader, each once and in order, even a reader that reads only afterwards,
// and nothing waits for it.
func TestFlood(t *testing.T) {
	const many = 20_000
	f := newFake()
	c, _ := serve(t, f.offer)
	at := "/sessions/" + do[Session](c, 201, "POST", "/sessions", m{"kind": "play"}).ID
	fast, _ := c.listen(at+"/events", "")
	slow, _ := c.listen(at+"/events", "")
	text := []byte(`{"type":"text","text":"` + strings.Repeat("x", 500) + "\"}\n\r\u2028")
	go func() {
		for range many {
			f.t.Append(transcript.Record{Conn: "C1", Dir: transcript.Received, Kind: transcript.Frame, Bytes: text})
		}
	}()
	for name, next := range map[string]func() (event, error){"fast": fast, "slow": slow} {
		for want := 1; want <= many; {
			e, err := next()
			if err != nil {
				t.Fatalf("%s: %v after %d records", name, err, want-1)
			}
			if e.name != "record" {
				continue
			}
			var r Record
			if err := json.Unmarshal(e.data, &r); err != nil || r.N != want || r.Text == nil || *r.Text != string(text) {
				t.Fatalf("%s: record %d is %s: %v", name, want, e.data, err)
			}
			want++
		}
	}
}

// TestComesBack: a client that loses its connection repeatedly gets each record once.
func TestComesBack(t *testing.T) {
	const many = 2000
	f := newFake()
	c, _ := serve(t, f.offer)
	at := "/sessions/" + do[Session](c, 201, "POST", "/sessions", m{"kind": "play"}).ID
	go func() {
		for i := range many {
			f.t.Append(transcript.Record{Conn: "C1", Dir: transcript.Sent, Kind: transcript.Stream, Label: fmt.Sprint(i + 1)})
		}
	}()
	var got []string
	for len(got) < many {
		last := ""
		if len(got) > 0 {
			last = got[len(got)-1]
		}
		next, hangUp := c.listen(at+"/events", last)
		for range 300 {
			if len(got) == many {
				break
			}
			e, err := next()
			if err != nil {
				t.Fatal(err)
			}
			if e.name == "record" {
				got = append(got, e.id)
			}
		}
		hangUp()
	}
	for i, id := range got {
		if id != strconv.Itoa(i+1) {
			t.Fatalf("record %s is number %d", id, i+1)
		}
	}
}

// TestNoticesAreBounded: only the last of many notices are kept, and a stream that has missed some continues.
func TestNoticesAreBounded(t *testing.T) {
	f := newFake()
	c, console := serve(t, f.offer)
	id := do[Session](c, 201, "POST", "/sessions", m{"kind": "play"}).ID
	s, err := console.findSession(id)
	if err != nil {
		t.Fatal(err)
	}
	for range maxNotices + 10 {
		s.addNotice("finding", func(seq int) any { return m{"seq": seq} })
	}
	next, _ := c.listen("/sessions/"+id+"/events", "")
	var seqs []int
	for len(seqs) < maxNotices {
		e, err := next()
		if err != nil {
			t.Fatal(err)
		}
		var one struct{ Seq int }
		if e.name == "finding" && json.Unmarshal(e.data, &one) == nil {
			seqs = append(seqs, one.Seq)
		}
	}
	if seqs[0] != 11 || !slices.IsSorted(seqs) || seqs[len(seqs)-1] != maxNotices+10 {
		t.Errorf("from %d to %d", seqs[0], seqs[len(seqs)-1])
	}
}
