package ws

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// frame returns a frame with the shortest length encoding. key masks it, unless it is 0.
func frame(first byte, payload string, key uint32) string {
	b := []byte{first}
	bit := byte(0)
	if key != 0 {
		bit = 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, bit|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, bit|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, bit|127), uint64(n))
	}
	text := []byte(payload)
	if key != 0 {
		mask := binary.BigEndian.AppendUint32(nil, key)
		b = append(b, mask...)
		for i := range text {
			text[i] ^= mask[i%4]
		}
	}
	return string(b) + string(text)
}

// First bytes of frames.
const (
	fin    = 0x80
	text1  = fin | byte(Text)
	bin1   = fin | byte(Binary)
	cont1  = fin | byte(Continuation)
	ping1  = fin | byte(Ping)
	pong1  = fin | byte(Pong)
	close1 = fin | byte(Close)
)

const key = 0xA1B2C3D4

// closing returns the payload of a close frame.
func closing(code uint16, reason string) string {
	return string(binary.BigEndian.AppendUint16(nil, code)) + reason
}

// said renders items for a table: a frame as "text fin 5 hello", a fault as "! masked frame of a server".
func said(items []Item) []string {
	var out []string
	for _, it := range items {
		if it.Fault != "" {
			out = append(out, "! "+it.Fault)
			continue
		}
		end := "..."
		if it.Fin {
			end = "fin"
		}
		line := fmt.Sprintf("%v %s %d", it.Opcode, end, it.Length)
		if it.Length > 0 && len(it.Payload) <= 32 {
			line += fmt.Sprintf(" %q", it.Payload)
		}
		out = append(out, line)
	}
	return out
}

// parse feeds s to a new Parser in chunks of n bytes; 0: in one chunk.
func parse(fromServer bool, limits Limits, s string, n int) []Item {
	p := NewParser(fromServer, limits)
	var items []Item
	feed := func(chunk string) {
		b := []byte(chunk)
		items = append(items, p.Feed(b)...)
		for i := range b {
			if b[i] != chunk[i] {
				panic("Feed changed its argument")
			}
			b[i] = '#' // the caller may reuse the chunk
		}
	}
	for n > 0 && len(s) > n {
		feed(s[:n])
		s = s[n:]
	}
	feed(s)
	return append(items, p.End()...)
}

// bytewise compares payloads in one step: cmp would compare byte by byte.
var bytewise = cmp.Comparer(func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) })

type rule struct {
	reason string
	client bool // the stream comes from a client
	limits Limits
	in     string
	want   []string
}

