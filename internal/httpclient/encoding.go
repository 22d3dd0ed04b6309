package httpclient

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// AcceptEncoding is what browsers send, to loopback too. Every response of a client of New that is encoded so is
// decoded, and its header stays as it came.
const AcceptEncoding = "gzip, deflate, br, zstd"

const (
	maxCodings = 4       // encodings on top of one another; a body with more stays as it is
	maxWindow  = 8 << 20 // memory of a zstd stream, as browsers have it; brotli allows 16 MiB, the others 32 KiB
)

// Body is a response body that is decoded as it is read: what a server has flushed can be read at once. An encoding
// that is not known is left as it is.
type Body struct {
	raw     io.ReadCloser
	codings []string
	from    io.Reader    // decoded; nil before the first read
	broke   error        // that ended raw; nil: none yet
	pending atomic.Int64 // bytes received since something could be decoded
}

// Decode replaces the body of a response by a *Body, if it is encoded.
func Decode(resp *http.Response) {
	var codings []string
	for _, c := range strings.Split(strings.Join(resp.Header.Values("Content-Encoding"), ","), ",") {
		switch c = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(c)), "x-"); c {
		case "gzip", "deflate", "br", "zstd":
			codings = append(codings, c)
		case "", "identity":
		default:
			return
		}
	}
	if len(codings) == 0 || len(codings) > maxCodings || resp.Body == nil {
		return
	}
	slices.Reverse(codings) // the last one was applied last
	resp.Body = &Body{raw: resp.Body, codings: codings}
}

// Coding returns the encoding, as in Content-Encoding.
func (b *Body) Coding() string {
	list := slices.Clone(b.codings)
	slices.Reverse(list)
	return strings.Join(list, ", ")
}

// Pending returns the number of bytes received since anything could be decoded: of a body that is not at its end, they
// wait until the server flushes its compression.
func (b *Body) Pending() int64 { return b.pending.Load() }

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if b.from == nil {
		b.from = counted{b}
		for _, c := range b.codings {
			b.from = &decoder{coding: c, from: bufio.NewReaderSize(b.from, 4<<10), owner: b}
		}
	}
	n, err := b.from.Read(p)
	if n > 0 {
		b.pending.Store(0)
	}
	return n, err
}

// Close implements io.Closer.
func (b *Body) Close() error { return b.raw.Close() }

// counted counts what is received.
type counted struct{ b *Body }

func (c counted) Read(p []byte) (int, error) {
	n, err := c.b.raw.Read(p)
	c.b.pending.Add(int64(n))
	if err != nil {
		c.b.broke = err
	}
	return n, err
}

// decoder decodes one encoding. It opens its library's reader with the first byte, since those read a head at once.
type decoder struct {
	coding string
	from   *bufio.Reader
	owner  *Body
	open   io.Reader
}

func (d *decoder) Read(p []byte) (int, error) {
	if d.open == nil {
		if _, err := d.from.Peek(1); err != nil {
			return 0, err // an empty body is not encoded
		}
		var err error
		if d.open, err = d.startDecoding(); err != nil {
			return 0, d.decodeError(err)
		}
	}
	n, err := d.open.Read(p)
	if err != nil && err != io.EOF {
		err = d.decodeError(err)
	}
	return n, err
}

func (d *decoder) startDecoding() (io.Reader, error) {
	switch d.coding {
	case "gzip":
		return gzip.NewReader(d.from)
	case "br":
		return brotli.NewReader(d.from), nil
	case "zstd":
		return zstd.NewReader(d.from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
	}
	head, err := d.from.Peek(2) // deflate is zlib's format by the standard, and bare deflate with some servers
	if err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(d.from)
	}
	return flate.NewReader(d.from), nil
}

// decodeError is the error of a decoder: that of the connection, if this has broken off. What ends without the last
// bytes of its encoding has ended, as for browsers.
func (d *decoder) decodeError(err error) error {
	switch broke := d.owner.broke; {
	case broke == io.EOF && errors.Is(err, io.ErrUnexpectedEOF):
		return io.EOF
	case broke != nil && broke != io.EOF:
		return broke
	}
	return fmt.Errorf("the body cannot be decoded as %s, which Content-Encoding names: %w", d.coding, err)
}
