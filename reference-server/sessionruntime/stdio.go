package sessionruntime

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/coder/websocket"

	"parley/reference-server/connection"
)

// ServeStdio serves one bus over a pair of streams, with one frame per line, until in ends. It then handles and
// writes everything and returns nil. Empty lines are ignored. A line longer than Limits.Message gets an error frame,
// and reading continues with the next line.
//
// When ctx ends first, it closes in and out if they are io.Closers, and returns the cause of ctx. It does not wait
// for a Read that ignores this, as one on a terminal may. It fails on negative limits, on write errors, and on read
// errors.
func ServeStdio(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		closeIfPossible(in)
		closeIfPossible(out)
	})
	defer func() {
		if !stop() {
			<-closed
		}
	}()
	box := connection.New(ctx, connection.Limits{})
	defer box.End(connection.ErrEnded)
	frames := make(chan arrival, o.Limits.Incoming)
	var failed error // read error of in; set before frames is closed
	go func() {      // a blocked Read may not be interruptible
		defer close(frames)
		failed = readLines(box.Context(), in, frames, o.Limits.Message)
	}()
	var served sync.WaitGroup
	served.Go(func() { serveBus(o, frames, box) })
	err = box.Pump(connection.Wire{Write: func(_ context.Context, data []byte) error {
		_, err := out.Write(append(data[:len(data):len(data)], '\n'))
		return err
	}})
	box.End(err)
	served.Wait()
	if _, regular := errors.AsType[websocket.CloseError](err); !regular {
		return err
	}
	if err := context.Cause(ctx); err != nil { // in was closed because of it
		return err
	}
	return failed
}

func closeIfPossible(v any) {
	if c, ok := v.(io.Closer); ok {
		_ = c.Close()
	}
}

// readLines passes on the lines of in until it or ctx ends.
func readLines(ctx context.Context, in io.Reader, frames chan<- arrival, limit int64) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for ctx.Err() == nil {
		line, err := readLine(r, limit)
		switch {
		case errors.Is(err, errTooLong):
			queueFrame(ctx, frames, arrival{err: err})
			continue
		case len(bytes.TrimSpace(line)) > 0:
			queueFrame(ctx, frames, arrival{data: line})
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
	return nil
}

// readLine reads a line without its end. A line that is too long is read to its end and discarded.
func readLine(r *bufio.Reader, limit int64) (line []byte, err error) {
	tooLong := false
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if int64(len(bytes.TrimRight(line, "\r\n"))) > limit {
			tooLong = true
			line = line[:0]
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errTooLong
		}
		return bytes.TrimRight(line, "\r\n"), err
	}
}
