package gate

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"

	wire "parley/transport/wire/ws"
)

// rawFrame is a frame as it is on the wire.
type rawFrame struct {
	op     wire.Opcode
	fin    bool
	length uint64
	raw    []byte // all of it; the header only if the frame is long
	long   bool   // the payload is still to be read
}

// readFrame reads the next frame. A payload longer than max is left unread. An error is returned with the bytes before
// it.
func readFrame(in *bufio.Reader, max int) (rawFrame, error) {
	var f rawFrame
	size := 2
	for have := 0; have < size; {
		b, err := in.Peek(size)
		if err != nil {
			f.raw = bytes.Clone(b)
			_, _ = in.Discard(len(b))
			return f, err
		}
		have, size = size, headerSize(b[1])
	}
	head, _ := in.Peek(size)
	f.op, f.fin = wire.Opcode(head[0]&0xF), head[0]&0x80 != 0
	switch n := head[1] & 0x7F; n {
	case 126:
		f.length = uint64(binary.BigEndian.Uint16(head[2:]))
	case 127:
		f.length = binary.BigEndian.Uint64(head[2:])
	default:
		f.length = uint64(n)
	}
	f.raw = append(f.raw, head...)
	_, _ = in.Discard(size)
	if f.length > uint64(max) {
		f.long = true
		return f, nil
	}
	payload := bytes.NewBuffer(f.raw)
	n, err := io.CopyN(payload, in, int64(f.length))
	f.raw = payload.Bytes()
	if n < int64(f.length) && err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return f, err
}

// isWhole reports whether the next frame can be read without waiting.
func isWhole(in *bufio.Reader) bool {
	n := in.Buffered()
	if n < 2 {
		return false
	}
	b, _ := in.Peek(n)
	size := headerSize(b[1])
	if n < size {
		return false
	}
	length := uint64(b[1] & 0x7F)
	switch length {
	case 126:
		length = uint64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		length = binary.BigEndian.Uint64(b[2:])
	}
	return uint64(n-size) >= length
}

// headerSize returns the size of a header, from its second byte.
func headerSize(b byte) int {
	n := 2
	switch b & 0x7F {
	case 126:
		n += 2
	case 127:
		n += 8
	}
	if b&0x80 != 0 {
		n += 4
	}
	return n
}

// left returns the length of the payload of a long frame as a number of bytes to copy.
func (f *rawFrame) left() int64 { return int64(min(f.length, math.MaxInt64)) }

// encodeFrame makes an unfragmented frame. The frames of a client are masked.
func encodeFrame(op wire.Opcode, payload []byte, masked bool) []byte {
	b := make([]byte, 0, len(payload)+14)
	b = append(b, 0x80|byte(op))
	bit := byte(0)
	if masked {
		bit = 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, bit|byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, bit|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, bit|127), uint64(n))
	}
	if !masked {
		return append(b, payload...)
	}
	var key [4]byte
	binary.BigEndian.PutUint32(key[:], rand.Uint32())
	b = append(b, key[:]...)
	at := len(b)
	b = append(b, payload...)
	for i := range payload {
		b[at+i] ^= key[i&3]
	}
	return b
}

// encodeMessage returns the encoder of messages towards a side.
func encodeMessage(masked bool) func(Message) []byte {
	return func(m Message) []byte {
		op := wire.Text
		if m.Binary {
			op = wire.Binary
		}
		return encodeFrame(op, m.Body, masked)
	}
}

// closeFrame makes a close frame.
func closeFrame(status uint16, reason string, masked bool) []byte {
	return encodeFrame(wire.Close, append(binary.BigEndian.AppendUint16(nil, status), reason...), masked)
}
