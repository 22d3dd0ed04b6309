package sse

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// block is the result of the fields of one block.
type block struct {
	event   string
	data    string
	hasData bool
	id      string
	hasID   bool
	fields  []Field
}

// readBlock parses the lines of raw, which starts at the start of a line. A
// last line without a line end is read as if it had one. count is the most fields
// that it has. If raw is UTF-8, names and values share one string.
func readBlock(raw []byte, count int, slab *slab) block {
	var (
		b     block
		few   [8]string
		data  = few[:0]
		valid = utf8.Valid(raw)
		whole string
	)
	if valid {
		whole = slab.plainString(raw)
	}
	b.fields = slab.reserveFields(count)
	for at, ends := 0, unknown; at < len(raw); {
		end := ends.nextLineEnd(raw, at)
		from := at
		if at = end + 1; at < len(raw) && raw[end] == '\r' && raw[at] == '\n' {
			at++
		}
		if from == end || raw[from] == ':' {
			continue
		}
		line := ""
		if valid {
			line = whole[from:end]
		} else {
			line = decodeUTF8(raw[from:end])
		}
		f := splitField(line)
		b.fields = append(b.fields, f)
		switch f.Name {
		case "event":
			b.event = f.Value
		case "data":
			data = append(data, f.Value)
		case "id":
			if strings.IndexByte(f.Value, 0) < 0 {
				b.id, b.hasID = f.Value, true
			}
		}
	}
	b.fields = slab.keepFields(b.fields)
	b.data, b.hasData = strings.Join(data, "\n"), len(data) > 0
	return b
}

// newItem returns b as an item of a kind; lastID was in force before it. It keeps
// raw.
func (b block) newItem(kind Kind, lastID string, raw []byte) Item {
	it := Item{
		Kind:   kind,
		Type:   b.event,
		Data:   b.data,
		ID:     lastID,
		HasID:  b.hasID,
		Fields: b.fields,
		Raw:    raw,
	}
	if it.Type == "" {
		it.Type = "message"
	}
	if b.hasID {
		it.ID = b.id
	}
	return it
}

// splitField parses a line that is neither empty nor a comment.
func splitField(line string) Field {
	name, value, _ := strings.Cut(line, ":")
	return Field{Name: name, Value: strings.TrimPrefix(value, " ")}
}

// retryTime returns the number of milliseconds in value. A time too large for
// an int64 is valid by the standard, and capped.
func retryTime(value string) (ms int64, ok bool) {
	if value == "" {
		return 0, false
	}
	for i := range len(value) {
		if value[i] < '0' || value[i] > '9' {
			return 0, false
		}
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return math.MaxInt64, true
	}
	return ms, true
}

// Kind is the kind of an [Item]. The zero Kind is none of them.
type Kind uint8

const (
	// Event is a dispatched event.
	Event Kind = iota + 1
	// Comment is one comment line.
	Comment
	// Retry is a valid retry field.
	Retry
	// BOM is the byte order mark that opened the stream.
	BOM
	// Incomplete is a block that the end of the stream left undispatched.
	Incomplete
	// Oversize is a block that was dropped because it exceeded a limit.
	Oversize
)

var kindNames = [...]string{"none", "event", "comment", "retry", "bom", "incomplete", "oversize"}

// String returns the name in lower case, such as "event".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Item is one element of a stream. It shares no memory with the chunks it came
// from, nor with the Decoder.
type Item struct {
	Kind Kind

	// Type is the event type, "message" if the block gave none (Event,
	// Incomplete).
	Type string

	// Data is, with malformed UTF-8 replaced: the data lines joined by \n
	// (Event, Incomplete); the text after the colon, including a leading space
	// (Comment); the limit that was exceeded (Oversize).
	Data string

	// ID is the last event id in force when the event was dispatched, whichever
	// block set it (Event). For Incomplete it is the id that the event would have
	// had.
	ID string

	// HasID reports whether the block itself carried a valid id field, even an
	// empty one (Event, Incomplete).
	HasID bool

	// Retry is the reconnection time in milliseconds, at most
	// [math.MaxInt64] (Retry).
	Retry int64

	// Fields are the fields in order, including those without effect: of the block
	// (Event, Incomplete), or the one retry field (Retry).
	Fields []Field

	// Raw is the received bytes. For Event and Incomplete it is the block with its
	// comments and line ends; for Comment and Retry the line; for Oversize the
	// part of the block held when it exceeded the limit.
	//
	// It ends with the byte that completed the item: if lines end in CRLF, with
	// the last CR. Comments before the block's first field are left out if they
	// would take the block over Limits.MaxEvent.
	Raw []byte
}