var rules = []rule{
	// Valid frames.
	{reason: "nothing is nothing", in: "", want: nil},
	{reason: "a text message", in: frame(text1, "hello", 0), want: []string{`text fin 5 "hello"`}},
	{reason: "an empty message", in: frame(text1, "", 0), want: []string{"text fin 0"}},
	{reason: "a binary message need not be UTF-8", in: frame(bin1, "\xff\xfe", 0),
		want: []string{`binary fin 2 "\xff\xfe"`}},
	{reason: "126 bytes take two bytes of length", in: frame(text1, strings.Repeat("a", 126), 0),
		want: []string{"text fin 126"}},
	{reason: "65535 bytes take two bytes of length", in: frame(text1, strings.Repeat("a", 65535), 0),
		want: []string{"text fin 65535"}},
	{reason: "65536 bytes take eight bytes of length", in: frame(text1, strings.Repeat("a", 65536), 0),
		want: []string{"text fin 65536"}},
	{reason: "ping and pong with a payload", in: frame(ping1, "a", 0) + frame(pong1, "a", 0),
		want: []string{`ping fin 1 "a"`, `pong fin 1 "a"`}},
	{reason: "a control frame may have 125 bytes", in: frame(ping1, strings.Repeat("p", 125), 0),
		want: []string{"ping fin 125"}},
	{reason: "a message in three fragments", in: frame(byte(Text), "a", 0) + frame(byte(Continuation), "b",
		0) + frame(cont1, "c", 0),
		want: []string{`text ... 1 "a"`, `continuation ... 1 "b"`, `continuation fin 1 "c"`}},
	{reason: "fragments may be empty", in: frame(byte(Text), "", 0) + frame(byte(Continuation), "", 0) + frame(cont1, "",
		0),
		want: []string{"text ... 0", "continuation ... 0", "continuation fin 0"}},
	{reason: "control frames may come between fragments", in: frame(byte(Text), "a", 0) + frame(ping1, "",
		0) + frame(cont1, "b", 0),
		want: []string{`text ... 1 "a"`, "ping fin 0", `continuation fin 1 "b"`}},
	{reason: "a client masks, and the payload is reported without the mask", client: true,
		in:   frame(text1, "hello, world", key),
		want: []string{`text fin 12 "hello, world"`}},
	{reason: "a client masks an empty frame too", client: true, in: frame(ping1, "", key) + frame(text1, "x", key),
		want: []string{"ping fin 0", `text fin 1 "x"`}},
	{reason: "a close without a payload", in: frame(close1, "", 0), want: []string{"close fin 0"}},
	{reason: "a close with a status", in: frame(close1, closing(1000, ""), 0), want: []string{`close fin 2 "\x03\xe8"`}},
	{reason: "a close with a status of an application and a reason", in: frame(close1, closing(4000, "done"), 0),
		want: []string{`close fin 6 "\x0f\xa0done"`}},
	{reason: "text of every length of UTF-8", in: frame(text1, "aé主🙂", 0), want: []string{`text fin 10 "aé主🙂"`}},
	{reason: "a rune split by a fragment", in: frame(byte(Text), "\xe4\xb8", 0) + frame(cont1, "\xbb", 0),
		want: []string{`text ... 2 "\xe4\xb8"`, `continuation fin 1 "\xbb"`}},
	{reason: "a rune split by two fragments with a ping between",
		in: frame(byte(Text), "\xf0", 0) + frame(ping1, "\xff", 0) + frame(byte(Continuation), "\x9f\x99", 0) + frame(cont1,
			"\x82", 0),
		want: []string{`text ... 1 "\xf0"`, `ping fin 1 "\xff"`, `continuation ... 2 "\x9f\x99"`,
			`continuation fin 1 "\x82"`}},
	// Reserved bits, 5.2.
	{reason: "RSV1 without an extension", in: frame(text1|0x40, "a", 0),
		want: []string{"! reserved bits set: 100", `text fin 1 "a"`}},
	{reason: "RSV2", in: frame(bin1|0x20, "", 0), want: []string{"! reserved bits set: 010", "binary fin 0"}},
	{reason: "RSV3 of a control frame", in: frame(ping1|0x10, "", 0),
		want: []string{"! reserved bits set: 001", "ping fin 0"}},
	{reason: "all of them", in: frame(text1|0x70, "", 0), want: []string{"! reserved bits set: 111", "text fin 0"}},
	{reason: "a possibly compressed message is not checked as text", in: frame(text1|0x40, "\xff", 0),
		want: []string{"! reserved bits set: 100", `text fin 1 "\xff"`}},
	{reason: "nor are its later fragments", in: frame(byte(Text)|0x40, "\xff", 0) + frame(cont1, "\xff", 0),
		want: []string{"! reserved bits set: 100", `text ... 1 "\xff"`, `continuation fin 1 "\xff"`}},

	// Opcodes, 5.2.
	{reason: "an undefined data opcode", in: frame(fin|3, "a", 0) + frame(text1, "b", 0),
		want: []string{"! unknown opcode 0x3", `opcode 0x3 fin 1 "a"`, `text fin 1 "b"`}},
	{reason: "the last data opcode", in: frame(fin|7, "", 0), want: []string{"! unknown opcode 0x7", "opcode 0x7 fin 0"}},
	{reason: "an undefined control opcode", in: frame(fin|0xB, "", 0),
		want: []string{"! unknown opcode 0xB", "opcode 0xB fin 0"}},
	{reason: "the last opcode", in: frame(fin|0xF, "", 0), want: []string{"! unknown opcode 0xF", "opcode 0xF fin 0"}},
	{reason: "an unknown opcode does not disturb a message around it",
		in:   frame(byte(Text), "a", 0) + frame(fin|4, "", 0) + frame(cont1, "b", 0),
		want: []string{`text ... 1 "a"`, "! unknown opcode 0x4", "opcode 0x4 fin 0", `continuation fin 1 "b"`}},

	// Masking, 5.1.
	{reason: "a server must not mask", in: frame(text1, "hi", key),
		want: []string{"! masked frame of a server", `text fin 2 "hi"`}},
	{reason: "not a close either", in: frame(close1, closing(1000, "x"), key),
		want: []string{"! masked frame of a server", `close fin 3 "\x03\xe8x"`}},
	{reason: "a client must mask", client: true, in: frame(text1, "hi", 0),
		want: []string{"! frame of a client that is not masked", `text fin 2 "hi"`}},
	// Control frames, 5.5.
	{reason: "a control frame must not be fragmented", in: frame(byte(Ping), "a", 0),
		want: []string{"! fragmented ping", `ping ... 1 "a"`}},
	{reason: "a control frame has at most 125 bytes", in: frame(ping1, strings.Repeat("p", 126), 0),
		want: []string{"! ping of 126 bytes, more than 125", "ping fin 126"}},
	{reason: "a close as well", in: frame(close1, closing(1000, strings.Repeat("r", 200)), 0),
		want: []string{"! close of 202 bytes, more than 125", "close fin 202"}},
	// Fragments, 5.4.
	{reason: "a continuation of nothing", in: frame(cont1, "a", 0),
		want: []string{"! continuation of nothing", `continuation fin 1 "a"`}},
	{reason: "a continuation after the last fragment", in: frame(byte(Text), "a", 0) + frame(cont1, "b",
		0) + frame(cont1, "c", 0),
		want: []string{`text ... 1 "a"`, `continuation fin 1 "b"`, "! continuation of nothing", `continuation fin 1 "c"`}},
	{reason: "a continuation of nothing is not checked as text", in: frame(cont1, "\xff", 0),
		want: []string{"! continuation of nothing", `continuation fin 1 "\xff"`}},
	{reason: "a new message inside a fragmented one", in: frame(byte(Text), "a", 0) + frame(text1, "b", 0),
		want: []string{`text ... 1 "a"`, "! new text message inside a fragmented one", `text fin 1 "b"`}},
	{reason: "the new message takes the place of the old", in: frame(byte(Text), "a", 0) + frame(byte(Binary), "b",
		0) + frame(cont1, "\xff", 0) + frame(text1, "c", 0),
		want: []string{`text ... 1 "a"`, "! new binary message inside a fragmented one", `binary ... 1 "b"`,
			`continuation fin 1 "\xff"`, `text fin 1 "c"`}},
	// Text, 5.6 and 8.1.
	{reason: "a byte that no UTF-8 has", in: frame(text1, "a\xffb", 0),
		want: []string{"! text that is not UTF-8", `text fin 3 "a\xffb"`}},
	{reason: "an overlong form", in: frame(text1, "\xc0\xaf", 0),
		want: []string{"! text that is not UTF-8", `text fin 2 "\xc0\xaf"`}},
	{reason: "half of a surrogate pair", in: frame(text1, "\xed\xa0\x80", 0),
		want: []string{"! text that is not UTF-8", `text fin 3 "\xed\xa0\x80"`}},
	{reason: "beyond U+10FFFF", in: frame(text1, "\xf4\x90\x80\x80", 0),
		want: []string{"! text that is not UTF-8", `text fin 4 "\xf4\x90\x80\x80"`}},
	{reason: "a rune that the message's end cuts off", in: frame(text1, "a\xe4\xb8", 0),
		want: []string{"! text that is not UTF-8", `text fin 3 "a\xe4\xb8"`}},
	{reason: "a rune that the last fragment leaves cut off", in: frame(byte(Text), "\xe4", 0) + frame(cont1, "\xb8", 0),
		want: []string{`text ... 1 "\xe4"`, "! text that is not UTF-8", `continuation fin 1 "\xb8"`}},
	{reason: "an empty last fragment does not complete a rune", in: frame(byte(Text), "\xe4", 0) + frame(cont1, "", 0),
		want: []string{`text ... 1 "\xe4"`, "! text that is not UTF-8", "continuation fin 0"}},
	{reason: "a rune that the next fragment does not go on", in: frame(byte(Text), "\xe4", 0) + frame(cont1, "a", 0),
		want: []string{`text ... 1 "\xe4"`, "! text that is not UTF-8", `continuation fin 1 "a"`}},
	{reason: "bad text is reported once a message, at the first bad byte",
		in: frame(byte(Text), "\xff", 0) + frame(byte(Continuation), "\xff", 0) + frame(cont1, "\xe4", 0) + frame(text1,
			"ok", 0),
		want: []string{"! text that is not UTF-8", `text ... 1 "\xff"`, `continuation ... 1 "\xff"`,
			`continuation fin 1 "\xe4"`, `text fin 2 "ok"`}},
	{reason: "every message starts afresh", in: frame(text1, "\xe4", 0) + frame(text1, "a", 0) + frame(text1, "\xff", 0),
		want: []string{"! text that is not UTF-8", `text fin 1 "\xe4"`, `text fin 1 "a"`, "! text that is not UTF-8",
			`text fin 1 "\xff"`}},
	{reason: "masked text is judged without its mask", client: true, in: frame(text1, "主\xff", key),
		want: []string{"! text that is not UTF-8", `text fin 4 "主\xff"`}},
	// Close, 5.5.1 and 7.4.
	{reason: "half a status", in: frame(close1, "\x03", 0), want: []string{"! close payload of 1 byte",
		`close fin 1 "\x03"`}},
	{reason: "a reason that is not UTF-8", in: frame(close1, closing(1000, "\xff"), 0),
		want: []string{"! close reason that is no UTF-8", `close fin 3 "\x03\xe8\xff"`}},
	{reason: "a status that must not be sent", in: frame(close1, closing(1006, ""), 0),
		want: []string{"! close with status 1006, which must not be sent", `close fin 2 "\x03\xee"`}},
	{reason: "messages after a close", in: frame(close1, "", 0) + frame(text1, "late", 0) + frame(ping1, "", 0),
		want: []string{"close fin 0", "! text after a close", `text fin 4 "late"`, "ping fin 0"}},

	// Lengths, 5.2.
	{reason: "two bytes for a length of 125", in: "\x81\x7e\x00\x7d" + strings.Repeat("a", 125),
		want: []string{"! length 125 in more bytes than it needs", "text fin 125"}},
	{reason: "two bytes for a length of 0", in: "\x81\x7e\x00\x00",
		want: []string{"! length 0 in more bytes than it needs", "text fin 0"}},
	{reason: "eight bytes for a length of 65535", in: "\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff" + strings.Repeat("a",
		65535),
		want: []string{"! length 65535 in more bytes than it needs", "binary fin 65535"}},
	{reason: "two bytes for the length of a short ping", in: "\x89\x7e\x00\x01p",
		want: []string{"! length 1 in more bytes than it needs", `ping fin 1 "p"`}},
	{reason: "a length with its highest bit set ends it all", in: "\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x01" +
		frame(text1, "a", 0), want: []string{"! length with its highest bit set"}},
	// Sizes.
	{reason: "a frame beyond the limit is reported at its header", limits: Limits{MaxMessage: 10},
		in:   frame(text1, strings.Repeat("a", 11), 0)[:2],
		want: []string{"! frame of 11 bytes, more than 10", "! the stream ended inside a text frame, 11 bytes short"}},
	{reason: "a frame at the limit", limits: Limits{MaxMessage: 10}, in: frame(text1, strings.Repeat("a", 10), 0),
		want: []string{`text fin 10 "aaaaaaaaaa"`}},
	{reason: "the fragments of a message count together, and are reported once", limits: Limits{MaxMessage: 2},
		in: frame(byte(Text), "ab", 0) + frame(byte(Continuation), "c", 0) + frame(cont1, "d", 0) + frame(text1, "e", 0),
		want: []string{`text ... 2 "ab"`, "! message of more than 2 bytes", `continuation ... 1 "c"`,
			`continuation fin 1 "d"`, `text fin 1 "e"`}},
	{reason: "a frame of an unknown opcode has the limit too", limits: Limits{MaxMessage: 2}, in: frame(fin|3, "abc", 0),
		want: []string{"! unknown opcode 0x3", "! frame of 3 bytes, more than 2", `opcode 0x3 fin 3 "abc"`}},
	{reason: "a length too large to send does not overflow", in: frame(byte(Binary), "a",
		0) + "\x80\x7f\x7f\xff\xff\xff\xff\xff\xff\xff",
		want: []string{`binary ... 1 "a"`, "! frame of 9223372036854775807 bytes, more than 8388608",
			"! the stream ended inside a continuation frame, 9223372036854775807 bytes short"}},
	{reason: "a payload is kept up to its limit", limits: Limits{MaxPayload: 3}, in: frame(text1, "abcdef", 0),
		want: []string{`text fin 6 "abc"`}},
	{reason: "but that of a control frame whole", limits: Limits{MaxPayload: 3}, in: frame(ping1, "abcdef", 0),
		want: []string{`ping fin 6 "abcdef"`}},
	// Several at once.
	{reason: "every fault of a frame is reported, before the frame", in: "\x79\xfe\x00\x01" + "\x01\x02\x03\x04" + "q",
		want: []string{"! length 1 in more bytes than it needs", "! reserved bits set: 111", "! masked frame of a server",
			"! fragmented ping", `ping ... 1 "p"`}},
	// The end.
	{reason: "the stream ends inside a header", in: "\x81", want: []string{"! the stream ended inside a frame's header"}},
	{reason: "the stream ends inside a length", in: "\x81\x7e\x01",
		want: []string{"! the stream ended inside a frame's header"}},
	{reason: "the stream ends inside a payload", in: frame(text1, "hello", 0)[:4],
		want: []string{"! the stream ended inside a text frame, 3 bytes short"}},
	{reason: "the stream ends between fragments", in: frame(byte(Text), "a", 0),
		want: []string{`text ... 1 "a"`, "! the stream ended inside a fragmented message"}},
}

