package har

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/transport/driver"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// answered are records of clients whose requests are answered by themselves: by events at their times, with names and
// ids, which end, break off, are left or are not over; by none; by JSON that is whole or not.
func answered() (all []transcript.Record) {
	add := func(conn string, dir transcript.Dir, kind transcript.Kind, label string, to int,
		text string) *transcript.Record {
		all = append(all, transcript.Record{N: len(all) + 1, At: time.Duration(len(all)) * time.Millisecond, Conn: conn,
			Dir: dir, Kind: kind, Label: label, Reply: to, Bytes: []byte(text)})
		return &all[len(all)-1]
	}
	ask := func(conn, label string) int {
		r := add(conn, transcript.Sent, transcript.Request, label, 0, "")
		r.Headers = "session: s1\n"
		return r.N
	}
	head := func(conn string, to int) {
		r := add(conn, transcript.Received, transcript.Response, "200 OK", to, "")
		r.Status, r.Type, r.Headers = 200, "text/event-stream", "session: s2\n"
	}
	event := func(conn string, to int, name, id, text string) {
		r := add(conn, transcript.Received, transcript.Stream, name, to, text)
		r.Type, r.ID = name, id
	}
	one, two := ask("A", "POST /rpc?a=b"), ask("B", "GET /rpc")
	head("A", one)
	head("B", two)
	event("A", one, "message", "", `{"n":1}`)
	event("B", two, "told", "7", "two\nlines")
	event("A", one, "message", "8", "")
	add("A", transcript.Received, transcript.Comment, driver.AnswerEnded, one, "")
	add("B", transcript.Received, transcript.Comment, driver.AnswerBrokeOff+"reset", two, "")
	three, four := ask("A", "POST /rpc"), ask("A", "POST /rpc")
	head("A", three)
	head("A", four)
	event("A", four, "message", "", "x")
	add("A", transcript.Received, transcript.Comment, driver.AnswerEnded, three, "")
	add("A", transcript.Sent, transcript.Comment, driver.AnswerLeft, four, "")
	five, six := ask("A", "DELETE /rpc"), ask("A", "POST /rpc")
	r := add("A", transcript.Received, transcript.Response, "404 Not Found", five, `{"no":1}`)
	r.Status, r.Type, r.Flushed = 404, "application/json", true
	r = add("A", transcript.Received, transcript.Response, "200 OK", six, `{"n`)
	r.Status, r.Type = 200, "application/json"
	return all
}

// asFile writes records as HAR.
func asFile(t *testing.T, records []transcript.Record) string {
	t.Helper()
	var file, out bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{URL: "http://h", Began: time.Unix(1e9, 0).UTC()}, nil)
	if err == nil {
		err = w.Add(records...)
	}
	if err != nil {
		t.Fatal(err)
	}
	in, err := recording.NewReader(&file)
	if err == nil {
		err = Write(&out, in, "parley 1")
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestAnswersRoundTrip: answers to requests are the same after they were written as HAR, and read again.
func TestAnswersRoundTrip(t *testing.T) {
	posts := Options{Reads: []string{"Session"}, Posts: func(r *http.Request) bool { return r.URL.Path == "/rpc" }}
	before := answered()
	after, _, err := converted(t, asFile(t, before), posts)
	if err != nil {
		t.Fatal(err)
	}
	var dated []transcript.Record // requests begin their entries, so that records of one time may change places
	for _, r := range after.Records {
		r.At = r.At.Round(time.Millisecond)
		dated = append(dated, r)
	}
	if diff := cmp.Diff(before, dated, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("before -, after +:\n%s", diff)
	}
	if after.Header.Driver != "post" {
		t.Errorf("the driver is %q", after.Header.Driver)
	}
	// What is not over is not: nothing says that the answer has ended.
	after, _, err = converted(t, asFile(t, before[:5]), posts)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(after.Records, func(r transcript.Record) bool { return r.Label == driver.AnswerEnded }) {
		t.Errorf("an answer that was not over has ended: %s", strings.Join(lines(after.Records), "\n"))
	}
	// Others read the events in the content, as browsers have it.
	text := asFile(t, before)
	for _, want := range []string{`data: {\"n\":1}\n\nid: 8\ndata: \n\n`,
		`id: 7\nevent: told\ndata: two\ndata: lines\n\n`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestReadWithoutContent: an answer whose content is not in the file is cut, and not an empty one.
func TestReadWithoutContent(t *testing.T) {
	const entry = `{"log": {"version": "1.2", "entries": [{"startedDateTime": "2026-01-01T00:00:00Z", "time": 9,
		"request": {"method": "POST", "url": "http://h/rpc"},
		"response": {"status": 200, "content": {"mimeType": "application/json", "size": %d%s}}}]}}`
	for _, c := range []struct {
		size int
		text string
		cut  int
	}{{20, "", 20}, {0, "", 0}, {2, `, "text": "{}"`, 0}} {
		rec, _, err := converted(t, fmt.Sprintf(entry, c.size, c.text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if last := rec.Records[1]; last.Cut != c.cut || last.Flushed != (c.cut == 0) || last.Label != "200 OK" {
			t.Errorf("%+v", last)
		}
	}
}
