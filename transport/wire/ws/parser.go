package ws

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Defaults of [Limits].
const (
	DefaultMaxPayload = 1 << 20
	DefaultMaxMessage = 8 << 20
)

// mostUsual is the largest number of items for which a call makes room before it knows how many there are.
const mostUsual = 256

// maxControl is the maximum length of a control frame's payload (5.5).
const maxControl = 125

// Limits bound what a [Parser] keeps. A zero or negative limit means its default.
type Limits struct {
	// MaxPayload is the number of bytes that an [Item] keeps of a frame's payload; for a control frame at least 125.
	// Default: 1 MiB.
	MaxPayload int

	// MaxMessage is the maximum length of a frame, and of a message with all its fragments, in bytes. Exceeding it is a
	// fault, reported once per message. Default: 8 MiB.
	MaxMessage int64
}

// Parser reads the frames of one direction of a connection. It is not safe for concurrent use.
type Parser struct {
	fromServer bool
	limits     Limits
	items      []Item
	usual      int    // number of items for which the next call makes room
	slab       []byte // of the payloads that complete in the current chunk

	head [14]byte // of the frame being read
	have int      // bytes received of it
	lost bool     // the start of the next frame is unknown

	inside  bool   // within the payload of frame
	frame   Item   // set once its header is complete
	left    uint64 // bytes of its payload still missing
	judge   bool   // its payload is text to be checked
	mask    [4]byte
	scratch []byte

	message message
	closed  bool // a close frame has come
}

// message is the state of a message whose last fragment has not come.
type message struct {
	open  bool
	size  uint64
	large bool // already reported
	judge bool // it is text, and valid so far
	text  text
}

// NewParser returns a Parser for what a server sends, or a client if fromServer is false.
func NewParser(fromServer bool, limits Limits) *Parser {
	if limits.MaxPayload <= 0 {
		limits.MaxPayload = DefaultMaxPayload
	}
	if limits.MaxMessage <= 0 {
		limits.MaxMessage = DefaultMaxMessage
	}
	return &Parser{fromServer: fromServer, limits: limits}
}

// Feed takes the next chunk of the stream and returns the items that it completed, nil if none. It neither retains
// nor changes b.
func (p *Parser) Feed(b []byte) []Item {
	p.items = make([]Item, 0, p.usual)
	for len(b) > 0 && !p.lost {
		if p.inside {
			n := int(min(p.left, uint64(len(b))))
			p.readPayload(b[:n], len(b)-n)
			b = b[n:]
			continue
		}
		n := copy(p.head[p.have:p.headerSize()], b)
		p.have += n
		b = b[n:]
		if p.have == p.headerSize() {
			p.parseHeader()
		}
	}
	items := p.items
	p.items, p.slab = nil, nil
	p.usual = min(len(items)+len(items)/8, mostUsual) // the next chunk may hold a few more
	if len(items) == 0 {
		return nil
	}
	return items
}

// End ends the stream. It returns a fault if that is inside a frame or a message, otherwise nil.
func (p *Parser) End() []Item {
	if p.lost {
		return nil
	}
	p.lost = true
	switch {
	case p.inside:
		p.fault(fmt.Sprintf("the stream ended inside a %v frame, %d bytes short", p.frame.Opcode, p.left))
	case p.have > 0:
		p.frame = Item{}
		p.fault("the stream ended inside a frame's header")
	case p.message.open:
		p.fault("the stream ended inside a fragmented message")
	}
	return p.items
}

// headerSize returns the size of the header, as far as its received bytes determine it.
func (p *Parser) headerSize() int {
	if p.have < 2 {
		return 2
	}
	n := 2
	switch p.head[1] & 0x7F {
	case 126:
		n += 2
	case 127:
		n += 8
	}
	if p.head[1]&0x80 != 0 {
		n += 4
	}
	return n
}

func (p *Parser) fault(what string) {
	it := p.frame
	it.Payload, it.Fault = nil, what
	p.items = append(p.items, it)
}

// parseHeader parses a complete header.
func (p *Parser) parseHeader() {
	h := p.head[:p.have]
	p.have = 0
	p.frame = Item{Opcode: Opcode(h[0] & 0xF), Fin: h[0]&0x80 != 0, RSV: h[0] >> 4 & 7, Masked: h[1]&0x80 != 0}
	least := uint64(0)
	switch h[1] & 0x7F {
	case 126:
		p.frame.Length, least = uint64(binary.BigEndian.Uint16(h[2:])), 126
	case 127:
		p.frame.Length, least = binary.BigEndian.Uint64(h[2:]), 1<<16
	default:
		p.frame.Length = uint64(h[1] & 0x7F)
	}
	if p.frame.Masked {
		copy(p.mask[:], h[len(h)-4:])
	}
	p.judgeHeader(least)
	if p.lost {
		return
	}
	p.left, p.inside, p.judge = p.frame.Length, true, false
	if p.frame.Opcode.Data() {
		p.joinMessage()
	}
	if p.left == 0 {
		p.completeFrame()
	}
}

