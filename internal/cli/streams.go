package cli

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// streams are the input and output of a command, with what is known about the terminal.
type streams struct {
	In                 io.Reader
	Out, Err           io.Writer
	OutTTY, ErrTTY     bool
	OutWidth, ErrWidth int       // columns; 0 if unknown
	Color              bool      // not disabled by NO_COLOR
	name               string    // of the program in errors; "": that of all commands
	pipe               io.Writer // stdout of parley proxy before a command, whose Out is stderr
}

// terminal returns the streams of the process.
func terminal() *streams {
	s := &streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Color: os.Getenv("NO_COLOR") == ""}
	s.OutTTY, s.OutWidth = tty(os.Stdout)
	s.ErrTTY, s.ErrWidth = tty(os.Stderr)
	return s
}

// sink passes on what a command prints, and keeps the first error: what a command has found is worth nothing if nobody
// gets to read it, as on a full disk.
type sink struct {
	w io.Writer

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (s *sink) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			s.err = err
		}
	}
	return n, err
}

// lost returns the error of a command, or that of its output if that was lost and the command would not fail for it.
func (s *sink) lost(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var said exitError
	if s.err != nil && (err == nil || errors.As(err, &said)) {
		return s.err
	}
	return err
}

func tty(f *os.File) (bool, int) {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) {
		return false, 0
	}
	width, _, err := term.GetSize(fd)
	if err != nil {
		return true, 0
	}
	return true, width
}
