package fault

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"time"

	"parley/internal/faultrule"
	"parley/simulator/gate"
	"parley/transport/transcript"
)

// pause is the time between two writes, so that they are not sent as one.
const pause = 5 * time.Millisecond

// maxDribble is the number of bytes of a message that are sent one at a time; the rest is sent in one write.
const maxDribble = 64 << 10

// piecesWriter makes the writes of a message; changed says that they differ from the usual single write.
type piecesWriter func(raw []byte) (all iter.Seq[gate.Piece], changed bool)

// pieceSequence returns the pieces as a sequence.
func pieceSequence(all ...gate.Piece) iter.Seq[gate.Piece] {
	return func(yield func(gate.Piece) bool) {
		for _, p := range all {
			if !yield(p) {
				return
			}
		}
	}
}

// bytesWriter returns the function by which a fault of the bytes writes a message; nil if it does not apply to this
// transport.
func bytesWriter(r *faultrule.Rule, m gate.Message) piecesWriter {
	stream := m.Kind == transcript.Stream
	switch r.Do {
	case "half-close":
		return func([]byte) (iter.Seq[gate.Piece], bool) { return pieceSequence(gate.Piece{Half: true}), true }
	case "cut":
		return func(raw []byte) (iter.Seq[gate.Piece], bool) {
			return pieceSequence(gate.Piece{Bytes: raw[:min(r.N, len(raw))], Half: true}), true
		}
	case "split":
		return func(raw []byte) (iter.Seq[gate.Piece], bool) {
			if r.N >= len(raw) {
				return pieceSequence(gate.Piece{Bytes: raw}), false
			}
			return pieceSequence(gate.Piece{Bytes: raw[:r.N]}, gate.Piece{After: pause, Bytes: raw[r.N:]}), true
		}
	case "dribble":
		return func(raw []byte) (iter.Seq[gate.Piece], bool) { return writeBytewise(raw), len(raw) > 1 }
	case "slow":
		return func(raw []byte) (iter.Seq[gate.Piece], bool) { return writeSlowly(raw, r.N), true }
	case "pad":
		return func(raw []byte) (iter.Seq[gate.Piece], bool) { return padContent(raw, m, r.N) }
	}
	if !stream {
		if r.Do == "fragments" {
			return func([]byte) (iter.Seq[gate.Piece], bool) { return writeFragments(m, r.N), true }
		}
		return nil
	}
	switch r.Do {
	case "bom":
		return func(raw []byte) (iter.Seq[gate.Piece], bool) {
			return pieceSequence(gate.Piece{Bytes: append([]byte(faultrule.ByteOrderMark), raw...)}), true
		}
	case "cr-only":
		return func(raw []byte) (iter.Seq[gate.Piece], bool) {
			text := bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\r"))
			text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r"))
			return pieceSequence(gate.Piece{Bytes: text}), !bytes.Equal(text, raw)
		}
	case "comments":
		return func(raw []byte) (iter.Seq[gate.Piece], bool) { return writeComments(raw, r.N), true }
	}
	return nil
}

// writeBytewise writes one byte at a time.
func writeBytewise(raw []byte) iter.Seq[gate.Piece] {
	return func(yield func(gate.Piece) bool) {
		n := min(len(raw), maxDribble)
		for i := range n {
			if !yield(gate.Piece{Bytes: raw[i : i+1]}) {
				return
			}
		}
		yield(gate.Piece{Bytes: raw[n:]})
	}
}

// writeSlowly writes at the rate of a slow reader.
func writeSlowly(raw []byte, rate int) iter.Seq[gate.Piece] {
	size := max(1, rate/10)
	after := time.Duration(float64(time.Second) * float64(size) / float64(rate))
	return func(yield func(gate.Piece) bool) {
		for len(raw) > 0 {
			n := min(size, len(raw))
			if !yield(gate.Piece{After: after, Bytes: raw[:n]}) {
				return
			}
			raw = raw[n:]
		}
	}
}

// writeComments writes n comment lines before an event.
func writeComments(raw []byte, n int) iter.Seq[gate.Piece] {
	const line, at = ": flood\n", 1000
	return func(yield func(gate.Piece) bool) {
		for left := n; left > 0; left -= at {
			if !yield(gate.Piece{Bytes: bytes.Repeat([]byte(line), min(left, at))}) {
				return
			}
		}
		yield(gate.Piece{Bytes: raw})
	}
}

// padContent writes white space before the content, so that the content becomes size bytes long. It allocates no memory
// for it.
func padContent(raw []byte, m gate.Message, size int) (iter.Seq[gate.Piece], bool) {
	room := size - len(m.Body)
	head, rest := []byte(nil), raw
	if m.Kind == transcript.Stream {
		at := dataAt(raw)
		if at < 0 {
			room = 0
		} else {
			head, rest = raw[:at], raw[at:]
		}
	} else if room > 0 {
		head, rest = frameHead(true, opcodeOf(m), size, m.From == gate.Client), m.Body
	}
	if room <= 0 {
		return pieceSequence(gate.Piece{Bytes: raw}), false
	}
	return func(yield func(gate.Piece) bool) {
		if !yield(gate.Piece{Bytes: head}) {
			return
		}
		spaces := bytes.Repeat([]byte(" "), min(room, 32<<10))
		for left := room; left > 0; left -= len(spaces) {
			if !yield(gate.Piece{Bytes: spaces[:min(left, len(spaces))]}) {
				return
			}
		}
		yield(gate.Piece{Bytes: rest})
	}, true
}

// dataAt returns where the value of the first data line of a block begins; -1 if there is none.
func dataAt(raw []byte) int {
	for at := 0; at < len(raw); {
		line := raw[at:]
		if bytes.HasPrefix(line, []byte("data:")) {
			at += len("data:")
			if at < len(raw) && raw[at] == ' ' {
				at++
			}
			return at
		}
		next := bytes.IndexAny(line, "\r\n")
		if next < 0 {
			return -1
		}
		at += next + 1
	}
	return -1
}

// writeFragments writes a message in n frames; if there are more frames than bytes, some are empty.
func writeFragments(m gate.Message, n int) iter.Seq[gate.Piece] {
	return func(yield func(gate.Piece) bool) {
		for i := range n {
			part := m.Body[len(m.Body)*i/n : len(m.Body)*(i+1)/n]
			op := byte(0)
			if i == 0 {
				op = opcodeOf(m)
			}
			frame := append(frameHead(i == n-1, op, len(part), m.From == gate.Client), part...)
			if !yield(gate.Piece{Bytes: frame}) {
				return
			}
		}
	}
}

func opcodeOf(m gate.Message) byte {
	if m.Binary {
		return 2
	}
	return 1
}

// frameHead makes the header of a frame. The mask of a client is zero, which leaves the payload as it is.
func frameHead(fin bool, op byte, size int, masked bool) []byte {
	if fin {
		op |= 0x80
	}
	bit := byte(0)
	if masked {
		bit = 0x80
	}
	b := []byte{op}
	switch {
	case size < 126:
		b = append(b, bit|byte(size))
	case size <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, bit|126), uint16(size))
	default:
		b = binary.BigEndian.AppendUint64(append(b, bit|127), uint64(size))
	}
	if masked {
		b = append(b, 0, 0, 0, 0)
	}
	return b
}