// Field is one field line, with malformed UTF-8 replaced.
type Field struct {
	Name  string
	Value string // without one leading space
}

// slabSize is the most memory, in bytes, that parts of items share. What is
// longer than a quarter of it has its own.
const slabSize = 4 << 10

// slab is memory for the items of one call, so that allocations grow with
// chunks and not with items. Its zero value is ready.
type slab struct {
	ahead int // bytes of the chunk that are not read yet: what is needed is likely to be as long
	texts strings.Builder
	raws  []byte
	spare []Field
}

// decodeString returns b as a string, decoded.
func (s *slab) decodeString(b []byte) string {
	if !utf8.Valid(b) {
		return decodeUTF8(b)
	}
	return s.plainString(b)
}

// plainString returns b, which is UTF-8, as a string.
func (s *slab) plainString(b []byte) string {
	if len(b) > slabSize/4 {
		return string(b)
	}
	if s.texts.Cap()-s.texts.Len() < len(b) {
		s.texts.Reset() // what was returned stays
		s.texts.Grow(s.slabSize(len(b)))
	}
	from := s.texts.Len()
	s.texts.Write(b)
	return s.texts.String()[from:]
}

// copyBytes returns a copy of b.
func (s *slab) copyBytes(b []byte) []byte {
	if len(b) > slabSize/4 {
		return bytes.Clone(b)
	}
	if cap(s.raws)-len(s.raws) < len(b) {
		s.raws = make([]byte, 0, s.slabSize(len(b)))
	}
	from := len(s.raws)
	s.raws = append(s.raws, b...)
	return s.raws[from:len(s.raws):len(s.raws)]
}

// slabSize returns the size of a slab that begins with n bytes.
func (s *slab) slabSize(n int) int { return min(n+s.ahead, slabSize) }

// reserveFields returns a slice with room for n fields, to be handed to keepFields.
func (s *slab) reserveFields(n int) []Field {
	if len(s.spare) < n {
		s.spare = make([]Field, max(n, min(s.ahead/16, 64)))
	}
	return s.spare[:0:n]
}

// keepFields returns the fields that were appended to what fields returned.
func (s *slab) keepFields(f []Field) []Field {
	s.spare = s.spare[len(f):]
	return f[:len(f):len(f)]
}

// decodeUTF8 returns b as a string, with U+FFFD for each maximal subpart of a
// malformed sequence, as the Encoding Standard requires. strings.ToValidUTF8
// would write one for a whole run, a range loop one for each byte.
func decodeUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	s.Grow(len(b) + len(b)/2)
	from := 0 // of the well-formed bytes before i that are not written yet
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		if _, n := utf8.DecodeRune(b[i:]); n > 1 {
			i += n
			continue
		}
		s.Write(b[from:i])
		s.WriteString("\uFFFD")
		i += malformedLength(b[i:])
		from = i
	}
	s.Write(b[from:])
	return s.String()
}

// malformedLength returns the length of the malformed sequence that b starts with: the
// longest prefix of a well-formed one, or a single byte that cannot start any.
func malformedLength(b []byte) int {
	// The second byte is bounded by the first (Unicode, table 3-7); later ones
	// are 80..BF.
	low, high, length := byte(0x80), byte(0xBF), 0
	switch lead := b[0]; {
	case lead >= 0xC2 && lead <= 0xDF:
		length = 2
	case lead >= 0xE0 && lead <= 0xEF:
		length = 3
	case lead >= 0xF0 && lead <= 0xF4:
		length = 4
	}
	switch b[0] {
	case 0xE0:
		low = 0xA0
	case 0xED:
		high = 0x9F
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	n := 1
	for n < length && n < len(b) && b[n] >= low && b[n] <= high {
		n++
		low, high = 0x80, 0xBF
	}
	return n
}
