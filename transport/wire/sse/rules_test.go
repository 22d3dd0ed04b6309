package sse

import (
	"math"
	"slices"
	"strings"
)

// row is one rule of the format: the items of a stream. Raw and Fields are
// compared only if a row sets them.
type row struct {
	reason string
	in     string
	limits Limits
	want   []Item
	last   string // the last event id at the end
}

func event(data string) Item           { return Item{Kind: Event, Type: "message", Data: data} }
func typed(typ, data string) Item      { return Item{Kind: Event, Type: typ, Data: data} }
func comment(text string) Item         { return Item{Kind: Comment, Data: text} }
func retry(ms int64) Item              { return Item{Kind: Retry, Retry: ms} }
func mark() Item                       { return Item{Kind: BOM} }
func incomplete(typ, data string) Item { return Item{Kind: Incomplete, Type: typ, Data: data} }
func oversize(why string) Item         { return Item{Kind: Oversize, Data: why} }

// under returns the item with an id that an earlier block set.
func under(id string, it Item) Item { it.ID = id; return it }

// with returns the item with its own id.
func with(id string, it Item) Item { it.ID, it.HasID = id, true; return it }

func raw(s string, it Item) Item { it.Raw = []byte(s); return it }

// fields returns the item with fields of alternating names and values.
func fields(it Item, nameValue ...string) Item {
	for i := 0; i < len(nameValue); i += 2 {
		it.Fields = append(it.Fields, Field{nameValue[i], nameValue[i+1]})
	}
	return it
}

// rules are all rules of the format, in two tables.
var rules = slices.Concat(blockRules, streamRules)