// judgeHeader checks a header by itself. A length below least would have fitted into fewer bytes.
func (p *Parser) judgeHeader(least uint64) {
	f := p.frame
	switch {
	case f.Length>>63 != 0:
		p.fault("length with its highest bit set")
		p.lost = true
		return
	case f.Length < least:
		p.fault(fmt.Sprintf("length %d in more bytes than it needs", f.Length))
	}
	if f.RSV != 0 {
		p.fault(fmt.Sprintf("reserved bits set: %03b", f.RSV))
	}
	if !f.Opcode.Defined() {
		p.fault(fmt.Sprintf("unknown opcode 0x%X", uint8(f.Opcode)))
	}
	switch {
	case p.fromServer && f.Masked:
		p.fault("masked frame of a server")
	case !p.fromServer && !f.Masked:
		p.fault("frame of a client that is not masked")
	}
	switch {
	case f.Opcode.Defined() && f.Opcode.Control():
		p.judgeControl()
	case f.Length > uint64(p.limits.MaxMessage):
		p.fault(fmt.Sprintf("frame of %d bytes, more than %d", f.Length, p.limits.MaxMessage))
	}
}

func (p *Parser) judgeControl() {
	if !p.frame.Fin {
		p.fault("fragmented " + p.frame.Opcode.String())
	}
	if p.frame.Length > maxControl {
		p.fault(fmt.Sprintf("%v of %d bytes, more than %d", p.frame.Opcode, p.frame.Length, maxControl))
	}
}

// joinMessage adds a data frame to its message.
func (p *Parser) joinMessage() {
	m, f := &p.message, p.frame
	if p.closed {
		p.fault(f.Opcode.String() + " after a close")
	}
	switch {
	case f.Opcode == Continuation && !m.open:
		p.fault("continuation of nothing")
		return
	case f.Opcode != Continuation:
		if m.open {
			p.fault("new " + f.Opcode.String() + " message inside a fragmented one")
		}
		*m = message{open: true, judge: f.Opcode == Text && f.RSV == 0}
	}
	p.judge = m.judge
	sum, over := bits.Add64(m.size, f.Length, 0)
	m.size = sum
	if limit := uint64(p.limits.MaxMessage); !m.large && (over != 0 || sum > limit) {
		m.large = true
		if f.Length <= limit { // otherwise it was already reported
			p.fault(fmt.Sprintf("message of more than %d bytes", limit))
		}
	}
}

// readPayload takes a part of the payload; ahead is the number of bytes of the chunk behind it.
func (p *Parser) readPayload(b []byte, ahead int) {
	done := p.frame.Length - p.left
	p.left -= uint64(len(b))
	if p.frame.Masked {
		p.scratch = append(p.scratch[:0], b...)
		b = p.scratch
		unmask(b, p.mask, done)
	}
	keep := p.limits.MaxPayload
	if p.frame.Opcode.Control() {
		keep = max(keep, maxControl)
	}
	if room := keep - len(p.frame.Payload); room > 0 {
		kept := b[:min(room, len(b))]
		if uint64(len(b)) == p.frame.Length {
			p.frame.Payload = p.copyPayload(kept, ahead)
		} else {
			p.frame.Payload = append(p.frame.Payload, kept...)
		}
	}
	if p.judge && !p.message.text.checkPiece(b) {
		p.badText()
	}
	if p.left == 0 {
		p.completeFrame()
	}
}

// unmask unmasks a part of a payload, of which done bytes came before.
func unmask(b []byte, mask [4]byte, done uint64) {
	var turned [8]byte
	for i := range turned {
		turned[i] = mask[(done+uint64(i))&3]
	}
	word := binary.LittleEndian.Uint64(turned[:])
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^word)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= turned[i]
	}
}

// slabSize is the most memory, in bytes, that short payloads of messages share. It is small because a transcript may
// keep one of them and drop the others.
const slabSize = 1 << 10

// copyPayload returns a copy of a whole payload, or of what is kept of it.
func (p *Parser) copyPayload(b []byte, ahead int) []byte {
	if len(b) > slabSize/4 || p.frame.Opcode.Control() {
		return append([]byte(nil), b...)
	}
	if cap(p.slab)-len(p.slab) < len(b) {
		p.slab = make([]byte, 0, min(len(b)+ahead, slabSize))
	}
	from := len(p.slab)
	p.slab = append(p.slab, b...)
	return p.slab[from:len(p.slab):len(p.slab)]
}

func (p *Parser) badText() {
	p.judge, p.message.judge = false, false
	p.fault("text that is not UTF-8")
}

// completeFrame completes a frame.
func (p *Parser) completeFrame() {
	f := p.frame
	switch {
	case f.Opcode == Close:
		p.closed = true
		if _, _, bad := CloseStatus(f.Payload); bad != "" && f.Length <= maxControl {
			p.fault(bad)
		}
	case f.Opcode.Data() && f.Fin:
		if p.judge && !p.message.text.mayEnd() {
			p.badText()
		}
		p.message = message{}
	}
	p.items = append(p.items, f)
	p.inside, p.frame = false, Item{}
	if cap(p.scratch) > 64<<10 {
		p.scratch = nil
	}
}
