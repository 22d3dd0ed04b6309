package rawhttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
)

// Framing says how the end of a body is found.
type Framing int

// The framings.
const (
	None    Framing = iota // there is no body
	Length                 // Content-Length
	Chunked                // Transfer-Encoding: chunked
	Closing                // the body ends with its connection
)

// maxLine bounds a line of the chunked framing, and the trailer.
const maxLine = 16 << 10

// pieceSize bounds a piece that Body.Next returns.
const pieceSize = 32 << 10

// Body reads a body in pieces. It is not safe for concurrent use.
type Body struct {
	Framing Framing
	in      *bufio.Reader
	left    int64 // bytes of data until the end of the body or chunk
	state   state
	buf     []byte
}

// state is the position in a chunked body.
type state int

const (
	size    state = iota // before the size of a chunk
	data                 // within its data
	after                // before the line end that follows it
	trailer              // after the last chunk
	over
)

// RequestBody returns the body of a request; in must be positioned after its head.
func RequestBody(r *http.Request, in *bufio.Reader) *Body {
	b := newBody(r.TransferEncoding, r.ContentLength, in)
	if b.Framing == Closing { // a request without a length has no body
		b.Framing = None
	}
	return b
}

// ResponseBody returns the body of a response to a request of a method.
func ResponseBody(r *http.Response, method string, in *bufio.Reader) *Body {
	if method == http.MethodHead || r.StatusCode < 200 || r.StatusCode == http.StatusNoContent ||
		r.StatusCode == http.StatusNotModified {
		return &Body{in: in}
	}
	return newBody(r.TransferEncoding, r.ContentLength, in)
}

func newBody(encoding []string, length int64, in *bufio.Reader) *Body {
	b := &Body{in: in}
	switch {
	case slices.Contains(encoding, "chunked"):
		b.Framing = Chunked
	case length > 0:
		b.Framing, b.left = Length, length
	case length < 0:
		b.Framing = Closing
	}
	return b
}

// Next returns the next piece: raw contains all bytes, content those that are not framing. Both are valid
// until the next call. The error is io.EOF, with no bytes, at the end of the body, and io.ErrUnexpectedEOF, with the
// preceding bytes, if the connection ends within the body.
func (b *Body) Next() (raw, content []byte, err error) {
	switch b.Framing {
	case None:
		return nil, nil, io.EOF
	case Length:
		if b.left == 0 {
			return nil, nil, io.EOF
		}
		raw, err = b.readSome()
		return raw, raw, brokenError(err)
	case Closing:
		b.left = pieceSize
		raw, err = b.readSome()
		return raw, raw, err
	}
	return b.readChunk()
}

// readSome reads the available bytes, at least one and at most left.
func (b *Body) readSome() ([]byte, error) {
	if b.buf == nil {
		b.buf = make([]byte, pieceSize)
	}
	n, err := b.in.Read(b.buf[:min(b.left, pieceSize)])
	b.left -= int64(n)
	if n > 0 {
		err = nil // the next call returns it again
	}
	return b.buf[:n], err
}

func (b *Body) readChunk() (raw, content []byte, err error) {
	switch b.state {
	case over:
		return nil, nil, io.EOF
	case data:
		raw, err = b.readSome()
		if b.left == 0 {
			b.state = after
		}
		return raw, raw, brokenError(err)
	}
	line, err := b.in.ReadSlice('\n')
	line = bytes.Clone(line)
	if err != nil {
		return line, nil, brokenError(err)
	}
	text := bytes.TrimRight(line, "\r\n")
	switch b.state {
	case size:
		text, _, _ = bytes.Cut(text, []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 16, 62)
		if err != nil {
			return line, nil, fmt.Errorf("not the size of a chunk: %.40q", text)
		}
		b.left, b.state = int64(n), data
		if n == 0 {
			b.state = trailer
		}
	case after:
		b.state = size
		if len(text) > 0 {
			return line, nil, errors.New("a chunk is longer than its size says")
		}
	case trailer:
		if b.left += int64(len(line)); b.left > maxLine {
			return line, nil, fmt.Errorf("a trailer of more than %d bytes", maxLine)
		}
		if len(text) == 0 {
			b.state = over
		}
	}
	return line, nil, nil
}

// Trailing reports whether the last chunk has been read: Next then returns the trailer.
func (b *Body) Trailing() bool {
	return b.Framing == Chunked && (b.state == trailer || b.state == over)
}

// Ended reports whether all content has been read, as far as that is known before the connection ends.
func (b *Body) Ended() bool {
	return b.Framing == None || b.Framing == Length && b.left == 0 || b.Trailing()
}

// brokenError returns the error of a connection that ended within a body.
func brokenError(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Chunk frames data as one chunk; nil for no data, which would end the body.
func Chunk(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	b := strconv.AppendInt(nil, int64(len(data)), 16)
	b = append(b, "\r\n"...)
	b = append(b, data...)
	return append(b, "\r\n"...)
}

// LastChunk ends a chunked body that has no trailer.
const LastChunk = "0\r\n\r\n"