// blockRules are those of blocks and their fields.
var blockRules = []row{
	// Blocks and their ends.
	{reason: "an empty stream says nothing"},
	{
		reason: "a blank line dispatches",
		in:     "data: x\n\n",
		want:   []Item{event("x")},
	},
	{
		reason: "blank lines without a block dispatch nothing",
		in:     "\n\n\n\n",
	},
	{
		reason: "blank lines between blocks dispatch nothing",
		in:     "\n\ndata: x\n\n\n\ndata: y\n\n\n",
		want:   []Item{event("x"), event("y")},
	},
	{
		reason: "a line of one space is a field, not a blank line",
		in:     "data: x\n \n\n",
		want:   []Item{fields(event("x"), "data", "x", " ", "")},
	},
	{
		reason: "a line of one tab is a field, not a blank line",
		in:     "data: x\n\t\ndata: y\n\n",
		want:   []Item{fields(event("x\ny"), "data", "x", "\t", "", "data", "y")},
	},

	// Line ends.
	{
		reason: "LF ends lines",
		in:     "event: a\ndata: x\n\ndata: y\n\n",
		want:   []Item{typed("a", "x"), event("y")},
	},
	{
		reason: "CR ends lines",
		in:     "event: a\rdata: x\r\rdata: y\r\r",
		want:   []Item{typed("a", "x"), event("y")},
	},
	{
		reason: "CRLF ends lines",
		in:     "event: a\r\ndata: x\r\n\r\ndata: y\r\n\r\n",
		want:   []Item{typed("a", "x"), event("y")},
	},
	{
		reason: "CR LF is one line end, so it does not end the block",
		in:     "data: x\r\ndata: y\r\n\r\n",
		want:   []Item{event("x\ny")},
	},
	{
		reason: "LF CR is two line ends, so it ends the block",
		in:     "data: x\n\rdata: y\n\r",
		want:   []Item{event("x"), event("y")},
	},
	{
		reason: "line ends are mixed within a block",
		in:     "event: a\rdata: x\ndata: y\r\n\n",
		want:   []Item{typed("a", "x\ny")},
	},
	{
		reason: "CRLF then LF is a line end and a blank line",
		in:     "data: x\r\n\ndata: y\n\n",
		want:   []Item{event("x"), event("y")},
	},
	{
		reason: "CR CR LF is a line end and a blank line, no third one",
		in:     "data: x\r\r\ndata: y\r\r\n",
		want:   []Item{event("x"), event("y")},
	},
	{
		reason: "LF then CRLF is a line end and a blank line",
		in:     "data: x\n\r\ndata: y\n\n",
		want:   []Item{event("x"), event("y")},
	},
	{
		reason: "the LF after a dispatching CR does not end an empty block again",
		in:     "id: 1\r\r\nid: 2\n\n",
		last:   "2",
	},
	{
		reason: "vertical tab, form feed, NEL and U+2028 end no line",
		in:     "data: a\vb\fc\u0085d\u2028e\n\n",
		want:   []Item{event("a\vb\fc\u0085d\u2028e")},
	},

	// Fields.
	{
		reason: "one space after the colon is dropped",
		in:     "data: x\n\n",
		want:   []Item{fields(event("x"), "data", "x")},
	},
	{
		reason: "no space after the colon is needed",
		in:     "data:x\n\n",
		want:   []Item{event("x")},
	},
	{
		reason: "a second space is part of the value",
		in:     "data:  x\n\n",
		want:   []Item{event(" x")},
	},
	{
		reason: "a tab after the colon is part of the value",
		in:     "data:\tx\n\n",
		want:   []Item{event("\tx")},
	},
	{
		reason: "trailing spaces are part of the value",
		in:     "data: x  \n\n",
		want:   []Item{event("x  ")},
	},
	{
		reason: "later colons are part of the value",
		in:     "data: a:b: c\n\n",
		want:   []Item{event("a:b: c")},
	},
	{
		reason: "a value that starts with a colon keeps it",
		in:     "data::x\n\n",
		want:   []Item{event(":x")},
	},
	{
		reason: "a space before the colon makes another name",
		in:     "data : x\n\n",
	},
	{
		reason: "a leading space makes another name",
		in:     "data: x\n data: y\n\n",
		want:   []Item{fields(event("x"), "data", "x", " data", "y")},
	},
	{
		reason: "names are compared exactly: DATA is unknown",
		in:     "DATA: x\nData: y\ndata: z\n\n",
		want:   []Item{fields(event("z"), "DATA", "x", "Data", "y", "data", "z")},
	},
	{
		reason: "names are compared whole: datax is unknown",
		in:     "datax: x\ndat: y\ndata: z\n\n",
		want:   []Item{event("z")},
	},
	{
		reason: "unknown fields have no effect, and are kept",
		in:     "foo: 1\ndata: x\nbar\n\n",
		want:   []Item{fields(event("x"), "foo", "1", "data", "x", "bar", "")},
	},
	{
		reason: "a block of unknown fields dispatches nothing",
		in:     "foo: 1\nbar\n\ndata: x\n\n",
		want:   []Item{fields(event("x"), "data", "x")},
	},

	// data.
	{
		reason: "data lines are joined by one LF",
		in:     "data: a\ndata: b\ndata: c\n\n",
		want:   []Item{event("a\nb\nc")},
	},
	{
		reason: "data lines need not be neighbours",
		in:     "data: a\nevent: e\n: c\ndata: b\n\n",
		want:   []Item{comment(" c"), typed("e", "a\nb")},
	},
	{
		reason: "data without a colon is an empty line, and dispatches",
		in:     "data\n\n",
		want:   []Item{fields(event(""), "data", "")},
	},
	{
		reason: "data with nothing after the colon is an empty line",
		in:     "data:\n\n",
		want:   []Item{event("")},
	},
	{
		reason: "data with only a space after the colon is an empty line",
		in:     "data: \n\n",
		want:   []Item{event("")},
	},
	{
		reason: "two data without values are one LF",
		in:     "data\ndata\n\n",
		want:   []Item{event("\n")},
	},
	{
		reason: "only the last LF of the data is dropped",
		in:     "data: x\ndata:\ndata:\n\n",
		want:   []Item{event("x\n\n")},
	},
	{
		reason: "leading empty data lines are kept",
		in:     "data\ndata: x\n\n",
		want:   []Item{event("\nx")},
	},
	{
		reason: "many data lines are all kept",
		in:     strings.Repeat("data: x\n", 20) + "\n",
		want:   []Item{event(strings.Repeat("x\n", 19) + "x")},
	},
	{
		reason: "the data starts afresh after a dispatch",
		in:     "data: x\n\ndata: y\n\n",
		want:   []Item{event("x"), event("y")},
	},
	{
		reason: "NUL is data like any other",
		in:     "data: a\x00b\n\n",
		want:   []Item{event("a\x00b")},
	},

	// event.
	{
		reason: "event sets the type",
		in:     "event: ping\ndata: x\n\n",
		want:   []Item{typed("ping", "x")},
	},
	{
		reason: "event may follow the data",
		in:     "data: x\nevent: ping\n\n",
		want:   []Item{typed("ping", "x")},
	},
	{
		reason: "the last event field wins",
		in:     "event: a\nevent: b\ndata: x\n\n",
		want:   []Item{typed("b", "x")},
	},
	{
		reason: "an empty type stands for message",
		in:     "event:\ndata: x\n\n",
		want:   []Item{fields(event("x"), "event", "", "data", "x")},
	},
	{
		reason: "an empty type undoes an earlier one",
		in:     "event: a\nevent\ndata: x\n\n",
		want:   []Item{event("x")},
	},
	{
		reason: "the type starts afresh after a dispatch",
		in:     "event: a\ndata: x\n\ndata: y\n\n",
		want:   []Item{typed("a", "x"), event("y")},
	},
	{
		reason: "a type without data dispatches nothing and does not leak into the next block",
		in:     "event: a\n\ndata: y\n\n",
		want:   []Item{event("y")},
	},
	{
		reason: "a type is any text, of which one leading space is dropped",
		in:     "event:  a b \ndata: x\n\n",
		want:   []Item{typed(" a b ", "x")},
	},

	// id.
	{
		reason: "id is committed with its event",
		in:     "id: 1\ndata: x\n\n",
		want:   []Item{with("1", event("x"))},
		last:   "1",
	},
	{
		reason: "id stays in force for the events that follow",
		in:     "id: 1\ndata: x\n\ndata: y\n\n",
		want:   []Item{with("1", event("x")), under("1", event("y"))},
		last:   "1",
	},
	{
		reason: "id without data is committed, though nothing is dispatched",
		in:     "id: 1\n\ndata: y\n\n",
		want:   []Item{under("1", event("y"))},
		last:   "1",
	},
	{
		reason: "an empty id resets the last event id",
		in:     "id: 1\ndata: x\n\nid\ndata: y\n\n",
		want:   []Item{with("1", event("x")), with("", event("y"))},
	},
	{
		reason: "the last id of a block wins",
		in:     "id: 1\ndata: x\nid: 2\n\n",
		want:   []Item{with("2", event("x"))},
		last:   "2",
	},
	{
		reason: "id with a NUL is ignored, and kept among the fields",
		in:     "id: 1\ndata: x\n\nid: 2\x003\ndata: y\n\n",
		want: []Item{
			with("1", event("x")),
			fields(under("1", event("y")), "id", "2\x003", "data", "y"),
		},
		last: "1",
	},
	{
		reason: "id with a NUL does not undo an earlier one of its block",
		in:     "id: 1\nid: \x00\ndata: x\n\n",
		want:   []Item{with("1", event("x"))},
		last:   "1",
	},
	{
		reason: "id is any text",
		in:     "id: é/ 7:8\ndata: x\n\n",
		want:   []Item{with("é/ 7:8", event("x"))},
		last:   "é/ 7:8",
	},
	{
		reason: "id of a block that the stream's end cut off is not committed",
		in:     "id: 1\ndata: x\n\nid: 2\ndata: y\n",
		want:   []Item{with("1", event("x")), with("2", incomplete("message", "y"))},
		last:   "1",
	},

	// retry.
	{
		reason: "retry of digits is reported",
		in:     "retry: 3000\n\n",
		want:   []Item{fields(raw("retry: 3000\n", retry(3000)), "retry", "3000")},
	},
	{
		reason: "retry is reported before the event of its block",
		in:     "data: x\nretry: 10\n\n",
		want:   []Item{retry(10), fields(event("x"), "data", "x", "retry", "10")},
	},
	{
		reason: "retry takes effect with its line, though the block never ends",
		in:     "retry: 10\ndata: x",
		want:   []Item{retry(10), incomplete("message", "x")},
	},
	{
		reason: "retry of zero is valid",
		in:     "retry:0\n\n",
		want:   []Item{retry(0)},
	},
	{
		reason: "retry has leading zeros, in base ten",
		in:     "retry: 0010\n\n",
		want:   []Item{retry(10)},
	},
	{
		reason: "every retry of a block is reported",
		in:     "retry: 1\nretry: 2\n\n",
		want:   []Item{retry(1), retry(2)},
	},
	{
		reason: "retry without a value is ignored: there is not a number to interpret",
		in:     "retry\nretry:\nretry: \n\n",
	},
	{
		reason: "retry with a sign is ignored",
		in:     "retry: +1\nretry: -1\n\n",
	},
	{
		reason: "retry with a space, a point, an exponent or a letter is ignored",
		in:     "retry:  1\nretry: 1 \nretry: 1.5\nretry: 1e3\nretry: 0x1\nretry: 1s\n\n",
	},
	{
		reason: "retry of digits that are not ASCII is ignored",
		in:     "retry: ١٢\nretry: ３\n\n",
	},
	{
		reason: "an ignored retry is kept among the fields",
		in:     "retry: soon\ndata: x\n\n",
		want:   []Item{fields(event("x"), "retry", "soon", "data", "x")},
	},
	{
		reason: "retry at the greatest int64 is exact",
		in:     "retry: 9223372036854775807\n\n",
		want:   []Item{retry(math.MaxInt64)},
	},
	{
		reason: "retry beyond int64 is valid by the standard, and capped",
		in:     "retry: 9223372036854775808\nretry: 99999999999999999999999999\n\n",
		want:   []Item{retry(math.MaxInt64), retry(math.MaxInt64)},
	},
	{
		reason: "retries is another field",
		in:     "retries: 5\nretr: 5\n\n",
	},
}
