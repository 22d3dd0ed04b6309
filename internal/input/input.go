// Package input reads the files that a user names on the command line or in a profile. A name may also refer to a
// pipe, a device or a terminal, which may be endless or never deliver anything.
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"parley/internal/deadline"
)

// Patience is how long Read waits for the next bytes, and Open for a pipe's other end.
const Patience = 20 * time.Second

// Read returns the content of a file. It fails if that is longer than max bytes, or if no bytes arrive for Patience.
// Errors are *fs.PathError.
func Read(name string, max int64) ([]byte, error) { return readFile(name, max, Patience) }

func readFile(name string, max int64, patience time.Duration) ([]byte, error) {
	came := make(chan struct{}, 1)
	type result struct {
		bytes []byte
		err   error
	}
	over := make(chan result, 1)
	go func() { // it may outlive the call while it waits
		b, err := readAll(name, max, came)
		over <- result{b, err}
	}()
	for {
		quiet := make(chan struct{})
		stop := deadline.In(patience).AfterFunc(func() { close(quiet) })
		select {
		case r := <-over:
			stop()
			return r.bytes, r.err
		case <-came:
			stop()
		case <-quiet:
			return nil, isSilent("read", name, patience)
		}
	}
}

func isSilent(op, name string, patience time.Duration) error {
	return &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("nothing came from it within %s (%w)", patience, errPipe)}
}

var errPipe = errors.New("is it a pipe to which nobody writes?")

// readAll reads a file, and signals each piece.
func readAll(name string, max int64, came chan<- struct{}) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []byte
	for piece := make([]byte, 64<<10); ; {
		n, err := f.Read(piece)
		if out = append(out, piece[:n]...); int64(len(out)) > max {
			return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it is longer than %d bytes", max)}
		}
		select {
		case came <- struct{}{}:
		default:
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Open opens a file of any length for reading. It fails if a pipe has no writer for Patience, or when ctx ends; reads
// fail once ctx has ended. The caller must close the file.
func Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return openFile(ctx, name, Patience)
}

func openFile(ctx context.Context, name string, patience time.Duration) (io.ReadCloser, error) {
	type result struct {
		f   *os.File
		err error
	}
	opened := make(chan result)
	left := make(chan struct{})
	defer close(left)
	go func() {
		f, err := os.Open(name)
		select {
		case opened <- result{f, err}:
		case <-left:
			if err == nil {
				_ = f.Close()
			}
		}
	}()
	quiet := make(chan struct{})
	defer deadline.In(patience).AfterFunc(func() { close(quiet) })()
	select {
	case r := <-opened:
		if r.err != nil {
			return nil, r.err
		}
		return &file{ctx: ctx, f: r.f, stop: context.AfterFunc(ctx, func() { _ = r.f.Close() })}, nil
	case <-quiet:
		return nil, isSilent("open", name, patience)
	case <-ctx.Done():
		return nil, &fs.PathError{Op: "open", Path: name, Err: context.Cause(ctx)}
	}
}

// file is an open file that its context closes.
type file struct {
	ctx  context.Context
	f    *os.File
	stop func() bool
}

func (f *file) Read(p []byte) (int, error) {
	n, err := f.f.Read(p)
	if f.ctx.Err() != nil {
		return 0, context.Cause(f.ctx)
	}
	return n, err
}

func (f *file) Close() error {
	if !f.stop() {
		return nil // its context has closed it
	}
	return f.f.Close()
}
