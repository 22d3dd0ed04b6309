package sse

import (
	"strings"
)

// streamRules are those of comments, encoding, the ends of a stream, and limits.
var streamRules = []row{
	// Comments.
	{
		reason: "a comment is kept with its leading space",
		in:     ": hello\n\n",
		want:   []Item{raw(": hello\n", comment(" hello"))},
	},
	{
		reason: "a colon alone is an empty comment",
		in:     ":\n\n",
		want:   []Item{comment("")},
	},
	{
		reason: "a comment needs no blank line",
		in:     ":a\n:b\n",
		want:   []Item{comment("a"), comment("b")},
	},
	{
		reason: "a comment inside a block does not break it",
		in:     "data: x\n:c\ndata: y\n\n",
		want:   []Item{comment("c"), event("x\ny")},
	},
	{
		reason: "a comment holds no fields",
		in:     ":data: x\n\n",
		want:   []Item{comment("data: x")},
	},
	{
		reason: "a comment after the last event is reported",
		in:     "data: x\n\n: bye\n",
		want:   []Item{event("x"), comment(" bye")},
	},
	{
		reason: "a colon after a space is a field without effect",
		in:     " :c\n\n",
	},

	// The byte order mark.
	{
		reason: "a byte order mark at the start is dropped and reported",
		in:     "\uFEFFdata: x\n\n",
		want:   []Item{raw("\uFEFF", mark()), raw("data: x\n\n", event("x"))},
	},
	{
		reason: "a byte order mark alone",
		in:     "\uFEFF",
		want:   []Item{mark()},
	},
	{
		reason: "a byte order mark before a blank line",
		in:     "\uFEFF\n\ndata: x\n\n",
		want:   []Item{mark(), event("x")},
	},
	{
		reason: "a byte order mark before a comment",
		in:     "\uFEFF:c\n",
		want:   []Item{mark(), comment("c")},
	},
	{
		reason: "a second byte order mark is part of the first name",
		in:     "\uFEFF\uFEFFdata: x\n\ndata: y\n\n",
		want:   []Item{mark(), event("y")},
	},
	{
		reason: "a byte order mark at the start of a later line is part of the name",
		in:     "data: x\n\uFEFFdata: y\n\n",
		want:   []Item{fields(event("x"), "data", "x", "\uFEFFdata", "y")},
	},
	{
		reason: "a byte order mark after a blank line is not at the start",
		in:     "\n\uFEFFdata: x\n\n",
	},
	{
		reason: "a byte order mark in the data is text",
		in:     "data: \uFEFFx\n\n",
		want:   []Item{event("\uFEFFx")},
	},
	{
		reason: "the start of a byte order mark is not one",
		in:     "\xEF\xBBdata: x\n\ndata: y\n\n",
		want:   []Item{event("y")},
	},
	{
		reason: "a byte order mark after one byte of another is not at the start",
		in:     "\xEF\xEF\xBB\xBFdata: x\n\n",
	},
	{
		reason: "a byte order mark that the stream's end cut off is malformed text",
		in:     "\xEF\xBB",
		want:   []Item{raw("\xEF\xBB", fields(incomplete("message", ""), "\uFFFD", ""))},
	},

	// UTF-8.
	{
		reason: "text is UTF-8",
		in:     "event: 切换\ndata: 会话 😀 é\n\n",
		want:   []Item{typed("切换", "会话 😀 é")},
	},
	{
		reason: "a byte that starts nothing is one U+FFFD",
		in:     "data: a\xFFb\x80c\n\n",
		want:   []Item{raw("data: a\xFFb\x80c\n\n", event("a\uFFFDb\uFFFDc"))},
	},
	{
		reason: "a truncated sequence is one U+FFFD: a maximal subpart",
		in:     "data: \xE4\xBCx \xF0\x9F\x98y\n\n",
		want:   []Item{event("\uFFFDx \uFFFDy")},
	},
	{
		reason: "each further continuation byte is one U+FFFD",
		in:     "data: \xE4\xBC\xE4\x80\x80\x80\x80\n\n",
		want:   []Item{event("\uFFFD\u4000\uFFFD\uFFFD")},
	},
	{
		reason: "an encoded surrogate is three U+FFFD",
		in:     "data: \xED\xA0\x80\n\n",
		want:   []Item{event("\uFFFD\uFFFD\uFFFD")},
	},
	{
		reason: "overlong forms are a U+FFFD for each byte",
		in:     "data: \xC0\xAF \xE0\x80\xAF \xF0\x80\x80\xAF\n\n",
		want:   []Item{event("\uFFFD\uFFFD \uFFFD\uFFFD\uFFFD \uFFFD\uFFFD\uFFFD\uFFFD")},
	},
	{
		reason: "code points beyond U+10FFFF are a U+FFFD for each byte",
		in:     "data: \xF4\x90\x80\x80 \xF5\x80\x80\x80\n\n",
		want:   []Item{event("\uFFFD\uFFFD\uFFFD\uFFFD \uFFFD\uFFFD\uFFFD\uFFFD")},
	},
	{
		reason: "the example of the Unicode Standard, table 3-11",
		in:     "data: \xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41\n\n",
		want:   []Item{event("\uFFFD\uFFFD\uFFFD\uFFFDA")},
	},
	{
		reason: "a truncated sequence swallows no LF",
		in:     "data: \xF0\x9F\ndata: y\xE4\n\n",
		want:   []Item{event("\uFFFD\ny\uFFFD")},
	},
	{
		reason: "a truncated sequence swallows no CR",
		in:     "data: \xF0\x9F\r\rdata: y\r\r",
		want:   []Item{event("\uFFFD"), event("y")},
	},
	{
		reason: "a truncated sequence swallows no colon",
		in:     "x\xE4: 1\ndata: y\n\n",
		want:   []Item{fields(event("y"), "x\uFFFD", "1", "data", "y")},
	},
	{
		reason: "malformed text is replaced in types, ids and comments too",
		in:     ":\xFF\nevent: \xFE\nid: \xC3\ndata: x\n\n",
		want:   []Item{comment("\uFFFD"), with("\uFFFD", typed("\uFFFD", "x"))},
		last:   "\uFFFD",
	},

	// The end of the stream.
	{
		reason: "a block without its blank line is not dispatched",
		in:     "event: a\ndata: x\n",
		want:   []Item{raw("event: a\ndata: x\n", fields(incomplete("a", "x"), "event", "a", "data", "x"))},
	},
	{
		reason: "a last line without its line end is not taken, and shown as far as it came",
		in:     "data: x\ndata: y",
		want:   []Item{raw("data: x\ndata: y", incomplete("message", "x\ny"))},
	},
	{
		reason: "a name that the end cut off",
		in:     "data: x\n\nda",
		want:   []Item{event("x"), fields(incomplete("message", ""), "da", "")},
	},
	{
		reason: "retry and comments without their line end have no effect",
		in:     "retry: 10",
		want:   []Item{fields(incomplete("message", ""), "retry", "10")},
	},
	{
		reason: "a comment that the end cut off is incomplete",
		in:     "data: x\n\n:hel",
		want:   []Item{event("x"), raw(":hel", incomplete("message", ""))},
	},
	{
		reason: "a block of an id alone is incomplete too",
		in:     "id: 1\n",
		want:   []Item{with("1", incomplete("message", ""))},
	},
	{
		reason: "an incomplete event shows the id that it would have had",
		in:     "id: 1\n\ndata: x\n",
		want:   []Item{under("1", incomplete("message", "x"))},
		last:   "1",
	},
	{
		reason: "a final CR is a line end",
		in:     "data: x\r\n\r",
		want:   []Item{event("x")},
	},

	// Raw bytes.
	{
		reason: "the raw block holds comments, unknown fields and line ends",
		in:     ":a\nfoo\r\ndata:x\r:b\n\n",
		want: []Item{
			raw(":a\n", comment("a")),
			raw(":b\n", comment("b")),
			raw(":a\nfoo\r\ndata:x\r:b\n\n", fields(event("x"), "foo", "", "data", "x")),
		},
	},
	{
		reason: "raw bytes end with the CR that settled the item",
		in:     ":a\r\ndata: x\r\n\r\ndata: y\r\n\r\n",
		want: []Item{
			raw(":a\r", comment("a")),
			raw(":a\r\ndata: x\r\n\r", event("x")),
			raw("data: y\r\n\r", event("y")),
		},
	},
	{
		reason: "a block that dispatches nothing does not show in the next one",
		in:     "event: a\nid: 1\n\ndata: x\n\n",
		want:   []Item{raw("data: x\n\n", under("1", event("x")))},
		last:   "1",
	},

	// Limits.
	{
		reason: "a line at the limit is taken",
		in:     "data: 789\n\n",
		limits: Limits{MaxLine: 9},
		want:   []Item{event("789")},
	},
	{
		reason: "a longer line is dropped with its block, up to the next blank line",
		in:     "id: 1\ndata: 7890\ndata: x\n:c\nretry: 1\nid: 2\n\ndata: y\n\n",
		limits: Limits{MaxLine: 9},
		want:   []Item{raw("id: 1\ndata: 789", oversize("line longer than 9 bytes")), event("y")},
	},
	{
		reason: "a longer line without end is dropped once",
		in:     "data: " + strings.Repeat("x", 100),
		limits: Limits{MaxLine: 9},
		want:   []Item{oversize("line longer than 9 bytes")},
	},
	{
		reason: "a longer comment is dropped like any line",
		in:     ":" + strings.Repeat("x", 100) + "\n\n:c\n",
		limits: Limits{MaxLine: 9},
		want:   []Item{oversize("line longer than 9 bytes"), comment("c")},
	},
	{
		reason: "resynchronising knows CRLF as one line end",
		in:     "data: 7890\r\ndata: x\r\n\r\ndata: y\r\n\r\n",
		limits: Limits{MaxLine: 9},
		want:   []Item{oversize("line longer than 9 bytes"), event("y")},
	},
	{
		reason: "resynchronising knows CR CR as a blank line",
		in:     "data: 7890\rdata: x\r\rdata: y\r\r",
		limits: Limits{MaxLine: 9},
		want:   []Item{oversize("line longer than 9 bytes"), event("y")},
	},
	{
		reason: "a second long block is reported again",
		in:     "data: 7890\n\ndata: 7890\n\n",
		limits: Limits{MaxLine: 9},
		want:   []Item{oversize("line longer than 9 bytes"), oversize("line longer than 9 bytes")},
	},
	{
		reason: "an event at the limit is taken",
		in:     "data: x\ndata: y\n\n",
		limits: Limits{MaxEvent: 16},
		want:   []Item{event("x\ny")},
	},
	{
		reason: "a larger event is dropped up to its blank line",
		in:     "data: x\ndata: yz\n\ndata: u\n\n",
		limits: Limits{MaxEvent: 16},
		want:   []Item{raw("data: x\ndata: yz\n", oversize("event longer than 16 bytes")), event("u")},
	},
	{
		reason: "a larger event in CRLF is dropped up to its blank line",
		in:     "data: x\r\ndata: y\r\n\r\ndata: u\r\n\r\n",
		limits: Limits{MaxEvent: 16},
		want:   []Item{oversize("event longer than 16 bytes"), event("u")},
	},
	{
		reason: "an id of a dropped event is not committed",
		in:     "id: 1\ndata\n\nid: 2\ndata: abcdefghi\n\ndata: u\n\n",
		limits: Limits{MaxEvent: 16},
		want: []Item{
			with("1", event("")),
			oversize("event longer than 16 bytes"),
			under("1", event("u")),
		},
		last: "1",
	},
	{
		reason: "comments before the first field do not make an event too large",
		in:     ":12345\n:12345\ndata: x\n\n",
		limits: Limits{MaxEvent: 16},
		want:   []Item{comment("12345"), comment("12345"), raw("data: x\n\n", event("x"))},
	},
	{
		reason: "comments for ever are not a large event, with CRLF too",
		in:     strings.Repeat(":12345\r\n", 4) + "data: x\r\n\r\n",
		limits: Limits{MaxEvent: 16},
		want: []Item{
			comment("12345"), comment("12345"), comment("12345"), comment("12345"),
			event("x"),
		},
	},
	{
		reason: "comments inside an event count",
		in:     "data: x\n:12345\n:12345\n\n",
		limits: Limits{MaxEvent: 16},
		want:   []Item{comment("12345"), comment("12345"), oversize("event longer than 16 bytes")},
	},
	{
		reason: "the start of a byte order mark counts as text",
		in:     "\xEF\xBBx\n\ndata: y\n\n",
		limits: Limits{MaxLine: 1},
		want:   []Item{oversize("line longer than 1 bytes"), oversize("line longer than 1 bytes")},
	},
	{
		reason: "a byte order mark counts for no limit",
		in:     "\uFEFF:\n",
		limits: Limits{MaxLine: 1},
		want:   []Item{mark(), comment("")},
	},
}
