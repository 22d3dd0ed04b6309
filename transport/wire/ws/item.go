package ws

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// Opcode is the kind of a frame (5.2).
type Opcode uint8

// The defined opcodes.
const (
	Continuation Opcode = 0x0
	Text         Opcode = 0x1
	Binary       Opcode = 0x2
	Close        Opcode = 0x8
	Ping         Opcode = 0x9
	Pong         Opcode = 0xA
)

var opcodeNames = [16]string{
	Continuation: "continuation", Text: "text", Binary: "binary", Close: "close", Ping: "ping", Pong: "pong",
}

// String returns the name in lower case, such as "ping", or "opcode 0x3".
func (o Opcode) String() string {
	if o.Defined() {
		return opcodeNames[o]
	}
	return fmt.Sprintf("opcode 0x%X", uint8(o))
}

// Defined reports whether RFC 6455 defines the opcode.
func (o Opcode) Defined() bool { return int(o) < len(opcodeNames) && opcodeNames[o] != "" }

// Control reports whether the opcode is that of a control frame, even an undefined one.
func (o Opcode) Control() bool { return o&8 != 0 }

// Data reports whether frames with this opcode form messages.
func (o Opcode) Data() bool { return o <= Binary }

// Item is one complete frame, or one fault of a frame. It shares no memory with the chunks it came from. The payloads
// of one call may share memory with each other, in parts of at most 1 KiB: whoever keeps one keeps up to that.
type Item struct {
	Opcode  Opcode
	Fin     bool
	RSV     uint8  // RSV1 is 4, RSV2 is 2, RSV3 is 1
	Masked  bool   // of the frame as sent; Payload is unmasked
	Length  uint64 // of the payload, according to the header
	Payload []byte // of a complete frame: its first Limits.MaxPayload bytes; nil for a fault
	Fault   string // what is wrong with the frame; "" if the item is the frame itself
}

// CloseStatus parses the payload of a close frame: its status code, 0 if it has none, and the reason. The fault is ""
// if RFC 6455 allows the payload.
func CloseStatus(payload []byte) (code int, reason, fault string) {
	switch len(payload) {
	case 0:
		return 0, "", ""
	case 1:
		return 0, "", "close payload of 1 byte"
	}
	code, reason = int(binary.BigEndian.Uint16(payload)), string(payload[2:])
	switch {
	case !mayBeSent(code):
		fault = fmt.Sprintf("close with status %d, which must not be sent", code)
	case !utf8.ValidString(reason):
		fault = "close reason that is no UTF-8"
	}
	return code, reason, fault
}

// mayBeSent reports whether a status code may be sent, by section 7.4 and its registry, which has added 1012 to 1014.
func mayBeSent(code int) bool {
	switch code {
	case 1004, 1005, 1006:
		return false
	}
	return code >= 1000 && code <= 1014 || code >= 3000 && code <= 4999
}
