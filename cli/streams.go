package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// streams are the input and output of a command, with what is known about the terminal.
type streams struct {
	In                 io.Reader
	Out, Err           io.Writer
	OutTTY, ErrTTY     bool
	OutWidth, ErrWidth int       // columns; 0 if unknown
	Color              bool      // not disabled by NO_COLOR
	pipe               io.Writer // stdout of parley proxy before a command, whose Out is stderr
}

// terminal returns the streams of the process.
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