func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules {
		if r.reason == "" || seen[r.reason] {
			t.Errorf("%q: the reason %q is missing or not the only one", r.in, r.reason)
		}
		seen[r.reason] = true
		t.Run(r.reason, func(t *testing.T) {
			whole := parse(!r.client, r.limits, r.in, 0)
			if diff := cmp.Diff(r.want, said(whole), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%.200q\nwant(-) got(+):\n%s", r.in, diff)
			}
			for _, n := range []int{1, 2, 3} {
				if diff := cmp.Diff(whole, parse(!r.client, r.limits, r.in, n), bytewise); diff != "" {
					t.Errorf("%.200q in chunks of %d\nwhole(-) cut(+):\n%s", r.in, n, diff)
				}
			}
		})
	}
}

func TestItemTellsTheHeader(t *testing.T) {
	got := parse(true, Limits{}, frame(byte(Text)|0x20, "hi", key), 1)
	want := []Item{
		{Opcode: Text, RSV: 2, Masked: true, Length: 2, Fault: "reserved bits set: 010"},
		{Opcode: Text, RSV: 2, Masked: true, Length: 2, Fault: "masked frame of a server"},
		{Opcode: Text, RSV: 2, Masked: true, Length: 2, Payload: []byte("hi")},
		{Fault: "the stream ended inside a fragmented message"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}

func TestCloseStatus(t *testing.T) {
	rows := []struct {
		reason string
		code   int
		ok     bool
	}{
		{"below the range", 0, false}, {"the last that is not used", 999, false},
		{"normal", 1000, true}, {"going away", 1001, true}, {"protocol error", 1002, true}, {"unsupported data", 1003, true},
		{"reserved without a meaning", 1004, false}, {"stands for no status", 1005, false},
		{"stands for no close", 1006, false},
		{"invalid payload", 1007, true}, {"policy", 1008, true}, {"too big", 1009, true}, {"missing extension", 1010, true},
		{"internal error", 1011, true},
		{"registered later: service restart", 1012, true}, {"registered later: try again", 1013, true},
		{"registered later: bad gateway", 1014, true},
		{"stands for a failed TLS handshake", 1015, false}, {"left for the protocol's future", 1016, false},
		{"the last of these", 2999, false},
		{"the first of libraries", 3000, true}, {"the last of applications", 4999, true}, {"above the range", 5000, false},
		{"the greatest", 65535, false},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			code, reason, fault := CloseStatus([]byte(closing(uint16(r.code), "why")))
			if code != r.code || reason != "why" || (fault == "") != r.ok {
				t.Errorf("CloseStatus of %d = %d, %q, %q; may be sent: %v", r.code, code, reason, fault, r.ok)
			}
		})
	}
	if code, reason, fault := CloseStatus(nil); code != 0 || reason != "" || fault != "" {
		t.Errorf("CloseStatus of nothing = %d, %q, %q", code, reason, fault)
	}
}

