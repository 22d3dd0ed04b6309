package har

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/transcript"
	wire "parley/transport/wire/sse"
)

// unfinished is the error of an answer of which the recording does not have the end.
const unfinished = "the end of the answer was not recorded"

// withoutEvents stands in the content of an answer that is an event stream, and has had no event.
const withoutEvents = ": no events\n\n"

// continueAnswer adds an event of an answer that is an event stream, or its end.
func (w *writing) continueAnswer(r transcript.Record, when time.Time) {
	e := w.answering[r.Reply]
	c := &e.Response.Content
	switch {
	case r.Kind == transcript.Stream:
		e.Events = append(e.Events, streamMessage{Time: seconds(when), Name: r.Type, ID: r.ID, Data: string(r.Bytes)})
		c.Text += eventText(r)
	case driver.AnswerGoesOn(r):
		return
	default:
		if e.Response.Error = r.Label; r.Label == driver.AnswerEnded {
			e.Response.Error = ""
		}
		if c.Text == "" {
			c.Text = withoutEvents
		}
		delete(w.answering, r.Reply)
	}
	c.Size, e.Response.BodySize = len(c.Text), len(c.Text)
	e.extendUntil(when)
}

// eventText returns an event as it stands in an event stream.
func eventText(r transcript.Record) string {
	var b strings.Builder
	if r.ID != "" {
		fmt.Fprintf(&b, "id: %s\n", r.ID)
	}
	if r.Type != "message" {
		fmt.Fprintf(&b, "event: %s\n", r.Type)
	}
	for line := range strings.SplitSeq(string(r.Bytes), "\n") {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	return b.String() + "\n"
}

// addAnswerStream adds an answer that is an event stream, as the driver post records it. If the file does not have its
// content, that is unknown.
func (f *reading) addAnswerStream(e taken, of int) error {
	text, err := decodeBody(e.at+"/response/content", e.Response.Content.Text, e.Response.Content.Encoding)
	if err != nil {
		return err
	}
	add := func(when time.Time, late bool, r transcript.Record) {
		r.Conn = e.Party
		f.all[f.addRecord(when, of, r)-1].late = late
	}
	head := transcript.Record{Dir: transcript.Received, Kind: transcript.Response, Label: e.Response.title(),
		Status: e.Response.Status, Type: e.Response.Content.MimeType, Headers: f.headersOf(e.Response.Headers)}
	began, ended := e.began.Add(boundMillis(e.Timings.Wait)), e.endTime()
	if len(text) == 0 && len(e.Events) == 0 {
		head.Cut = max(1, e.Response.Content.Size)
		add(ended, false, head)
		return nil
	}
	add(began, false, head)
	for _, m := range e.Events {
		add(later(timeOf(m.Time), began), false, eventRecord("", m))
	}
	if len(e.Events) == 0 && string(text) != withoutEvents {
		dec := wire.NewDecoder(wire.Limits{})
		for _, it := range append(dec.Feed(text), dec.Close()...) {
			add(ended, it.Kind == wire.Event, sse.ItemRecord("", it))
		}
	}
	last := transcript.Record{Dir: transcript.Received, Kind: transcript.Comment, Label: driver.AnswerEnded}
	switch {
	case strings.HasPrefix(e.Response.Error, driver.AnswerBrokeOff):
		last.Label = e.Response.Error
	case e.Response.Error != "":
		last.Dir, last.Label = transcript.Sent, driver.AnswerLeft
	}
	add(ended, false, last)
	return nil
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// eventRecord returns the record of an event.
func eventRecord(party string, m streamMessage) transcript.Record {
	kind := m.Name
	if kind == "" {
		kind = "message"
	}
	return transcript.Record{Conn: party, Dir: transcript.Received, Kind: transcript.Stream, Label: kind, Type: kind,
		ID: m.ID, Bytes: []byte(m.Data)}
}

// headersOf returns the headers that the recording shows, as its lines.
func (f *reading) headersOf(all []pair) string {
	h := http.Header{}
	for _, one := range all {
		h.Add(one.Name, one.Value)
	}
	return driver.HeadersRead(f.reads, h)
}

// title is the status of an answer with its usual words.
func (r response) title() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", r.Status, cmp.Or(r.StatusText, http.StatusText(r.Status))))
}

// isPost reports whether an entry is a request that is answered by itself.
func (f *reading) isPost(e taken) bool {
	if f.posts == nil {
		return false
	}
	r := &http.Request{Method: e.Request.Method, URL: e.url, Header: http.Header{}}
	return f.posts(r)
}
