// Package replay plays the client of a recording against a live server, and says where what comes differs from what
// was recorded. Ids that the server draws anew are learnt, and replaced in what is sent afterwards; times may differ.
package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/driver"
	"parley/driver/sse"
	"parley/driver/ws"
	"parley/internal/deadline"
	"parley/recording"
	"parley/transcript"
)

// Options say how to replay.
type Options struct {
	URL          string      // base URL of the server, http or https
	Header       http.Header // sent with every request
	Subprotocols []string    // offered by sockets
	// 2: twice as fast as recorded; 0: each message is sent as soon as what was received before it has come
	Speed   float64
	Within  time.Duration // limit for what is to come, from the last thing that came; default 10 s
	Quiet   time.Duration // how long the end waits for what was not recorded; default 250 ms
	Ignore  []Ignore
	Differs func(Difference) // is called for each difference, in order
}

// Result says what was done.
type Result struct {
	Sent        int // messages, opening a connection included
	Compared    int // messages that came and were compared
	Differences int
	// recorded messages that were left out, because Ignore names them; and the answer to the last request, if the
	// recording ended before it came
	Ignored int
}

// ErrUnreachable is returned when no connection to the server could be made.
var ErrUnreachable = errors.New("the target cannot be reached")

// Bounds of what is compared at a time.
const (
	maxBatch      = 1000
	maxBatchBytes = 8 << 20
)

// player plays the client of a recording.
type player struct {
	o      Options
	ids    *ids
	came   *waiting
	conns  map[string]driver.Conn
	sse    *sse.Driver
	ws     *ws.Driver
	marks  map[int]int // recorded number of a request → its number now; those that still await an answer
	recent []int       // the recorded numbers in marks, oldest first
	batch  []transcript.Record
	size   int // bytes of batch
	began  time.Time
	open   bool // a connection was made
	last   int  // number of the message that was sent last
	result Result
}

// Against plays the client's side of a recording that was made at the client's end, as run, connect and simulate make
// them, against the server at o.URL. Memory does not depend on the length of the recording. Errors: ErrUnreachable;
// those of the recording; the context's cause.
func Against(ctx context.Context, in *recording.Reader, o Options) (Result, error) {
	if o.Within <= 0 {
		o.Within = 10 * time.Second
	}
	if o.Quiet <= 0 {
		o.Quiet = 250 * time.Millisecond
	}
	if o.Differs == nil {
		o.Differs = func(Difference) {}
	}
	p := &player{o: o, ids: newIDs(), came: newWaiting(), conns: map[string]driver.Conn{}, sse: sse.New(),
		ws: ws.New(o.Subprotocols...), marks: map[int]int{}, began: time.Now()}
	defer p.close()
	err := p.play(ctx, in)
	return p.result, err
}

func (p *player) close() {
	for _, c := range p.conns {
		_ = c.Close(driver.Graceful)
	}
	_ = p.sse.Close()
}

func (p *player) play(ctx context.Context, in *recording.Reader) error {
	for {
		r, err := in.Next()
		if errors.Is(err, io.EOF) {
			return p.end(ctx)
		}
		if err != nil {
			return err
		}
		switch {
		case r.Kind == transcript.Closed && r.Label == byUs || r.Dir == transcript.Sent && played(r.Kind):
			if err := p.settle(ctx); err != nil {
				return err
			}
			if err := p.send(ctx, r); err != nil {
				return err
			}
		case compared(r, transcript.Received):
			if slices.ContainsFunc(p.o.Ignore, func(i Ignore) bool { return i.whole(typeOf(r.Bytes)) }) {
				p.result.Ignored++
				continue
			}
			p.batch = append(p.batch, r)
			if p.size += len(r.Bytes); len(p.batch) >= maxBatch || p.size >= maxBatchBytes {
				if err := p.settle(ctx); err != nil {
					return err
				}
			}
		}
	}
}

func played(k transcript.Kind) bool {
	return k == transcript.Open || k == transcript.Request || k == transcript.Frame || k == transcript.Closed
}

// end compares what is left, waits for what was not recorded, and says what has come too much.
func (p *player) end(ctx context.Context) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	if p.result.Sent == 0 {
		return errors.New("nothing in it was sent by the client (was it recorded at the other end?)")
	}
	quiet, cancel := deadline.WithLimit(ctx, p.o.Quiet)
	<-quiet.Done()
	cancel()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rest, lost := p.came.rest()
	for _, r := range rest {
		if r.Kind == transcript.Response && r.Reply == p.last {
			p.result.Ignored++ // the recording ended before the answer to its last request
			continue
		}
		p.extra(r)
	}
	if lost > 0 {
		p.differs(Difference{Message: fmt.Sprintf("%d more messages came than are kept", lost)})
	}
	return nil
}

