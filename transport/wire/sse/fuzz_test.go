package sse

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// standard implements the algorithm of the HTML Living Standard literally:
// slow, without chunks or limits. It returns the events and the last event id.
func standard(stream []byte) (events []Item, last string) {
	text := utf8Decode(stream)
	text = strings.TrimPrefix(text, "\uFEFF")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	lines := strings.Split(text, "\n")
	lines = lines[:len(lines)-1] // not ended by a line end

	var data, typ, id string
	for _, line := range lines {
		name, value, colon := strings.Cut(line, ":")
		switch {
		case line == "":
			last = id
			if data == "" {
				typ = ""
				continue
			}
			it := Item{Kind: Event, Type: "message", Data: strings.TrimSuffix(data, "\n"), ID: last}
			if typ != "" {
				it.Type = typ
			}
			events = append(events, it)
			data, typ = "", ""
			continue
		case colon && name == "":
			continue
		}
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			typ = value
		case "data":
			data += value + "\n"
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		}
	}
	return events, last
}

// utf8Decode implements the decoder of the Encoding Standard, section 8.1.1.
func utf8Decode(b []byte) string {
	var (
		out          strings.Builder
		point        rune
		seen, needed int
		lower, upper byte = 0x80, 0xBF
	)
	for i := 0; i < len(b); i++ {
		c := b[i]
		if needed == 0 {
			switch {
			case c <= 0x7F:
				out.WriteByte(c)
			case c >= 0xC2 && c <= 0xDF:
				needed, point = 1, rune(c&0x1F)
			case c >= 0xE0 && c <= 0xEF:
				if c == 0xE0 {
					lower = 0xA0
				}
				if c == 0xED {
					upper = 0x9F
				}
				needed, point = 2, rune(c&0xF)
			case c >= 0xF0 && c <= 0xF4:
				if c == 0xF0 {
					lower = 0x90
				}
				if c == 0xF4 {
					upper = 0x8F
				}
				needed, point = 3, rune(c&0x7)
			default:
				out.WriteRune(0xFFFD)
			}
			continue
		}
		if c < lower || c > upper {
			point, needed, seen, lower, upper = 0, 0, 0, 0x80, 0xBF
			out.WriteRune(0xFFFD)
			i-- // the byte is read again
			continue
		}
		lower, upper = 0x80, 0xBF
		point = point<<6 | rune(c&0x3F)
		if seen++; seen == needed {
			out.WriteRune(point)
			point, needed, seen = 0, 0, 0
		}
	}
	if needed != 0 {
		out.WriteRune(0xFFFD)
	}
	return out.String()
}

// checkStandard compares the events of the Decoder with the standard's.
func checkStandard(t *testing.T, stream string) {
	t.Helper()
	items, last := decode(Limits{}, stream)
	var got []Item
	for _, it := range items {
		if it.Kind == Event {
			got = append(got, Item{Kind: Event, Type: it.Type, Data: it.Data, ID: it.ID})
		}
	}
	want, wantLast := standard([]byte(stream))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q\nstandard(-) got(+):\n%s", stream, diff)
	}
	if last != wantLast {
		t.Errorf("%q\nlast event id: standard %q, got %q", stream, wantLast, last)
	}
}

func TestRulesAgreeWithTheStandard(t *testing.T) {
	for _, r := range rules {
		checkStandard(t, r.in)
	}
}

func FuzzDecoder(f *testing.F) {
	for i, r := range rules {
		f.Add([]byte(r.in), uint64(i))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		checkStandard(t, string(stream))
		for _, limits := range []Limits{{}, {MaxLine: 12, MaxEvent: 30}, {MaxLine: 1, MaxEvent: 1}} {
			whole, last := decode(limits, string(stream))
			var cut []Item
			d := NewDecoder(limits)
			random := rand.New(rand.NewPCG(seed, 0))
			for rest := stream; len(rest) > 0; {
				n := random.IntN(min(len(rest), 9) + 1)
				cut = append(cut, d.Feed(rest[:n])...)
				rest = rest[n:]
				if limits.MaxLine > 0 && cap(d.raw) > held(limits) {
					t.Fatalf("the decoder holds %d bytes under %+v", cap(d.raw), limits)
				}
			}
			cut = append(cut, d.Close()...)
			if diff := cmp.Diff(whole, cut); diff != "" {
				t.Errorf("%q under %+v\nwhole(-) cut(+):\n%s", stream, limits, diff)
			}
			if d.LastEventID() != last {
				t.Errorf("%q under %+v\nlast event id: whole %q, cut %q", stream, limits, last, d.LastEventID())
			}
		}
	})
}

func FuzzAppend(f *testing.F) {
	f.Add("", "x", "", false, uint8(0))
	f.Add("ping", "a\nb\r\nc\r", "7", true, uint8(1))
	f.Add("a b", " lead\n\n", "", true, uint8(2))
	f.Fuzz(func(t *testing.T, typ, data, id string, hasID bool, n uint8) {
		checkRoundTrip(t, Item{Kind: Event, Type: typ, Data: data, ID: id, HasID: hasID},
			LineEnd([]LineEnd{LF, CR, CRLF}[n%3]))
	})
}
