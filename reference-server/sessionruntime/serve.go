package sessionruntime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"parley/reference-server/connection"
)

var errTooLong = errors.New("the frame is too long")

// arrival is a frame, or the error that it was too long.
type arrival struct {
	data []byte
	err  error
}

// serve handles incoming frames and the timeouts of all runtimes in one goroutine (section 5), until in or the
// connection ends. Then it closes the connection after the queued frames.
func serve(o Options, in <-chan arrival, out *connection.Outbox) {
	handleAll(newBus(o), in, out)
	out.Finish(websocket.CloseError{Code: websocket.StatusNormalClosure})
}

// handleAll handles frames and timeouts. Frames that have arrived before a timeout is served are handled first, so
// that an ack delayed only by this machine's load is in time.
func handleAll(b *bus, in <-chan arrival, out *connection.Outbox) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	ctx := out.Context()
	for {
		out.AwaitRoom(ctx, b.o.Limits.Outgoing)
		var due <-chan time.Time
		if at, ok := b.due(); ok {
			timer.Reset(time.Until(at))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
			for range len(in) {
				if a, ok := <-in; ok {
					out.Push(b.take(a)...)
				}
			}
			out.Push(b.tick(time.Now())...)
		case a, ok := <-in:
			if !ok {
				return
			}
			out.Push(b.take(a)...)
		}
	}
}

func (b *bus) take(a arrival) [][]byte {
	if a.err != nil {
		return b.problem(fmt.Sprintf("%v: send at most %d bytes", a.err, b.o.Limits.Message))
	}
	return b.handle(a.data)
}

// arrive queues a frame for handling, unless the connection ends first.
func arrive(ctx context.Context, in chan<- arrival, a arrival) {
	select {
	case in <- a:
	case <-ctx.Done():
	}
}
