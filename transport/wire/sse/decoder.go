// Package sse decodes event streams, the text/event-stream format of the HTML
// Living Standard, sections 9.2.5 and 9.2.6.
//
// A [Decoder] takes bytes in chunks of any size and returns [Item] values: the
// contents of the stream, in order, including what an EventSource hides
// (comments, retry, a byte order mark, unknown fields, the raw bytes, and a
// block cut off by the end of the stream).
//
// # The algorithm
//
//  1. One byte order mark at the very start is dropped and reported as [BOM].
//     Any other is text.
//  2. LF, CR and CRLF end a line, and may be mixed. A CR ends its line at
//     once; an LF that follows, in this chunk or a later one, is part of the
//     same line end.
//  3. Malformed UTF-8 becomes U+FFFD, one for each maximal subpart, as in the
//     Encoding Standard. It never swallows a line end.
//  4. A line that starts with a colon is a comment, reported as [Comment] at
//     once, anywhere in a block.
//  5. Any other line is a field: the name is what precedes the first colon, or
//     the whole line; the value is the rest, without one leading space.
//     Names are compared exactly.
//     event sets the type. data appends a line. id sets the last event id,
//     unless the value holds a NUL. retry, if the value is ASCII digits only
//     and not empty, is reported as [Retry] at once, and takes effect even if
//     its block never ends. Other fields are kept in [Item.Fields] and have no
//     effect.
//  6. A blank line ends the block. The last event id is committed. If the
//     block had a data field it is reported as [Event], of type "message" if
//     the type is empty; a block without data is dropped. The type and the
//     data are reset; the last event id stays.
//  7. At the end of the stream a block that was not ended by a blank line is
//     not dispatched, and its id is not committed. If it had a field, or if
//     the last line was not ended, it is reported as [Incomplete].
//  8. A line or block beyond the [Limits] is reported as [Oversize] and dropped,
//     its id included. Everything up to the next blank line is skipped,
//     comments and retry too.
//
// The items depend only on the bytes, never on how they were cut into chunks;
// each is returned by the call that supplied the byte that completed it.
//
// The package does no I/O. A Decoder is for one stream and one goroutine.
package sse

import (
	"bytes"
	"fmt"
)

// mostUsual is the largest number of items for which a call makes room before it
// knows how many there are.
const mostUsual = 256

const bom = "\xEF\xBB\xBF"

// Defaults of [Limits].
const (
	DefaultMaxLine  = 1 << 20
	DefaultMaxEvent = 8 << 20
)

// Limits bound what a [Decoder] holds, which is at most MaxEvent + MaxLine
// bytes of the stream. The Fields of a block of many short lines take several
// times its size. A zero or negative limit means its default.
type Limits struct {
	// MaxLine is the maximum length of a line in bytes, without its line end.
	// Default: 1 MiB.
	MaxLine int

	// MaxEvent is the maximum length of a block in bytes: all its lines and their
	// line ends, from its first field, without the blank line. Default: 8 MiB.
	MaxEvent int
}

// Decoder decodes one stream. A reconnection needs a new one: no state carries
// over to a new stream. It is not safe for concurrent use.
type Decoder struct {
	limits Limits

	marked  int  // bytes seen of a possible byte order mark
	started bool // past the place for a byte order mark
	closed  bool

	raw      []byte // the block so far
	line     int    // where its current line starts
	lead     int    // where its first field starts, if there is one
	count    int    // of its fields
	afterCR  bool   // an LF now belongs to the previous line end
	skipping bool   // resynchronising after Oversize
	blank    bool   // while skipping: the current line is empty so far

	lastID string
	slab   slab // of the items that the current call returns
	usual  int  // number of items for which the next call makes room
}

// NewDecoder returns a Decoder for a new stream.
func NewDecoder(limits Limits) *Decoder {
	if limits.MaxLine <= 0 {
		limits.MaxLine = DefaultMaxLine
	}
	if limits.MaxEvent <= 0 {
		limits.MaxEvent = DefaultMaxEvent
	}
	return &Decoder{limits: limits}
}

// Feed takes the next chunk of the stream and returns the items that it
// completed, nil if none. It does not retain p. After Close it does nothing.
// The items of one call may share memory with each other, in parts of at most
// 4 KiB: whoever keeps one of many keeps up to that.
func (d *Decoder) Feed(p []byte) []Item {
	if d.closed {
		return nil
	}
	items := make([]Item, 0, d.usual)
	if !d.started {
		p = d.skipBOM(p, &items)
	}
	for at, ends := 0, unknown; at < len(p); {
		if d.afterCR {
			d.afterCR = false
			if p[at] == '\n' {
				d.endCRLF()
				at++
				continue
			}
		}
		end := ends.nextLineEnd(p, at)
		d.addText(p[at:end], &items)
		if end == len(p) {
			break
		}
		d.slab.ahead = len(p) - end
		d.endLine(p[end], &items)
		at = end + 1
	}
	d.slab = slab{}
	d.usual = min(len(items)+len(items)/8, mostUsual) // the next chunk may hold a few more
	if len(items) == 0 {
		return nil
	}
	return items
}

// Close ends the stream and returns the undispatched rest, if any. A second
// call returns nil.
func (d *Decoder) Close() []Item {
	if d.closed {
		return nil
	}
	d.closed = true
	var items []Item
	if !d.started {
		d.addText([]byte(bom[:d.marked]), &items)
	}
	if d.count > 0 || d.line < len(d.raw) {
		b := readBlock(d.raw, d.count+1, &d.slab)
		items = append(items, b.newItem(Incomplete, d.lastID, d.slab.copyBytes(d.raw)))
	}
	d.resetBlock()
	return items
}

