// Package r3labs is the interop driver: it reads a stream with our own codec, as the sse driver does, and passes the
// same bytes to the client of r3labs/sse/v2, a popular Go library. If that client loses or changes events that the
// standard allows, the transcript gets a remark. Verdicts depend only on our codec, never on the library.
package r3labs

import (
	"crypto/tls"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	lib "github.com/r3labs/sse/v2"
	"gopkg.in/cenkalti/backoff.v1"

	"parley/internal/cut"
	"parley/internal/jsondiff"
	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/transcript"
)

// Name of the driver on the command line and in results.
const Name = "r3labs"

// RemarkPrefix starts a remark about a difference.
const RemarkPrefix = "interop: "

// maxCompared bounds the events of one stream that are compared, just as a transcript bounds what it keeps.
const maxCompared = 10_000

// errEnough ends the library's stream after the last event to compare.
var errEnough = errors.New("enough was compared")

// Driver is the sse driver with r3labs/sse listening in.
type Driver struct{ *sse.Driver }

// New makes the interop driver.
func New() *Driver { return NewTLS(nil) }

// NewTLS is New with how to speak TLS with https URLs; nil means Go's defaults.
func NewTLS(conf *tls.Config) *Driver {
	d := &Driver{sse.NewTLS(conf)}
	d.Tap = listenLocally
	return d
}

// Name implements driver.Driver.
func (d *Driver) Name() string { return Name }

// listener feeds one stream's bytes to the library's client and collects the events that it delivers.
type listener struct {
	o    driver.OpenOptions
	sink driver.Sink
	dec  *view
	in   *io.PipeWriter
	done chan struct{}

	mu   sync.Mutex
	seen []string
	err  error
}

func listenLocally(o driver.OpenOptions, sink driver.Sink) io.WriteCloser {
	out, in := io.Pipe()
	l := &listener{o: o, sink: sink, dec: newView(o.MaxEvent), in: in, done: make(chan struct{})}
	c := lib.NewClient("http://stream.invalid/")
	c.Connection = &http.Client{Transport: replay{out}}
	c.ReconnectStrategy = &backoff.StopBackOff{}
	go func() {
		defer close(l.done)
		defer out.Close()
		err := c.SubscribeRaw(func(ev *lib.Event) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.seen = append(l.seen, eventLine(string(ev.Event), string(ev.Data), string(ev.ID)))
		})
		l.mu.Lock()
		l.err = err
		l.mu.Unlock()
	}()
	return l
}

// replay answers the client's request with bytes from elsewhere.
type replay struct{ body io.ReadCloser }

func (r replay) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r.body, Request: req}, nil
}

func (l *listener) Write(p []byte) (int, error) {
	if len(l.dec.events) > maxCompared {
		_ = l.in.CloseWithError(errEnough)
		return 0, errEnough
	}
	l.dec.feedChunk(p)
	return l.in.Write(p)
}

// Close ends the stream for the library and records a remark on every difference.
func (l *listener) Close() error {
	l.dec.close()
	_ = l.in.Close()
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	text := Compare(l.dec.events, l.seen)
	switch {
	case errors.Is(l.err, errEnough): // at the cut the two may differ by one event
		n := min(len(l.dec.events), len(l.seen), maxCompared)
		text = Compare(l.dec.events[:n], l.seen[:n])
	case l.err != nil && !errors.Is(l.err, io.EOF):
		text = strings.TrimSpace("r3labs/sse/v2 gave up: " + l.err.Error() + "\n" + text)
	}
	if text != "" {
		l.sink(transcript.Record{Conn: l.o.Party, Dir: transcript.Noted, Kind: transcript.Remark, Label: RemarkPrefix + text})
	}
	return nil
}

// eventLine renders an event for the comparison: type, data, and the last event id if there is one. Long data is
// rendered as its start and a checksum.
func eventLine(kind, data, id string) string {
	if kind == "" {
		kind = "message"
	}
	text := shorten(kind) + " "
	if text += fmt.Sprintf("%q", shorten(data)); id != "" {
		text += fmt.Sprintf(" id %q", shorten(id))
	}
	return text
}

func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes, CRC %08x)", cut.Bytes([]byte(s), most), len(s), crc32.ChecksumIEEE([]byte(s)))
}

// Compare describes how the events that the library delivered differ from those of the stream; "" if they are equal.
func Compare(stream, library []string) string {
	if slices.Equal(stream, library) {
		return ""
	}
	diff := jsondiff.Lines(stream, library)
	return "r3labs/sse/v2 would deliver other events (- the stream's, + the library's):\n" +
		strings.TrimRight(diff, "\n")
}
