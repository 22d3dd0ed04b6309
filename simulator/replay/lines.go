package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"parley/transport/transcript"
)

// lines is the door by stdin and stdout.
type lines struct {
	s   *server
	in  io.Reader
	out io.Writer

	mu   sync.Mutex
	conn string
	over bool
}

func (l *lines) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over
}

// newLines begins with the client's opening: it has started this process.
func newLines(s *server, in io.Reader, out io.Writer) *lines {
	l := &lines{s: s, in: in, out: out}
	s.asked(transcript.Record{Kind: transcript.Open, Label: stdioPlace}, func(int) {})
	return l
}

func (l *lines) decide(_ int, conn string, r transcript.Record, _ []byte) {
	if r.Kind != transcript.Open {
		return
	}
	l.mu.Lock()
	first := l.conn == ""
	l.conn = conn
	l.mu.Unlock()
	if first {
		go l.read()
	}
}

func (l *lines) refuse(int) {}

// state returns the connection that is open, and whether the replay is over.
func (l *lines) state() (conn string, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn, l.over
}

// read reads lines until stdin ends. Each is of the connection that is open.
func (l *lines) read() {
	in := bufio.NewScanner(l.in)
	in.Buffer(make([]byte, 64<<10), maxMessage)
	for in.Scan() {
		conn, over := l.state()
		if over {
			return
		}
		l.s.said(conn, transcript.Record{Kind: transcript.Frame, Type: "text", Bytes: bytes.Clone(in.Bytes())})
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		conn, _ := l.state()
		l.s.said(conn, transcript.Record{Kind: transcript.Failure,
			Bytes: fmt.Appendf(nil, "a line of more than %d bytes; nothing is read behind it", maxMessage)})
	}
}

var errBinary = errors.New("it is binary or has a line feed, and a message over stdio is a line of text")

func (l *lines) send(_ context.Context, _ string, r transcript.Record, body []byte) error {
	if r.Type == "binary" || bytes.IndexByte(body, '\n') >= 0 {
		return errBinary
	}
	if _, err := l.out.Write(append(bytes.Clone(body), '\n')); err != nil {
		return errNotOpen
	}
	return nil
}

func (l *lines) end(string, int, string, bool) {}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}
