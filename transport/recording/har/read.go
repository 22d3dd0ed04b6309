package har

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"

	"parley/transport/recording"
	"parley/transport/transcript"
	"parley/transport/wire/sse"
)

// Options say what is taken from a HAR file.
type Options struct {
	Protocol string // id of the protocol, for the header of the recording
	// scheme, host and port of the server, such as http://localhost:3000; "": there is only one in the file
	Origin   string
	Redactor *transcript.Redactor // nil: nothing is removed
	By       string               // the program, with its version

	Reads []string                 // headers that the records of requests and their answers show
	Posts func(*http.Request) bool // requests that are answered by themselves, also by event streams; nil: no GET is one
}

// Result says what was taken.
type Result struct {
	Entries int // that became records
	Unheard int // WebSockets whose messages are not in the file
	Left    int // documents, pictures and the like, and those of other origins
}

// Read writes what a page has sent to one server, and what came back, as a recording. Requests become records of a
// client without a connection; each stream or socket has a party: C1, C2, …. The error is an *Error with its place, or
// that of r or w; nothing is written if the file has a mistake.
func Read(w io.Writer, r io.Reader, o Options) (Result, error) { return readFile(w, r, o, MaxBytes) }

func readFile(w io.Writer, r io.Reader, o Options, most int) (Result, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return Result{}, err
	}
	if len(text) > most {
		return Result{}, &Error{"", fmt.Sprintf("it has more than %d MiB", most>>20)}
	}
	entries, err := decodeFile(text)
	if err != nil {
		return Result{}, err
	}
	from := &reading{reads: o.Reads, posts: o.Posts}
	origin, err := from.chooseOrigin(entries, o.Origin)
	if err != nil {
		return Result{}, err
	}
	if err := from.readEntries(); err != nil {
		return Result{}, err
	}
	if len(from.unheard) > 0 && len(from.unheard) == len(from.taken) {
		return Result{}, &Error{from.unheard[0] + "/_webSocketMessages",
			"it is missing: the messages of the WebSocket were not exported (Chromium exports them)"}
	}
	all, err := from.sortRecords()
	if err != nil {
		return Result{}, err
	}
	h := recording.Header{Protocol: o.Protocol, URL: origin, Began: from.began, By: o.By, Driver: from.driverName()}
	to, err := recording.NewWriter(w, h, o.Redactor)
	if err != nil {
		return Result{}, err
	}
	return Result{Entries: len(from.taken), Left: len(entries) - len(from.taken), Unheard: len(from.unheard)},
		to.Add(all...)
}

// decodeFile reads a file.
func decodeFile(text []byte) ([]entry, error) {
	var outer struct {
		Log *struct {
			Version string            `json:"version"`
			Entries *[]jsontext.Value `json:"entries"`
		} `json:"log"`
	}
	if !utf8.Valid(text) {
		return nil, &Error{"", "it is not UTF-8 (export it again from the developer tools)"}
	}
	text = []byte(strings.TrimPrefix(string(text), "\uFEFF"))
	if err := legacy.Unmarshal(text, &outer); err != nil {
		return nil, describeShape(text, "", err)
	}
	switch {
	case outer.Log == nil:
		return nil, &Error{"/log", `it is missing: a HAR file is {"log":{"version":"1.2","entries":[…]}}`}
	case !strings.HasPrefix(outer.Log.Version, "1."):
		return nil, &Error{"/log/version", fmt.Sprintf("%q is not known: want 1.1 or 1.2", outer.Log.Version)}
	case outer.Log.Entries == nil:
		return nil, &Error{"/log/entries", "it is missing"}
	}
	all := make([]entry, len(*outer.Log.Entries))
	for i, raw := range *outer.Log.Entries {
		if err := legacy.Unmarshal(raw, &all[i]); err != nil {
			return nil, describeShape(raw, entryPointer(i), err)
		}
	}
	return all, nil
}

func entryPointer(i int) string { return fmt.Sprintf("/log/entries/%d", i) }

