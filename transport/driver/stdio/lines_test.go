//go:build unix

package stdio

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// TestLines: each line that the peer writes is recorded unchanged, until the peer ends.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		reason, raw string
		max         int
		want        []string
	}{
		{"nothing", "", 0, nil},
		{"a line", "a\n", 0, []string{`frame "a"`}},
		{"lines that come together", "a\nb\n", 0, []string{`frame "a"`, `frame "b"`}},
		{"an empty line is one", "\na\n", 0, []string{`frame ""`, `frame "a"`}},
		{"a carriage return is no end, and is kept", "a\rb\r\n", 0, []string{`frame "a\rb\r"`}},
		{"a byte order mark before the first line", "\ufeffa\n\ufeffb\n", 0, []string{`frame "a"`, `frame "\ufeffb"`}},
		{"junk", "\x00\xff\n", 0, []string{`frame "\x00\xff" (text that is not UTF-8)`}},
		{"an unfinished line is not a line", "a\nb", 0, []string{`frame "a"`, `comment "b" (a line without a line feed)`}},
		{"lines of the greatest length", "abc\ndef\n", 3, []string{`frame "abc"`, `frame "def"`}},
		{"a line that does not end, of the greatest length", "abc", 3,
			[]string{`comment "abc" (a line without a line feed)`}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			p := connect(t, driver.OpenOptions{MaxEvent: tt.max})
			p.send("raw "+strconv.Quote(tt.raw), "exit 0")
			p.awaitEnd()
			want := append(tt.want, "closed the target ended: exit status 0")
			if diff := cmp.Diff(want, said(p.log.All())); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestChunks: the lines do not depend on how the bytes are split.
func TestChunks(t *testing.T) {
	const text = "a\n\n{\"x\":\"主\"}\r\n\xffjunk\n123456789012\nthe end"
	want := []string{
		`frame "a"`, `frame ""`, `frame "{\"x\":\"主\"}\r"`, `frame "\xffjunk" (text that is not UTF-8)`,
		`frame "123456789012"`,
		`comment "the end" (a line without a line feed)`, "closed the target ended: exit status 0",
	}
	for size := 1; size <= len(text); size++ {
		x := newPuppet()
		p := open(t, newDriver(t), driver.OpenOptions{Process: &stage{next: []*puppet{x}}, MaxEvent: 12})
		for chunk := range slices.Chunk([]byte(text), size) {
			x.writeTexts(t, string(chunk))
		}
		x.exit("exit status 0")
		_ = x.outW.Close()
		p.awaitEnd()
		if diff := cmp.Diff(want, said(p.log.All())); diff != "" {
			t.Errorf("by %d: want(-) got(+):\n%s", size, diff)
		}
	}
}

// TestTooLong: the part of a long line that fits is recorded, and its process is ended.
func TestTooLong(t *testing.T) {
	for _, tt := range []struct{ reason, line string }{
		{"by one", "long 11"},
		{"by far", "long 1000000"},
		{"without an end", "endless"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			p := connect(t, driver.OpenOptions{MaxEvent: 10})
			p.send("raw "+strconv.Quote("0123456789\n"), tt.line)
			p.awaitEnd()
			records := slices.Clone(p.log.All())
			cut := &records[5].Cut
			if *cut < 1 || tt.line == "long 11" && *cut != 1 {
				t.Errorf("%d bytes are cut", *cut)
			}
			*cut = 0 // depends on chance
			want := []string{
				`frame "0123456789"`, `frame "xxxxxxxxxx" (a line of more than 10 bytes)`, "failure a line of more than 10 bytes",
				"closed the connection broke off: a line of more than 10 bytes",
			}
			if diff := cmp.Diff(want, said(records)); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
			p.close(driver.Graceful)
		})
	}
}

// TestLineAsLongAsTheDefault: 8 MiB, and not a byte more.
func TestLineAsLongAsTheDefault(t *testing.T) {
	p := connect(t, driver.OpenOptions{})
	p.send("long 8388608")
	if r := p.await("the line", func(r *transcript.Record) bool { return r.N == 4 }); len(r.Bytes)+r.Cut != 8<<20 ||
		r.Label != "" {
		t.Errorf("%d bytes, %d cut, %s", len(r.Bytes), r.Cut, r.Label)
	}
	p.send("long 8388609")
	if r := p.awaitEnd(); r.Label != "the connection broke off: a line of more than 8388608 bytes" {
		t.Errorf("it ended by %s", r.Label)
	}
}
