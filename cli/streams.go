package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// streams are where a command reads and writes, and what is known about who reads there.
type streams struct {
	In                 io.Reader
	Out, Err           io.Writer
	OutTTY, ErrTTY     bool
	OutWidth, ErrWidth int  // columns; 0 where nobody knows
	Color              bool // nobody asked for none (NO_COLOR)
}

// terminal is the process's own streams.
func terminal() *streams {
	s := &streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Color: os.Getenv("NO_COLOR") == ""}
	s.OutTTY, s.OutWidth = tty(os.Stdout)
	s.ErrTTY, s.ErrWidth = tty(os.Stderr)
	return s
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