// reading makes records of entries.
type reading struct {
	taken   []taken
	began   time.Time
	all     []timed
	conns   int
	drivers map[string]bool
	unheard []string // places of WebSockets whose messages are not in the file
	reads   []string // those of Options
	posts   func(*http.Request) bool
}

// taken is an entry that becomes records.
type taken struct {
	entry
	at    string // its place in the file
	began time.Time
	url   *url.URL
}

// timed is a record before all are numbered.
type timed struct {
	transcript.Record
	when time.Time
	of   int  // serial of the record that it answers; 0 for none
	n    int  // serial
	late bool // the file does not say when it came, only when its stream had ended
}

// dull are the types of what is no traffic of a protocol.
var dull = []string{"document", "stylesheet", "script", "image", "font", "media", "manifest", "texttrack", "ping",
	"preflight", "csp-violation-report", "signed-exchange"}

// isDull reports whether an entry is a document, a picture or the like.
func (e entry) isDull() bool {
	if e.Resource != "" {
		return slices.Contains(dull, strings.ToLower(e.Resource))
	}
	kind, _, _ := mime.ParseMediaType(e.Response.Content.MimeType)
	top, _, _ := strings.Cut(kind, "/")
	return e.Request.Method == "GET" && len(e.Frames) == 0 &&
		(slices.Contains([]string{"image", "font", "audio", "video"}, top) ||
			slices.Contains([]string{"text/html", "text/css", "text/javascript", "application/javascript"}, kind))
}

// chooseOrigin takes the entries of an origin, and returns it.
func (f *reading) chooseOrigin(all []entry, origin string) (string, error) {
	counts := map[string]int{}
	origin = strings.TrimSuffix(origin, "/")
	for i, e := range all {
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Host == "" {
			return "", &Error{entryPointer(i) + "/request/url", fmt.Sprintf("%q is not a URL", e.Request.URL)}
		}
		began, err := time.Parse(time.RFC3339Nano, e.Started)
		if err != nil {
			return "", &Error{entryPointer(i) + "/startedDateTime", fmt.Sprintf("%q is no time such as 2026-01-31T12:00:00.000Z",
				e.Started)}
		}
		if !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) || e.isDull() {
			continue
		}
		of := strings.Replace(u.Scheme, "ws", "http", 1) + "://" + u.Host
		counts[of]++
		if origin == "" || of == origin {
			f.taken = append(f.taken, taken{entry: e, at: entryPointer(i), began: began, url: u})
		}
	}
	if len(f.taken) == 0 && len(counts) == 0 {
		return "", &Error{"/log/entries", "none is a request of a script, an event stream or a WebSocket"}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		names = append(names, fmt.Sprintf("%s (%d)", name, counts[name]))
	}
	switch {
	case len(f.taken) == 0:
		return "", &Error{"/log/entries", fmt.Sprintf("nothing went to %s; there are %s", origin, strings.Join(names, ", "))}
	case origin == "" && len(counts) > 1:
		return "", &Error{"/log/entries", "they went to several servers; choose one (--origin): " + strings.Join(names, ", ")}
	case origin == "":
		origin = slices.Collect(maps.Keys(counts))[0]
	}
	return origin, nil
}

func (f *reading) driverName() string {
	if len(f.drivers) == 1 {
		return slices.Collect(maps.Keys(f.drivers))[0]
	}
	return ""
}

// addRecord adds a record, and returns its serial.
func (f *reading) addRecord(when time.Time, of int, r transcript.Record) int {
	f.all = append(f.all, timed{Record: r, when: when, of: of, n: len(f.all) + 1})
	return len(f.all)
}