// TestHoldsLittle checks that an endless message or frame does not exhaust memory.
func TestHoldsLittle(t *testing.T) {
	p := NewParser(true, Limits{MaxPayload: 1 << 10, MaxMessage: 1 << 12})
	chunk := []byte(strings.Repeat("a", 4<<10))
	told := 0
	p.Feed([]byte(frame(byte(Text), "", 0)))
	for range 1000 { // one message without an end
		for _, it := range append(p.Feed([]byte("\x00\x7e\x10\x00")), p.Feed(chunk)...) {
			if it.Fault != "" {
				told++
			}
			if cap(it.Payload) > 2<<10 {
				t.Fatalf("an item holds %d bytes", cap(it.Payload))
			}
		}
	}
	if told != 1 {
		t.Errorf("the large message was told %d times", told)
	}
	p.Feed([]byte("\x80\x7f\x7f\xff\xff\xff\xff\xff\xff\xff")) // one frame without an end
	for range 1000 {
		p.Feed(chunk)
	}
	if n := cap(p.frame.Payload) + cap(p.scratch); n > 8<<10 {
		t.Errorf("the parser holds %d bytes", n)
	}
}

func TestFeedAfterEnd(t *testing.T) {
	p := NewParser(true, Limits{})
	p.End()
	if got := append(p.Feed([]byte(frame(text1, "a", 0))), p.End()...); got != nil {
		t.Errorf("after the end the parser says %v", said(got))
	}
}
