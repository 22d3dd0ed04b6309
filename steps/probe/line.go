package probe

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/deadline"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/stdio"
	"parley/transport/transcript"
)

// Driver is a driver that holds resources until it is closed, as all drivers of servers do.
type Driver interface {
	driver.Driver
	Close() error
}

// Line is one connection of a probe.
type Line struct {
	Conn       driver.Conn
	Transcript *transcript.Transcript
	ctx        context.Context
}

// NewLine returns a line for an open connection that records in t.
func NewLine(ctx context.Context, conn driver.Conn, t *transcript.Transcript) *Line {
	return &Line{Conn: conn, Transcript: t, ctx: ctx}
}

// Open opens a connection to the target within limits.open: to a path below its base URL or, with the stdio driver,
// to its process. decode, which may be nil, adds events to the records. The context applies to the line too.
func (s *Session) Open(
	ctx context.Context, d driver.Driver, path string, decode func(*transcript.Record),
) (*Line, error) {
	limit, cancel := deadline.WithLimit(ctx, s.Profile.Limits.Open.Duration)
	defer cancel()
	o := driver.OpenOptions{Party: "probe", MaxEvent: int(s.Profile.Limits.MaxEvent)}
	if d.Name() == stdio.Name {
		o.Process = target.Starter(s.Target)
	} else {
		o.URL, o.Header = s.Target.BaseURL()+path, http.Header{}
		for k, v := range s.Profile.Headers {
			o.Header.Set(k, v)
		}
	}
	t := transcript.New(decode)
	conn, err := d.Open(limit, o, t.Append)
	if err != nil {
		return nil, err
	}
	return NewLine(ctx, conn, t), nil
}

// Close drops the connection.
func (l *Line) Close() { _ = l.Conn.Close(driver.Reset) }

// Send sends a document as JSON in one message and returns the mark for what follows.
func (l *Line) Send(doc any) (mark int, err error) {
	b, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return 0, err
	}
	return l.Conn.Send(l.ctx, driver.Message{Body: b})
}

// Record waits for a matching record after a mark. It returns an error if none arrives in time.
func (l *Line) Record(mark int, limit time.Duration, match func(*transcript.Record) bool) (transcript.Record, error) {
	ctx, cancel := deadline.WithLimit(l.ctx, limit)
	defer cancel()
	return l.Transcript.Await(ctx, mark, match)
}

// Await waits for a frame after a mark that is a matching JSON object, and returns the mark for what follows. It
// returns nil if none arrives in time or before the connection ends.
func (l *Line) Await(mark int, limit time.Duration, match func(map[string]any) bool) (found map[string]any, at int) {
	r, _ := l.Record(mark, limit, func(r *transcript.Record) bool {
		if r.Dir != transcript.Received {
			return false
		}
		if msg := Object(r.Bytes); r.Kind == transcript.Frame && msg != nil && match(msg) {
			found = msg
		}
		return found != nil || r.Kind == transcript.Closed || r.Kind == transcript.Failure
	})
	return found, r.N
}
