package sse

import "fmt"

// Kind tells what an [Item] is. The zero Kind is none of them.
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
	// Incomplete is what the stream's end left undispatched.
	Incomplete
	// Oversize is a block that was dropped because it passed a limit.
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

// Item is one thing that a stream said. It shares no memory with the chunks
// that it came from, nor with the Decoder.
type Item struct {
	Kind Kind

	// Type is the event type, "message" if the block gave none
	// (Event, Incomplete).
	Type string

	// Data is, with malformed UTF-8 replaced: the data lines joined by \n
	// (Event, Incomplete); what follows the colon, a leading space included
	// (Comment); which limit was passed (Oversize).
	Data string

	// ID is the last event id in force when the event was dispatched, from
	// whichever block it came (Event). For Incomplete it is the one that the
	// event would have had.
	ID string

	// HasID reports that the block itself carried a valid id field, an empty
	// one included (Event, Incomplete).
	HasID bool

	// Retry is the reconnection time in milliseconds, at most
	// [math.MaxInt64] (Retry).
	Retry int64

	// Fields are the fields in order, those without effect included: of the
	// block (Event, Incomplete), or the one retry field (Retry).
	Fields []Field

	// Raw is what was received, byte by byte. For Event and Incomplete it is
	// the block with its comments and line ends; for Comment and Retry the
	// line; for Oversize what was held of the block when it passed the limit.
	//
	// It ends with the byte that settled the item: where lines end in CRLF,
	// with the last CR. Comments before the block's first field are left out
	// if the block would pass Limits.MaxEvent by them.
	Raw []byte
}

// Field is one field line, with malformed UTF-8 replaced.
type Field struct {
	Name  string
	Value string // less one leading space
}