// LastEventID returns the id that a reconnection would send in Last-Event-ID:
// the one committed by the latest blank line. It is empty if there is none.
func (d *Decoder) LastEventID() string { return d.lastID }

// skipBOM looks for the byte order mark and returns the bytes after it.
func (d *Decoder) skipBOM(p []byte, items *[]Item) []byte {
	for len(p) > 0 && p[0] == bom[d.marked] {
		d.marked++
		p = p[1:]
		if d.marked == len(bom) {
			d.started = true
			*items = append(*items, Item{Kind: BOM, Raw: []byte(bom)})
			return p
		}
	}
	if len(p) > 0 {
		d.started = true
		d.addText([]byte(bom[:d.marked]), items)
	}
	return p
}

// addText takes a part of a line that contains no line end.
func (d *Decoder) addText(p []byte, items *[]Item) {
	if len(p) == 0 {
		return
	}
	if d.skipping {
		d.blank = false
		return
	}
	if room := d.limits.MaxLine - (len(d.raw) - d.line); len(p) > room {
		d.raw = append(d.raw, p[:room]...)
		d.dropOversized(fmt.Sprintf("line longer than %d bytes", d.limits.MaxLine), items)
		d.blank = false
		return
	}
	d.raw = append(d.raw, p...)
}

// endLine takes the line end c: an LF, or a CR that an LF may follow.
func (d *Decoder) endLine(c byte, items *[]Item) {
	d.afterCR = c == '\r'
	if d.skipping {
		d.skipping = !d.blank
		d.blank = true
		return
	}
	length := len(d.raw) - d.line
	d.raw = append(d.raw, c)
	if length == 0 {
		d.dispatchBlock(items)
		return
	}
	d.readLine(d.raw[d.line:], d.raw[d.line:d.line+length], items)
	d.line = len(d.raw)
	d.fitBlock(items)
}

// endCRLF takes the LF of a CRLF. It goes to the block's raw bytes, unless the
// block was dispatched on the CR.
func (d *Decoder) endCRLF() {
	if len(d.raw) > 0 {
		d.raw = append(d.raw, '\n')
		d.line++
	}
}

// readLine applies the effects that a line has before its block ends. raw is line
// with its line end.
func (d *Decoder) readLine(raw, line []byte, items *[]Item) {
	if line[0] == ':' {
		*items = append(*items, Item{Kind: Comment, Data: d.slab.decodeString(line[1:]), Raw: d.slab.copyBytes(raw)})
		return
	}
	if d.count == 0 {
		d.lead = d.line
	}
	d.count++
	if line[0] != 'r' || !bytes.HasPrefix(line, []byte("retry:")) {
		return
	}
	f := splitField(decodeUTF8(line))
	if ms, ok := retryTime(f.Value); ok {
		*items = append(*items, Item{Kind: Retry, Retry: ms, Fields: []Field{f}, Raw: bytes.Clone(raw)})
	}
}

// dispatchBlock ends the block.
func (d *Decoder) dispatchBlock(items *[]Item) {
	if d.count > 0 {
		b := readBlock(d.raw, d.count, &d.slab)
		if b.hasID {
			d.lastID = b.id
		}
		if b.hasData {
			*items = append(*items, b.newItem(Event, d.lastID, d.slab.copyBytes(d.raw)))
		}
	}
	d.resetBlock()
}

// fitBlock keeps the block within MaxEvent. It first drops comments before the first
// field: a stream may consist of them, and they were already reported.
func (d *Decoder) fitBlock(items *[]Item) {
	if len(d.raw) <= d.limits.MaxEvent {
		return
	}
	if d.count == 0 {
		d.resetBlock()
		return
	}
	d.raw = append(d.raw[:0], d.raw[d.lead:]...)
	d.line -= d.lead
	d.lead = 0
	if len(d.raw) > d.limits.MaxEvent {
		d.dropOversized(fmt.Sprintf("event longer than %d bytes", d.limits.MaxEvent), items)
		d.blank = true
	}
}

// dropOversized drops the block.
func (d *Decoder) dropOversized(why string, items *[]Item) {
	*items = append(*items, Item{Kind: Oversize, Data: why, Raw: bytes.Clone(d.raw)})
	d.resetBlock()
	d.skipping = true
}

// resetBlock starts a new block. It releases a large buffer, so that one large event
// does not take memory for the rest of the stream.
func (d *Decoder) resetBlock() {
	const keep = 64 << 10
	d.raw = d.raw[:0]
	if cap(d.raw) > keep {
		d.raw = nil
	}
	d.line, d.lead, d.count = 0, 0, 0
}

// ends finds the line ends of a text one after the other. Each byte is searched
// once for LFs and once for CRs.
type ends struct{ lf, cr int }

// unknown is where the line ends are before the first search.
var unknown = ends{-1, -1}

// nextLineEnd returns the index of the first line end in p from at; len(p) if none.
func (e *ends) nextLineEnd(p []byte, at int) int {
	if e.lf < at {
		e.lf = indexFrom(p, at, '\n')
	}
	if e.cr < at {
		e.cr = indexFrom(p, at, '\r')
	}
	return min(e.lf, e.cr)
}

func indexFrom(p []byte, at int, c byte) int {
	if i := bytes.IndexByte(p[at:], c); i >= 0 {
		return at + i
	}
	return len(p)
}