func (p *player) differs(d Difference) {
	p.result.Differences++
	p.o.Differs(d)
}

// extra says that a message came which was not recorded.
func (p *player) extra(r transcript.Record) {
	kind := typeOf(r.Bytes)
	if slices.ContainsFunc(p.o.Ignore, func(i Ignore) bool { return i.whole(kind) }) {
		return
	}
	p.differs(Difference{Message: title(r) + " came, and was not recorded",
		Came: cmp.Or(shown(p.ids.recorded(r.Bytes)), "without content")})
}

// title names a message for people.
func title(r transcript.Record) string {
	return strings.TrimSpace(strings.TrimSpace(r.Conn+" "+string(r.Kind)) + " " + typeOf(r.Bytes))
}

// send plays one record of the client.
func (p *player) send(ctx context.Context, r transcript.Record) error {
	if p.o.Speed > 0 {
		at := p.began.Add(time.Duration(float64(r.At) / p.o.Speed))
		select {
		case <-time.After(time.Until(at)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if bytes.Contains(r.Bytes, []byte(transcript.Blank)) || strings.Contains(r.Label, transcript.Blank) {
		return fmt.Errorf("record %d cannot be sent: a secret was removed from it", r.N)
	}
	if r.Cut > 0 {
		return fmt.Errorf("record %d cannot be sent: %d bytes of it were not recorded", r.N, r.Cut)
	}
	if r.Kind == transcript.Closed {
		if c := p.conns[r.Conn]; c != nil {
			delete(p.conns, r.Conn)
			_ = c.Close(driver.Graceful)
		}
		return nil
	}
	p.result.Sent++
	if r.Kind == transcript.Open {
		return p.connect(ctx, r)
	}
	c := p.conns[r.Conn]
	if c == nil {
		p.differs(Difference{N: r.N, Message: title(r) + " cannot be sent: its connection is not open"})
		return nil
	}
	m := driver.Message{Label: r.Label, Body: p.ids.renew(r.Bytes), Binary: r.Type == "binary"}
	if r.Kind == transcript.Request {
		method, path, _ := strings.Cut(r.Label, " ")
		at, err := p.address(path)
		if err != nil {
			return fmt.Errorf("record %d: %w", r.N, err)
		}
		m.Method, m.URL, m.Label = method, at, r.Type
	}
	mark, err := c.Send(ctx, m)
	if err != nil {
		p.differs(Difference{N: r.N, Message: title(r) + " cannot be sent: the connection has ended"})
		return nil
	}
	p.mark(r.N, mark)
	p.last = mark
	return nil
}

// maxMarks bounds the requests of which an answer may still be in the recording.
const maxMarks = 10_000

func (p *player) mark(recorded, now int) {
	if p.recent = append(p.recent, recorded); len(p.recent) > maxMarks {
		delete(p.marks, p.recent[0])
		p.recent = slices.Clone(p.recent[1:])
	}
	p.marks[recorded] = now
}

// address returns where a recorded path, or URL, is now.
func (p *player) address(recorded string) (string, error) {
	was, err := url.Parse(string(p.ids.renew([]byte(recorded))))
	if err != nil {
		return "", fmt.Errorf("%q is no path", recorded)
	}
	return strings.TrimSuffix(p.o.URL, "/") + was.RequestURI(), nil
}

// connect plays the opening of a stream or socket. That it is refused is recorded like any answer.
func (p *player) connect(ctx context.Context, r transcript.Record) error {
	path, upgrade := strings.CutSuffix(strings.TrimPrefix(r.Label, "GET "), " (upgrade)")
	at, err := p.address(path)
	if err != nil {
		return fmt.Errorf("record %d: %w", r.N, err)
	}
	var d driver.Driver = p.sse
	if upgrade {
		d = p.ws
	}
	limited, cancel := deadline.WithLimit(ctx, p.o.Within)
	defer cancel()
	first := 0 // the number of the record by which the driver begins
	c, err := d.Open(limited, driver.OpenOptions{Party: r.Conn, URL: at, Header: p.o.Header},
		func(one transcript.Record) int {
			n := p.came.sink(one)
			if one.Kind == transcript.Open && one.Dir == transcript.Sent {
				first = n
			}
			return n
		})
	p.mark(r.N, first)
	var refused *driver.OpenError
	switch {
	case err == nil:
		p.conns[r.Conn], p.open = c, true
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &refused) && refused.Status != 0:
		p.open = true
	case !p.open:
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return nil
}
