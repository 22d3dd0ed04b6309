package gate

import (
	"fmt"
	"io"

	"parley/transport/driver/ws"
	"parley/transport/transcript"
	wire "parley/transport/wire/ws"
)

// maxFaults bounds the recorded faults of one direction.
const maxFaults = 100

// direction handles the frames that one side of a WebSocket connection sends.
type direction struct {
	s      *socket
	from   Side
	e      *end
	out    *outlet // towards the other side; nil: there is none
	parser *wire.Parser
	max    int

	open   bool   // within a message
	free   bool   // the message passes as it comes, and the turn of out is held
	binary bool   // of the message
	data   []byte // of the message: the part that is kept
	cut    int    // the number of bytes beyond data
	parts  []part // of the message, which wait for a decision
	faults int
	held   int  // the size of parts
	late   bool // bytes wait to be written
}

// part is a waiting frame: one of the message, or a control frame between its fragments.
type part struct {
	raw     []byte
	control bool
}

func newDirection(s *socket, from Side) *direction {
	max := s.g.o.MaxMessage
	return &direction{s: s, from: from, e: s.ends[from], out: s.out[from.Other()], max: max,
		parser: wire.NewParser(from == Server, wire.Limits{MaxPayload: max, MaxMessage: int64(max)})}
}

// passFrames passes frames until the side ends, and returns how it ended.
func (d *direction) passFrames() error {
	defer d.resetMessage()
	if err := d.e.endWatch(); err != nil { // a reset is seen only once
		d.cutOff(nil)
		return err
	}
	for {
		if d.late && !isWhole(d.e.in) {
			if err := d.catchUp(); err != nil {
				return err
			}
		}
		f, err := readFrame(d.e.in, d.max)
		if err != nil {
			d.cutOff(f.raw)
			return err
		}
		if err := d.handleFrame(f); err != nil {
			return err
		}
	}
}

// recordReceived records a message of the program.
func (d *direction) recordReceived(r transcript.Record) {
	if d.from == d.s.g.o.Program {
		d.s.tap.Sink(r)
	}
}

// recordControl records the control frames and faults among items, and returns the frame; nil if it is not complete.
func (d *direction) recordControl(items []wire.Item) *wire.Item {
	for i, it := range items {
		if it.Fault != "" {
			d.faults++
		}
		if r, ok := ws.ItemRecord(d.s.name, it); ok && (it.Fault == "" || d.faults <= maxFaults) {
			if it.Fault != "" { // "fault" would be one of the user's file
				r.Label = "WebSocket data that cannot be read: " + it.Fault
			}
			d.recordReceived(r)
		}
		if it.Fault == "" {
			return &items[i]
		}
	}
	return nil
}

func (d *direction) handleFrame(f rawFrame) error {
	if !f.op.Data() && !f.long {
		return d.passControl(f)
	}
	if f.op != wire.Continuation && f.op.Data() {
		if d.open { // a protocol fault: the first message is lost
			if err := d.flushFrames(); err != nil {
				return err
			}
			d.resetMessage()
		}
		d.open, d.binary = true, f.op == wire.Binary
		if d.s.g.o.Handle == nil {
			if err := d.setFree(); err != nil {
				return err
			}
		}
	}
	if !d.open || f.long || len(d.data)+int(f.length) > d.max {
		return d.passUnexamined(f)
	}
	it := d.recordControl(d.parser.Feed(f.raw))
	if it != nil {
		d.data = append(d.data, it.Payload...)
	}
	if d.free {
		return d.passFrame(f)
	}
	if d.held += len(f.raw); !d.s.g.holdBytes(len(f.raw)) {
		return d.s.tooMuch()
	}
	d.parts = append(d.parts, part{raw: f.raw})
	if !f.fin {
		return nil
	}
	return d.decideMessage()
}

// completedMessage returns the completed message.
func (d *direction) completedMessage() Message {
	return Message{Conn: d.s.name, From: d.from, Kind: transcript.Frame, Binary: d.binary, Body: d.data}
}

func (d *direction) recordMessage(dir transcript.Dir) transcript.Record {
	r := messageRecord("ws", d.s.name, dir, d.completedMessage())
	r.Cut = d.cut
	return r
}

// decideMessage asks the Handler about a whole message.
func (d *direction) decideMessage() error {
	d.recordReceived(d.recordMessage(transcript.Received))
	m, parts := d.completedMessage(), d.parts
	m.Gone = d.s.gone[d.from.Other()]
	var dec Decision
	if !d.s.isEnding() {
		dec = d.s.g.o.Handle(d.s.l.ctx, m)
	}
	ok := d.s.applyDecision(d.from.Other(), m, dec, func(o *outlet, whole bool) error {
		var raw []byte
		for _, p := range parts {
			switch {
			case whole && dec.Wire != nil && !p.control:
				raw = append(raw, p.raw...)
			case whole || p.control:
				if _, err := o.e.Write(p.raw); err != nil {
					return err
				}
			}
		}
		if raw != nil {
			return d.s.writePieces(o, dec.Wire(raw))
		}
		return nil
	})
	d.resetMessage()
	if !ok {
		return errGone
	}
	return nil
}

// errGone reports that the other side accepts nothing any more.
var errGone = fmt.Errorf("the other side is gone: %w", io.ErrClosedPipe)

// setFree lets the message pass as it comes.
func (d *direction) setFree() error {
	if d.free {
		return nil
	}
	if d.out != nil {
		if err := d.out.lock(d.s.l.ctx); err != nil {
			return err
		}
	}
	d.free = true
	return nil
}

