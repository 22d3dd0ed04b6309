package har

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonform"
	"parley/transport/driver"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// writing is a HAR file that is being made of a recording.
type writing struct {
	began   time.Time
	base    string
	entries []*entry
	open    map[string]*entry // connection → its entry
	asked   map[int]*entry    // number of a request or opening → its entry
	size    int

	answering map[int]*entry // number of a request whose answer is an event stream → its entry, until that ends
}

// Write writes a recording as HAR. by is the program that does, with its version. Remarks, comments and what a browser
// has shown have no place in it and are left out. The errors are those of the recording and of w.
func Write(w io.Writer, in *recording.Reader, by string) error {
	view := recording.NewClientView(in)
	h := view.Header()
	to := &writing{began: h.Began, base: strings.TrimSuffix(cmp.Or(h.URL, "http://localhost"), "/"),
		open: map[string]*entry{}, asked: map[int]*entry{}, answering: map[int]*entry{}}
	if to.began.IsZero() {
		to.began = time.Unix(0, 0).UTC()
	}
	for {
		r, err := view.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if to.size += len(r.Bytes); to.size > MaxBytes {
			return fmt.Errorf("record %d: the messages have more than %d MiB, and HAR is made in memory", r.N, MaxBytes>>20)
		}
		to.writeRecord(r)
	}
	name, version, _ := strings.Cut(by, " ")
	out := file{Log: log{Version: "1.2", Creator: creator{name, version}, Entries: []entry{}}}
	for _, e := range to.entries {
		out.Log.Entries = append(out.Log.Entries, *e)
	}
	return jsonform.WriteLine(w, out, jsonform.Unescaped, jsontext.WithIndent(" "))
}

func (w *writing) writeRecord(r transcript.Record) {
	when := w.began.Add(r.At)
	switch {
	case r.Late || r.Dir == transcript.Noted:
	case r.Dir == transcript.Sent && (r.Kind == transcript.Open || r.Kind == transcript.Request):
		w.beginEntry(r, when)
	case r.Kind == transcript.Frame:
		if e := w.open[r.Conn]; e != nil {
			e.Frames = append(e.Frames, socketFrame(r, when))
			e.extendUntil(when)
		}
	case r.Kind != transcript.Response && r.Dir != transcript.Noted && r.Reply != 0 && w.answering[r.Reply] != nil:
		w.continueAnswer(r, when)
	case r.Kind == transcript.Stream:
		if e := w.open[r.Conn]; e != nil {
			e.Events = append(e.Events, streamMessage{Time: seconds(when), Name: r.Type, ID: r.ID, Data: string(r.Bytes)})
			e.extendUntil(when)
		}
	case r.Kind == transcript.Closed:
		if e := w.open[r.Conn]; e != nil {
			e.extendUntil(when)
			delete(w.open, r.Conn)
		}
	case r.Dir == transcript.Received && r.Reply != 0:
		w.addAnswer(r, when)
	}
}

func (e *entry) extendUntil(when time.Time) {
	began, err := time.Parse(time.RFC3339Nano, e.Started)
	if err == nil {
		e.Time = float64(when.Sub(began).Microseconds()) / 1000
		e.Timings.Receive = max(0, e.Time-e.Timings.Wait)
	}
}

// beginEntry adds an entry.
func (w *writing) beginEntry(r transcript.Record, when time.Time) {
	method, path, _ := strings.Cut(strings.TrimSuffix(r.Label, " (upgrade)"), " ")
	path, _, _ = strings.Cut(path, " ")
	e := &entry{Started: when.UTC().Format(time.RFC3339Nano), Resource: fetchType, Party: r.Conn,
		Request: request{Method: cmp.Or(method, http.MethodGet), URL: path, HTTPVersion: "HTTP/1.1", Cookies: []pair{},
			Headers: headerPairs(r.Headers), Query: []pair{}, HeadersSize: -1, BodySize: len(r.Bytes)},
		Response: response{HTTPVersion: "HTTP/1.1", Cookies: []pair{}, Headers: []pair{}, HeadersSize: -1, BodySize: -1,
			Content: content{MimeType: "x-unknown"}}}
	if !strings.Contains(path, "://") {
		e.Request.URL = w.base + path
	}
	if u, err := url.Parse(e.Request.URL); err == nil {
		for name, values := range u.Query() {
			for _, value := range values {
				e.Request.Query = append(e.Request.Query, pair{name, value})
			}
		}
	}
	if len(r.Bytes) > 0 {
		text, encoding := textOrBase64(r.Bytes)
		e.Request.PostData = &postData{MimeType: "application/json", Text: text, Encoding: encoding}
	}
	if w.open[r.Conn] != nil && r.Kind == transcript.Request {
		e.Party = "" // a request beside a connection is found by what it says
	}
	if r.Kind == transcript.Open {
		e.Resource = streamType
		if strings.HasSuffix(r.Label, " (upgrade)") || r.Label == "stdio" {
			e.Resource = socketType
		}
		w.open[r.Conn] = e
	}
	if r.Cut > 0 {
		e.Comment = fmt.Sprintf("%d bytes of the request were not recorded", r.Cut)
	}
	w.entries = append(w.entries, e)
	w.asked[r.N] = e
}

func (w *writing) addAnswer(r transcript.Record, when time.Time) {
	e := w.asked[r.Reply]
	if e == nil {
		return
	}
	if r.Kind != transcript.Open {
		delete(w.asked, r.Reply)
	}
	e.extendUntil(when)
	e.Timings.Wait, e.Timings.Receive = e.Time, 0
	e.Response.Status, e.Response.StatusText = r.Status, http.StatusText(r.Status)
	if r.Kind == transcript.Failure {
		e.Response.Error = r.Label
		return
	}
	text, encoding := textOrBase64(r.Bytes)
	e.Response.Content = content{Size: len(r.Bytes), MimeType: r.Type, Text: text, Encoding: encoding}
	e.Response.BodySize, e.Response.Headers = len(r.Bytes), headerPairs(r.Headers)
	switch {
	case r.Kind != transcript.Response:
	case driver.AnswerGoesOn(r):
		w.answering[r.Reply], e.Response.Error = e, unfinished
	case !r.Flushed:
		e.Response.Error = unfinished
	}
	if r.Cut > 0 {
		e.Comment = fmt.Sprintf("%d bytes of the answer were not recorded", r.Cut)
	}
}

// textOrBase64 returns bytes as text, or as base64.
func textOrBase64(b []byte) (text, encoding string) {
	if utf8.Valid(b) {
		return string(b), ""
	}
	return base64.StdEncoding.EncodeToString(b), "base64"
}

func socketFrame(r transcript.Record, when time.Time) socketMessage {
	m := socketMessage{Type: "send", Time: seconds(when), Opcode: 1, Data: string(r.Bytes)}
	if r.Dir == transcript.Received {
		m.Type = "receive"
	}
	if r.Type == "binary" || !utf8.Valid(r.Bytes) {
		m.Opcode, m.Data = 2, base64.StdEncoding.EncodeToString(r.Bytes)
	}
	return m
}

// headerPairs returns the headers that a record shows.
func headerPairs(lines string) []pair {
	out := []pair{}
	for line := range strings.Lines(lines) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok {
			out = append(out, pair{name, value})
		}
	}
	return out
}
