package har

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/transport/recording"
	"parley/transport/transcript"
)

//go:embed testdata/browser.har
var browser string

// converted reads a HAR file as a recording.
func converted(t *testing.T, text string, o Options) (recording.Recording, Result, error) {
	t.Helper()
	var out bytes.Buffer
	result, err := Read(&out, strings.NewReader(text), o)
	if err != nil {
		if out.Len() > 0 {
			t.Errorf("something was written: %s", out.String())
		}
		return recording.Recording{}, result, err
	}
	rec, err := recording.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	return rec, result, nil
}

// lines renders records without what HAR does not keep.
func lines(records []transcript.Record) (out []string) {
	for _, r := range records {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s %s %s %s %d %s %d %s", r.N, r.At, r.Conn, r.Dir, r.Kind,
			r.Status, r.Type, r.Reply, r.Bytes)))
	}
	return out
}

// TestRead checks what becomes of what a browser has exported.
func TestRead(t *testing.T) {
	rec, result, err := converted(t, browser, Options{Protocol: "p", Redactor: transcript.NewRedactor("hello")})
	if err != nil || result != (Result{Entries: 4, Left: 1}) {
		t.Fatalf("%+v, %v", result, err)
	}
	want := []string{
		"1 0s C2 sent open 0  0",
		"2 4ms C2 received open 200 text/event-stream 1",
		"3 50ms C1 sent open 0  0",
		"4 55ms C1 received open 101  3",
		`5 100ms C1 received frame 0 text 0 {"type":"«redacted»"}`,
		`6 150ms  sent request 0  0 {"type":"chat"}`,
		"7 170ms  received response 200 application/json 6 {}",
		`8 200ms C1 sent frame 0 text 0 {"type":"ask"}`,
		"9 250ms  sent request 0  0",
		"10 250ms  received failure 0  9",
		"11 300ms C1 received frame 0 binary 0 \xff\x00",
		`12 500ms C2 received event 0 message 0 {"type":"a"}`,
		"13 500ms C2 received event 0 b 0 2",
	}
	if diff := cmp.Diff(want, lines(rec.Records)); diff != "" {
		t.Error(diff)
	}
	if h := rec.Header; h.URL != "http://localhost:3000" || h.Protocol != "p" || h.Began.IsZero() || !h.Redacted {
		t.Errorf("%+v", h)
	}
}

