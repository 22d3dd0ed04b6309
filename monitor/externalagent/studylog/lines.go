package studylog

import (
	"bufio"
	"errors"
	"io"
)

// lines cuts a log into its lines, and holds one at a time.
type lines struct {
	r   *bufio.Reader
	buf []byte
}

// line is one of them, without its end. Text is good until the next.
type line struct {
	text  []byte // nothing where it is long
	size  int    // in bytes, without its end
	ended bool   // by an LF
	long  bool   // more than MaxLine
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns io.EOF behind the last line. With another error what there is of the line is lost.
func (l *lines) next() (line, error) {
	l.buf = l.buf[:0]
	var at line
	for {
		part, err := l.r.ReadSlice('\n')
		at.ended = err == nil
		if at.ended {
			part = part[:len(part)-1]
		}
		at.size += len(part)
		if at.long = at.size > MaxLine; at.long {
			l.buf = l.buf[:0]
		} else {
			l.buf = append(l.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return line{}, err
		case err != nil && at.size == 0:
			return line{}, io.EOF
		}
		at.text = l.buf
		return at, nil
	}
}