// flushFrames passes on the waiting frames without a decision.
func (d *direction) flushFrames() error {
	if err := d.setFree(); err != nil {
		return err
	}
	for _, p := range d.parts {
		if err := d.writeBytes(p.raw); err != nil {
			return err
		}
	}
	d.s.g.releaseBytes(d.held)
	d.parts, d.held = nil, 0
	return nil
}

// writeBytes writes bytes; the turn is held.
func (d *direction) writeBytes(raw []byte) error {
	if d.out == nil || d.out.shut {
		return nil
	}
	_, err := d.out.e.Write(raw)
	return err
}

// passFrame passes on a frame of a message that is not held.
func (d *direction) passFrame(f rawFrame) error {
	if f.fin {
		d.recordReceived(d.recordMessage(transcript.Received))
		d.recordPassed()
	}
	var err error
	if d.out != nil && !d.out.shut && isWhole(d.e.in) {
		d.late = true
		err = d.out.e.writeLater(f.raw)
	} else {
		err = d.writeBytes(f.raw)
	}
	if f.fin {
		d.resetMessage()
	}
	return err
}

// catchUp writes the waiting bytes.
func (d *direction) catchUp() error {
	d.late = false
	if !d.free {
		if err := d.out.lock(d.s.l.ctx); err != nil {
			return err
		}
		defer d.out.unlock()
	}
	return d.out.e.flushWaiting()
}

// recordPassed records the message as sent to the program.
func (d *direction) recordPassed() {
	if d.out != nil && !d.out.shut && d.from != d.s.g.o.Program {
		d.s.tap.Sink(d.recordMessage(transcript.Sent))
	}
}

// passUnexamined passes on a frame that is too long, makes its message too long, or belongs to none.
func (d *direction) passUnexamined(f rawFrame) error {
	inside := d.open
	if err := d.flushFrames(); err != nil {
		return err
	}
	keep := func(p []byte) {
		room := max(0, min(len(p), transcript.MaxPayload-len(d.data)))
		d.data = append(d.data, p[:room]...)
		d.cut += len(p) - room
	}
	if err := d.writeBytes(f.raw); err != nil {
		return err
	}
	it := d.recordControl(d.parser.Feed(f.raw))
	if f.long {
		var err error
		if it, err = d.copyPayload(f.payloadLength()); err != nil {
			return err
		}
	}
	if it != nil && inside {
		keep(it.Payload)
		d.cut += int(it.Length) - len(it.Payload)
	}
	last := f.fin && f.op.Data()
	if inside && last {
		d.recordReceived(d.recordMessage(transcript.Received))
		d.recordPassed()
	}
	if last || !inside {
		d.resetMessage()
	}
	return nil
}

// copyPayload passes on the payload of a long frame in pieces.
func (d *direction) copyPayload(left int64) (it *wire.Item, err error) {
	buf := make([]byte, 32<<10)
	for left > 0 {
		n, err := d.e.in.Read(buf[:min(left, int64(len(buf)))])
		left -= int64(n)
		if one := d.recordControl(d.parser.Feed(buf[:n])); one != nil {
			it = one
		}
		if err := d.writeBytes(buf[:n]); err != nil {
			return it, err
		}
		if err != nil {
			return it, err
		}
	}
	return it, nil
}

// passControl passes on a control frame, or one with an undefined opcode.
func (d *direction) passControl(f rawFrame) error {
	it := d.recordControl(d.parser.Feed(f.raw))
	if it != nil && f.op == wire.Close {
		status, reason, _ := wire.CloseStatus(it.Payload)
		d.s.saysGoodbye(d.from, status, reason)
		if d.from != d.s.g.o.Program {
			d.s.tap.Close()
		}
	}
	switch {
	case f.op == wire.Close && d.s.isEnding():
		return io.EOF
	case d.out == nil:
		return d.answerControl(f.op, it)
	case d.open && !d.free:
		d.held += len(f.raw)
		d.s.g.holdBytes(len(f.raw))
		d.parts = append(d.parts, part{f.raw, true})
		return nil
	case d.free:
		return d.writeBytes(f.raw)
	}
	if err := d.out.lock(d.s.l.ctx); err != nil {
		return err
	}
	defer d.out.unlock()
	return d.writeBytes(f.raw)
}

// answerControl answers a control frame if there is no upstream.
func (d *direction) answerControl(op wire.Opcode, it *wire.Item) error {
	if it == nil || op != wire.Ping && op != wire.Close {
		return nil
	}
	o := d.s.out[d.from]
	if err := o.lock(d.s.l.ctx); err != nil {
		return err
	}
	defer o.unlock()
	if o.shut && op == wire.Close {
		return io.EOF
	}
	if o.shut {
		return nil
	}
	if op == wire.Ping {
		_, err := o.e.Write(encodeFrame(wire.Pong, it.Payload, d.from == Server))
		return err
	}
	o.shut = true
	_, _ = o.e.Write(encodeFrame(wire.Close, it.Payload, d.from == Server))
	return io.EOF
}

// cutOff passes on the last, incomplete bytes of a side that has ended.
func (d *direction) cutOff(raw []byte) {
	d.recordControl(d.parser.Feed(raw))
	if !d.s.isEnding() {
		d.recordControl(d.parser.End())
	}
	if d.flushFrames() == nil {
		_ = d.writeBytes(raw)
	}
}

// resetMessage ends the message.
func (d *direction) resetMessage() {
	if d.free && d.out != nil {
		d.out.unlock()
	}
	d.s.g.releaseBytes(d.held)
	d.open, d.free, d.data, d.cut, d.parts, d.held = false, false, nil, 0, nil, 0
}