// TestRoundTrip checks that what is written as HAR is read as the same.
func TestRoundTrip(t *testing.T) {
	before, _, err := converted(t, browser, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var file, har bytes.Buffer
	w, err := recording.NewWriter(&file, before.Header, nil)
	if err == nil {
		err = w.Add(before.Records...)
	}
	if err != nil {
		t.Fatal(err)
	}
	in, err := recording.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(&har, in, "parley 1"); err != nil {
		t.Fatal(err)
	}
	after, result, err := converted(t, har.String(), Options{Origin: "http://localhost:3000/"})
	if err != nil || result.Left != 0 {
		t.Fatalf("%+v, %v\n%s", result, err, har.String())
	}
	count := map[string]int{}
	for i, all := range [][]transcript.Record{before.Records, after.Records} {
		for _, r := range all {
			count[fmt.Sprintf("%s %s %d %s %s", r.Dir, r.Kind, r.Status, r.Type, r.Bytes)] += 1 - 2*i
		}
	}
	for what, n := range count {
		if n != 0 {
			t.Errorf("%+d of %s", n, what)
		}
	}
}

// TestMistakes checks that what is no HAR is refused with its place.
func TestMistakes(t *testing.T) {
	const entry = `{"startedDateTime":"2026-11-23T10:00:00Z","request":{"method":"GET","url":"http://a/x"},` +
		`"response":{"status":200}}`
	of := func(entries ...string) string {
		return `{"log":{"version":"1.2","entries":[` + strings.Join(entries, ",") + `]}}`
	}
	if _, _, err := converted(t, of(entry), Options{}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, origin, want string }{
		"nothing":    {"", "", "it is empty"},
		"no JSON":    {"{", "", "it is not whole: its JSON ends in the middle, at line 1, byte 1 of it"},
		"no text":    {"\xff", "", "it is not UTF-8"},
		"no HAR":     {"{}", "", "/log: it is missing"},
		"an array":   {"[]", "", "it is an array, want an object"},
		"version":    {`{"log":{"version":"2","entries":[]}}`, "", `/log/version: "2" is not known`},
		"no entries": {`{"log":{"version":"1.2"}}`, "", "/log/entries: it is missing"},
		"empty":      {of(), "", "/log/entries: none is a request"},
		"a shape": {of(entry, strings.Replace(entry, `"status":200`, `"status":"200"`, 1)), "",
			"/log/entries/1/response/status: it is a string, want a whole number"},
		"a time": {of(strings.Replace(entry, "2026-11-23", "today", 1)), "",
			`/log/entries/0/startedDateTime: "todayT10:00:00Z" is no time`},
		"a URL": {of(strings.Replace(entry, "http://a/x", "/x", 1)), "", `/log/entries/0/request/url: "/x" is not a URL`},
		"base64": {of(strings.Replace(entry, `"status":200`,
			`"status":200,"content":{"text":"!","encoding":"base64"}`, 1)), "",
			"/log/entries/0/response/content/text: it is not base64"},
		"an encoding": {of(strings.Replace(entry, `"status":200`, `"status":200,"content":{"encoding":"gzip"}`, 1)), "",
			`/log/entries/0/response/content/encoding: "gzip" is not known`},
		"several servers": {of(entry, strings.Replace(entry, "//a/", "//b/", 1)), "",
			"/log/entries: they went to several servers; choose one (--origin): http://a (1), http://b (1)"},
		"another server": {of(entry), "http://c", "/log/entries: nothing went to http://c; there are http://a (1)"},
		"a long time": {of(strings.Replace(entry, `"request"`, `"time":1e300,"request"`, 1)), "",
			"/log/entries: their times are more than 100 days apart"},
		"an early time": {of(entry, strings.Replace(entry, "2026", "0001", 1)), "",
			"/log/entries: their times are more than 100 days apart"},
		"a direction": {of(strings.Replace(entry, `{"status":200}`,
			`{"status":101},"_webSocketMessages":[{"type":"sent","opcode":1}]`, 1)), "",
			`/log/entries/0/_webSocketMessages/0/type: "sent" is neither`},
	} {
		_, _, err := converted(t, c.text, Options{Origin: c.origin})
		var mistake *Error
		if !errors.As(err, &mistake) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// endless is a file without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestLong checks that a file is bounded.
func TestLong(t *testing.T) {
	if _, err := readFile(io.Discard, endless{}, Options{}, 1<<20); err == nil ||
		err.Error() != "it has more than 1 MiB" {
		t.Errorf("%v", err)
	}
}

// FuzzRead checks that nothing makes the reader panic, and that what it writes is a recording.
func FuzzRead(f *testing.F) {
	f.Add([]byte(browser))
	f.Add([]byte(`{"log":{"version":"1.2","entries":[{}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		if _, err := Read(&out, bytes.NewReader(text), Options{}); err != nil {
			return
		}
		if _, err := recording.Read(&out); err != nil {
			t.Fatal(err)
		}
	})
}

// TestReadContentOnly: events of which a file has only the whole content come when they say so themselves, or else
// before the request that uses an id of them; and what they answer comes before them.
func TestReadContentOnly(t *testing.T) {
	text, err := os.ReadFile("testdata/content-only.har")
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		reason, text string
		want         []string
	}{
		{"with times", string(text), []string{"GET /events", "stream", "connected", "agent_list", "POST /session/create",
			"200 OK", "POST /message", "agent_switched", "200 OK"}},
		{"without", strings.ReplaceAll(string(text), `\"timestamp\"`, `\"time\"`), []string{"GET /events", "stream",
			"connected", "POST /session/create", "200 OK", "POST /message", "200 OK", "agent_list", "agent_switched"}},
	}
	for _, r := range rows {
		rec, _, err := converted(t, r.text, Options{Protocol: "agent-select"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range rec.Records {
			what := one.Label
			if _, after, ok := strings.Cut(string(one.Bytes), `{"type":"`); ok && one.Kind == transcript.Stream {
				what, _, _ = strings.Cut(after, `"`)
			}
			got = append(got, what)
		}
		if !slices.Equal(got, r.want) {
			t.Errorf("%s: %q, want %q", r.reason, got, r.want)
		}
	}
}

// TestReadUnheard: a WebSocket whose messages were not exported is told, and is no recording by itself.
func TestReadUnheard(t *testing.T) {
	const socket = `{"_resourceType":"websocket","startedDateTime":"2026-01-02T03:04:05Z","time":1,` +
		`"request":{"method":"GET","url":"ws://h/ws"},"response":{"status":101}}`
	const post = `{"_resourceType":"fetch","startedDateTime":"2026-01-02T03:04:05Z","time":1,` +
		`"request":{"method":"POST","url":"http://h/a"},"response":{"status":200}}`
	file := func(entries string) string { return `{"log":{"version":"1.2","entries":[` + entries + `]}}` }
	_, _, err := converted(t, file(socket), Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "/log/entries/0/_webSocketMessages: it is missing") {
		t.Errorf("alone: %v", err)
	}
	_, result, err := converted(t, file(socket+","+post), Options{})
	if err != nil || result != (Result{Entries: 2, Unheard: 1}) {
		t.Errorf("beside a request: %+v, %v", result, err)
	}
	silent := strings.Replace(socket, `"time":1`, `"time":1,"_webSocketMessages":[]`, 1)
	if _, result, err = converted(t, file(silent), Options{}); err != nil || result.Unheard != 0 {
		t.Errorf("a silent one: %+v, %v", result, err)
	}
}

// TestReadAnswerStream: an event stream that answers a request is one of records with its number; without its content
// it is cut.
func TestReadAnswerStream(t *testing.T) {
	const entry = `{"log": {"version": "1.2", "entries": [{"startedDateTime": "2026-01-01T00:00:00Z", "time": 9,
		"timings": {"wait": 2}, "_resourceType": "fetch",
		"request": {"method": "POST", "url": "http://localhost:3000/agent", "postData": {"text": "{}"}},
		"response": {"status": 200, %s "content": {"mimeType": "text/event-stream", "size": 20, "text": %q}}}]}}`
	for _, c := range []struct {
		more, text string
		want       []string
	}{
		{"", "data: 1\n\nid: 7\ndata: 2\n\n", []string{"1 0s  sent request 0  0 {}",
			"2 2ms  received response 200 text/event-stream 1", "3 9ms  received event 0 message 1 1",
			"4 9ms  received event 0 message 1 2", "5 9ms  received comment 0  1"}},
		{`"_error": "net::ERR_ABORTED",`, "data: 1\n\n", []string{"1 0s  sent request 0  0 {}",
			"2 2ms  received response 200 text/event-stream 1", "3 9ms  received event 0 message 1 1",
			"4 9ms  sent comment 0  1"}},
		{"", "", []string{"1 0s  sent request 0  0 {}", "2 9ms  received response 200 text/event-stream 1"}},
	} {
		rec, _, err := converted(t, fmt.Sprintf(entry, c.more, c.text), Options{Protocol: "p"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, lines(rec.Records)); diff != "" {
			t.Error(diff)
		}
		if last := rec.Records[len(rec.Records)-1]; (last.Cut > 0) != (c.text == "") {
			t.Errorf("%q: %+v", c.text, last)
		}
	}
}
