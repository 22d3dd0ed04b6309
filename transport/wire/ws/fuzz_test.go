package ws

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzParser compares the parser, with any chunks, against a reader of the whole stream.
func FuzzParser(f *testing.F) {
	for _, r := range rules {
		if len(r.in) < 1<<10 {
			f.Add([]byte(r.in), !r.client, uint8(1))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, fromServer bool, n uint8) {
		limits := Limits{MaxPayload: 64, MaxMessage: 200}
		whole := parse(fromServer, limits, string(stream), 0)
		if diff := cmp.Diff(whole, parse(fromServer, limits, string(stream), int(n)+1), bytewise); diff != "" {
			t.Errorf("%q\nwhole(-) cut(+):\n%s", stream, diff)
		}
		var frames []Item
		for _, it := range whole {
			if it.Fault == "" {
				frames = append(frames, it)
			} else if it.Payload != nil {
				t.Errorf("fault %q has a payload", it.Fault)
			}
		}
		if diff := cmp.Diff(simple(stream), frames, cmpopts.EquateEmpty(),
			cmpopts.IgnoreFields(Item{}, "Payload")); diff != "" {
			t.Errorf("%q\nsimple reader(-) parser(+):\n%s", stream, diff)
		}
	})
}

// simple reads the frames of a whole stream without checking them.
func simple(b []byte) []Item {
	var out []Item
	for len(b) >= 2 {
		it := Item{Opcode: Opcode(b[0] & 15), Fin: b[0] >= 128, RSV: b[0] / 16 % 8, Masked: b[1] >= 128,
			Length: uint64(b[1] % 128)}
		at := 2
		for wide, bytes := range map[uint64]int{126: 2, 127: 8} {
			if uint64(b[1]%128) != wide {
				continue
			}
			if len(b) < at+bytes {
				return out
			}
			it.Length = 0
			for _, c := range b[at : at+bytes] {
				it.Length = it.Length<<8 | uint64(c)
			}
			at += bytes
		}
		if it.Masked {
			at += 4
		}
		if len(b) < at || it.Length > uint64(len(b)-at) {
			return out
		}
		out = append(out, it)
		b = b[at+int(it.Length):]
	}
	return out
}

// FuzzText compares the text checker against the standard library.
func FuzzText(f *testing.F) {
	f.Add([]byte("aé主🙂"), uint8(1))
	f.Add([]byte("\xf0\x9f\x99"), uint8(2))
	f.Add([]byte("\xe4\xb8\xed\xa0\x80"), uint8(0))
	f.Fuzz(func(t *testing.T, p []byte, n uint8) {
		var text text
		ok := true
		for rest := p; ok && len(rest) > 0; {
			cut := min(len(rest), int(n)+1)
			ok = text.checkPiece(rest[:cut])
			rest = rest[cut:]
		}
		if got, want := ok && text.mayEnd(), utf8.Valid(p); got != want {
			t.Errorf("%q in chunks of %d: UTF-8 is %v, want %v", p, int(n)+1, got, want)
		}
	})
}