// readEntries makes the records.
func (f *reading) readEntries() error {
	f.drivers = map[string]bool{}
	for _, e := range f.taken {
		if f.began.IsZero() || e.began.Before(f.began) {
			f.began = e.began
		}
	}
	for _, e := range f.taken {
		var err error
		kind, _, _ := mime.ParseMediaType(e.Response.Content.MimeType)
		switch {
		case e.Resource == socketType || len(e.Frames) > 0 || strings.HasPrefix(e.url.Scheme, "ws"):
			err = f.addSocket(e)
		case f.isPost(e):
			f.drivers["post"] = true
			err = f.addRequest(e)
		case e.Request.Method == "GET" && (e.Resource == streamType || kind == "text/event-stream"):
			err = f.addStream(e)
		default:
			err = f.addRequest(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// endTime is when an entry was over.
func (e taken) endTime() time.Time {
	return e.began.Add(boundMillis(e.Time))
}

// boundMillis is a time in milliseconds; what is longer than a file may be stands for a little more than that.
func boundMillis(ms float64) time.Duration {
	return time.Duration(min(max(ms, 0), float64(longest.Milliseconds()+1)) * float64(time.Millisecond))
}

// decodeBody returns a text that may be base64.
func decodeBody(at, text, encoding string) ([]byte, error) {
	switch encoding {
	case "":
		return []byte(text), nil
	case "base64":
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, &Error{at + "/text", "it is not base64: " + err.Error()}
		}
		return b, nil
	}
	return nil, &Error{at + "/encoding", fmt.Sprintf("%q is not known: want base64", encoding)}
}

// partyName returns whose connection an entry is.
func (f *reading) partyName(e taken) string {
	f.conns++
	return cmp.Or(e.Party, fmt.Sprintf("C%d", f.conns))
}

// addRefused adds the answer of what was not opened, or not answered.
func (f *reading) addRefused(e taken, party string, of int) error {
	r := transcript.Record{Conn: party, Dir: transcript.Received, Kind: transcript.Failure, Label: e.Response.Error,
		Status: e.Response.Status}
	if e.Response.Status != 0 {
		b, err := decodeBody(e.at+"/response/content", e.Response.Content.Text, e.Response.Content.Encoding)
		if err != nil {
			return err
		}
		r.Kind, r.Label, r.Bytes = transcript.Response, e.Response.title(), b
		r.Type, r.Headers = e.Response.Content.MimeType, f.headersOf(e.Response.Headers)
		if c := e.Response.Content; c.Text == "" {
			r.Cut = max(0, c.Size) // the file does not have it
		}
		r.Flushed = e.Response.Error == "" && r.Cut == 0
	}
	f.addRecord(e.endTime(), of, r)
	return nil
}

func (f *reading) addRequest(e taken) error {
	r := transcript.Record{Conn: e.Party, Dir: transcript.Sent, Kind: transcript.Request,
		Label: e.Request.Method + " " + e.url.RequestURI(), Headers: f.headersOf(e.Request.Headers)}
	if e.Request.Method == "" {
		return &Error{e.at + "/request/method", "it is missing"}
	}
	if p := e.Request.PostData; p != nil {
		var err error
		if r.Bytes, err = decodeBody(e.at+"/request/postData", p.Text, p.Encoding); err != nil {
			return err
		}
	}
	of := f.addRecord(e.began, 0, r)
	if media, _, _ := mime.ParseMediaType(e.Response.Content.MimeType); media == "text/event-stream" {
		return f.addAnswerStream(e, of)
	}
	return f.addRefused(e, e.Party, of)
}

func (f *reading) addStream(e taken) error {
	f.drivers["sse"] = true
	party := f.partyName(e)
	of := f.addRecord(e.began, 0, transcript.Record{Conn: party, Dir: transcript.Sent, Kind: transcript.Open,
		Label: "GET " + e.url.RequestURI()})
	if e.Response.Status != 200 {
		return f.addRefused(e, party, of)
	}
	opened := e.began.Add(boundMillis(e.Timings.Wait))
	f.addRecord(opened, of, transcript.Record{Conn: party, Dir: transcript.Received, Kind: transcript.Open,
		Label:  "stream",
		Status: 200, Type: e.Response.Content.MimeType})
	for _, m := range e.Events {
		f.addRecord(timeOf(m.Time), 0, eventRecord(party, m))
	}
	if len(e.Events) > 0 {
		return nil
	}
	text, err := decodeBody(e.at+"/response/content", e.Response.Content.Text, e.Response.Content.Encoding)
	if err != nil {
		return err
	}
	for _, it := range sse.NewDecoder(sse.Limits{}).Feed(text) {
		if it.Kind == sse.Event {
			n := f.addRecord(e.endTime(), 0, transcript.Record{Conn: party, Dir: transcript.Received,
				Kind:  transcript.Stream,
				Label: it.Type, Type: it.Type, Bytes: []byte(it.Data)})
			f.all[n-1].late = true
		}
	}
	return nil
}

func (f *reading) addSocket(e taken) error {
	f.drivers["ws"] = true
	party := f.partyName(e)
	of := f.addRecord(e.began, 0, transcript.Record{Conn: party, Dir: transcript.Sent, Kind: transcript.Open,
		Label: "GET " + strings.Replace(e.url.String(), "http", "ws", 1) + " (upgrade)"})
	if e.Response.Status != 101 {
		return f.addRefused(e, party, of)
	}
	opened := e.began
	if len(e.Frames) == 0 || e.Timings.Wait > 0 {
		opened = opened.Add(boundMillis(e.Timings.Wait))
	}
	f.addRecord(opened, of, transcript.Record{Conn: party, Dir: transcript.Received, Kind: transcript.Open,
		Label:  "socket",
		Status: 101})
	if e.Frames == nil {
		f.unheard = append(f.unheard, e.at)
	}
	for i, m := range e.Frames {
		where := fmt.Sprintf("%s/_webSocketMessages/%d", e.at, i)
		r := transcript.Record{Conn: party, Dir: transcript.Sent, Kind: transcript.Frame, Type: "text", Bytes: []byte(m.Data)}
		switch m.Type {
		case "send":
		case "receive":
			r.Dir = transcript.Received
		case "error":
			continue // the end of the connection
		default:
			return &Error{where + "/type", fmt.Sprintf("%q is neither send nor receive", m.Type)}
		}
		switch m.Opcode {
		case 1:
		case 2:
			var err error
			if r.Bytes, err = base64.StdEncoding.DecodeString(m.Data); err != nil {
				return &Error{where + "/data", "it is not base64, as opcode 2 says: " + err.Error()}
			}
			r.Type = "binary"
		default:
			continue // control frames
		}
		f.addRecord(timeOf(m.Time), 0, r)
	}
	return nil
}

// longest is how long what is in a file may have taken.
const (
	day     = 24 * time.Hour
	longest = 100 * day
)

// sortRecords returns all records in the order of their times, and numbers them. What was written before another record
// of the same connection stays before it.
func (f *reading) sortRecords() ([]transcript.Record, error) {
	f.placeEvents()
	last := map[string]time.Time{}
	asked := map[int]time.Time{}
	single := map[int]bool{} // requests, which run beside each other
	for i := range f.all {
		r := &f.all[i]
		single[r.n] = r.Kind == transcript.Request
		alone := r.Conn == "" || single[r.n] || single[r.of]
		if !alone && r.when.Before(last[r.Conn]) {
			r.when = last[r.Conn]
		}
		if t := asked[r.of]; r.of != 0 && r.when.Before(t) {
			r.when = t
		}
		if asked[r.n] = r.when; !alone {
			last[r.Conn] = r.when
		}
		if r.of != 0 { // what belongs to one answer keeps its order
			asked[r.of] = r.when
		}
	}
	sort.SliceStable(f.all, func(a, b int) bool { return f.all[a].when.Before(f.all[b].when) })
	number := map[int]int{}
	out := make([]transcript.Record, len(f.all))
	for i, r := range f.all {
		number[r.n] = i + 1
		out[i] = r.Record
		out[i].N, out[i].At = i+1, max(0, r.when.Sub(f.began))
		if out[i].At > longest {
			return nil, &Error{"/log/entries", fmt.Sprintf("their times are more than %d days apart", longest/day)}
		}
	}
	for i, r := range f.all {
		out[i].Reply = number[r.of]
	}
	return out, nil
}
