package sessionruntime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// wire is a connection that carries frames. read and write are each called by one goroutine at a time.
type wire interface {
	// read returns soon after ctx ends. A frame that is longer than the limit gives errTooLong, and the next one can be read.
	read(ctx context.Context) ([]byte, error)

	write(ctx context.Context, data []byte) error

	// bye is called behind the last write.
	bye(f farewell)
}

var errTooLong = errors.New("the frame is too long")

// arrival is a frame, or why there is none.
type arrival struct {
	data []byte
	err  error
}

// serve handles what comes over a wire, one frame after the other, and serves the time-outs of all runtimes, by one goroutine
// (section 5). It returns when the wire has no more to read and everything is written; or when ctx ends, or a write fails.
func serve(ctx context.Context, o Options, w wire, out *queue) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	in := make(chan arrival, o.Limits.Incoming)
	var both sync.WaitGroup
	both.Go(func() { receive(ctx, w, in) })
	both.Go(func() {
		bye, err := out.pump(ctx, w.write)
		if err != nil {
			end(fmt.Errorf("write: %w", err))
		}
		if bye != nil {
			w.bye(*bye)
		}
	})
	handleAll(ctx, newBus(o), in, out)
	out.finish(farewell{code: websocket.StatusNormalClosure})
	both.Wait()
	return context.Cause(ctx)
}

// receive reads until there is nothing to read, and closes in.
func receive(ctx context.Context, w wire, in chan<- arrival) {
	defer close(in)
	for {
		data, err := w.read(ctx)
		if err != nil && !errors.Is(err, errTooLong) {
			return
		}
		select {
		case in <- arrival{data, err}:
		case <-ctx.Done():
			return
		}
	}
}

// handleAll handles frames and time-outs until in or ctx ends. What has come before a time-out is served is handled before it:
// an ack that only the load of this machine has held up is in time.
func handleAll(ctx context.Context, b *bus, in <-chan arrival, out *queue) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		out.awaitRoom(ctx)
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
					out.push(b.take(a))
				}
			}
			out.push(b.tick(time.Now()))
		case a, ok := <-in:
			if !ok {
				return
			}
			out.push(b.take(a))
		}
	}
}

func (b *bus) take(a arrival) [][]byte {
	if a.err != nil {
		return b.problem(fmt.Sprintf("%v: send at most %d bytes", a.err, b.o.Limits.Message))
	}
	return b.handle(a.data)
}
