package sse

import "fmt"

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
