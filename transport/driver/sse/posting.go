package sse

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"

	"parley/internal/httpclient"
	"parley/transport/driver"
	"parley/transport/transcript"
	wire "parley/transport/wire/sse"
)

// PostName is the name of the driver Posts on the command line and in results.
const PostName = "post"

// Posts reaches targets that have no stream beside the requests: each request is answered by itself, with a body or
// with an event stream. The events of an answer are records with the number of their request (Reply).
type Posts struct{ *Driver }

// Name implements driver.Driver.
func (d Posts) Name() string { return PostName }

// Open implements driver.Driver. Nothing is on the wire before the first request, so that it cannot fail.
func (d Posts) Open(_ context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	live, cancel := context.WithCancel(context.Background())
	told := driver.NewTap(sink)
	c := &conn{d: d.Driver, o: o, told: told, sink: told.Sink, live: live, cancel: cancel, done: make(chan struct{}),
		posts: true, jar: o.Jar}
	close(c.done) // there is no stream
	if c.jar == nil {
		c.jar = httpclient.NewJar()
	}
	c.o.Header = c.jar.MoveCookies(o.URL, o.Header)
	return c, nil
}

// isStream reports whether an answer is an event stream, to a request of a driver that reads those.
func (x *exchange) isStream(resp *http.Response) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return x.c.posts && err == nil && media == "text/event-stream"
}

// readAnswer records the head of an answer that is an event stream, then its events, and how it ended.
func (x *exchange) readAnswer(resp *http.Response) {
	c, n := x.c, x.n
	c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Response, Label: resp.Status,
		Reply: n, Status: resp.StatusCode, Type: resp.Header.Get("Content-Type"),
		Headers: driver.HeadersRead(c.o.Reads, resp.Header)})
	record := func(items []wire.Item) {
		for _, it := range items {
			r := ItemRecord(c.o.Party, it)
			r.Reply = n
			c.sink(r)
		}
	}
	dec := wire.NewDecoder(wire.Limits{MaxEvent: c.o.MaxEvent, MaxLine: c.o.MaxEvent})
	for buf := make([]byte, readSize); ; {
		got, err := resp.Body.Read(buf)
		record(dec.Feed(buf[:got]))
		if err == nil {
			continue
		}
		record(dec.Close())
		if c.live.Err() != nil {
			return
		}
		label := driver.AnswerEnded
		if !errors.Is(err, io.EOF) {
			label = driver.AnswerBrokeOff + err.Error()
		}
		c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Comment, Label: label, Reply: n})
		return
	}
}
