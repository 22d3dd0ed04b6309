package sessionruntime

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// ServeStdio serves one bus over a pair of streams, with one frame per line, until in ends; then everything is handled and
// written, and it returns nil. Empty lines are passed over. A line that is longer than Limits.Message is an error frame, and the
// next one is read.
//
// When ctx ends first, it closes in and out if they are io.Closers, and returns the cause of ctx. It does not wait for a Read
// that ignores this, as that of a terminal may. It fails on a limit that is negative, and when out can't be written, or in not
// read.
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
	s := &stdio{out: out, lines: make(chan arrival), done: make(chan struct{})}
	defer close(s.done)
	go s.readLines(in, o.Limits.Message)
	if err := serve(ctx, o, s, newQueue(o.Limits.Outgoing)); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil { // in was closed because of it
		return err
	}
	return s.failed
}

func closeIfPossible(v any) {
	if c, ok := v.(io.Closer); ok {
		_ = c.Close()
	}
}

// stdio is the wire of a pair of streams.
type stdio struct {
	out    io.Writer
	lines  chan arrival // closed at the end of in
	failed error        // of in; set before lines is closed
	done   chan struct{}
}

// read implements wire.
func (s *stdio) read(ctx context.Context) ([]byte, error) {
	select {
	case a, ok := <-s.lines:
		if !ok {
			return nil, io.EOF
		}
		return a.data, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// write implements wire. A line is written at once.
func (s *stdio) write(_ context.Context, data []byte) error {
	_, err := s.out.Write(append(data[:len(data):len(data)], '\n'))
	return err
}

// bye implements wire.
func (s *stdio) bye(farewell) {}

// readLines has a goroutine of its own, as a Read may not be ended from outside.
func (s *stdio) readLines(in io.Reader, limit int64) {
	defer close(s.lines)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r, limit)
		last := err != nil && !errors.Is(err, errTooLong)
		if last && !errors.Is(err, io.EOF) {
			s.failed = fmt.Errorf("read: %w", err)
		}
		if len(bytes.TrimSpace(line)) > 0 || errors.Is(err, errTooLong) {
			a := arrival{data: line}
			if !last {
				a.err = err
			}
			select {
			case s.lines <- a:
			case <-s.done:
				return
			}
		}
		if last {
			return
		}
	}
}

// readLine reads a line without its end. One that is too long is read to its end, and not kept.
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
