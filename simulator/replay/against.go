package replay

import (
	"context"
	"maps"

	"parley/protocol/messages"
	"parley/transport/driver"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// client plays the client of a recording.
type client struct {
	*player
	*Caller
	marks map[int]int // recorded number of a request → its number now; those that may still get an answer
}

// Against plays the client of a recording against the server at o.URL, or the process that o.Process starts. Memory
// does not depend on the length of the recording. Errors: ErrUnreachable, ErrNothing; those of the recording; the
// context's cause.
func Against(ctx context.Context, in *recording.Reader, o Options) (Result, error) {
	o.defaults()
	p := &player{o: o, ids: newIDs(), rules: rules{set: o.Messages, from: messages.Server}}
	p.came = newWaiting(transcript.Received, p.rules.read)
	c := &client{player: p, marks: map[int]int{}}
	c.Caller = NewCaller(ctx, Dial{URL: o.URL, Header: o.Header, TLS: o.TLS, Subprotocols: o.Subprotocols,
		Process: o.Process, Within: o.Within}, p.came.sink)
	p.side = c
	defer c.close()
	err := p.run(ctx, recording.NewClientView(in))
	if err == nil && c.Unreached() {
		err = ErrUnreachable
	}
	return p.result, err
}

func (c *client) early(context.Context, []message, bool) (bool, error) { return false, nil }

func (c *client) thinks() bool { return false }

func (c *client) skips(transcript.Record) bool { return false }

func (c *client) paired(_, got message) {
	if got.Kind != transcript.Failure {
		c.Found()
	}
}

func (c *client) surplus(message) {}

func (c *client) close() {
	c.came.close()
	c.Close()
}

func (c *client) dir() transcript.Dir { return transcript.Received }

func (c *client) first(context.Context) error { return nil }

func (c *client) thread(r transcript.Record) thread {
	key := thread{conn: r.Conn}
	if r.Reply != 0 && r.Dir == transcript.Received {
		key.reply = c.marks[r.Reply]
	}
	return key
}

func (c *client) act(ctx context.Context, r transcript.Record) error {
	if r.Kind == transcript.Closed {
		c.hang(r.Conn)
		return nil
	}
	if c.Unreached() {
		return ErrUnreachable
	}
	c.result.Sent++
	m := c.rules.readFrom(r, messages.Client)
	switch r.Kind {
	case transcript.Open:
		return c.connect(ctx, r)
	case transcript.Request:
		return c.request(m)
	}
	if err := c.Send(ctx, r, c.ids.outgoing(m)); err != nil {
		c.unsent(m, err.Error())
	}
	return nil
}

// unsent says that a recorded message cannot be sent.
func (p *player) unsent(m message, why string) {
	p.differs(Difference{N: m.N, Message: m.title(), Missing: true, why: why, recorded: &m})
}

// hang closes a connection.
func (c *client) hang(conn string) {
	if open, is := c.Hang(conn); is {
		c.came.leave(conn, true)
		_ = open.Close(driver.Graceful)
		c.came.leave(conn, false)
	}
}

// maxMarks bounds the requests of which an answer may still be in the recording.
const maxMarks = 10_000

func (c *client) mark(recorded, now int) {
	c.marks[recorded] = now
	if len(c.marks) > 2*maxMarks {
		maps.DeleteFunc(c.marks, func(old, _ int) bool { return old < recorded-maxMarks })
	}
}

// connect plays the opening of a stream or socket. That it is refused is recorded like any answer.
func (c *client) connect(ctx context.Context, r transcript.Record) error {
	c.hang(r.Conn) // it has ended, or the recorded client left it
	c.drain(r.Conn, false)
	n, err := c.Open(ctx, r, c.ids.path)
	c.mark(r.N, n)
	return err
}

// request plays an HTTP request, whose answer comes later.
func (c *client) request(m message) error {
	body := c.ids.outgoing(m)
	n, err := c.Ask(m.Record, body, c.ids.path)
	if err == nil {
		c.mark(m.N, n)
	}
	return err
}
