package sse

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// decode feeds chunks to a new Decoder and returns all its items.
func decode(limits Limits, chunks ...string) ([]Item, string) {
	d := NewDecoder(limits)
	var items []Item
	for _, chunk := range chunks {
		p := []byte(chunk)
		items = append(items, d.Feed(p)...)
		for i := range p {
			p[i] = '#' // the caller may reuse the chunk
		}
	}
	items = append(items, d.Close()...)
	return items, d.LastEventID()
}

// cut returns s in chunks of n bytes.
func cut(s string, n int) []string {
	var chunks []string
	for len(s) > n {
		chunks, s = append(chunks, s[:n]), s[n:]
	}
	return append(chunks, s)
}

// wanted compares Raw and Fields only if the row sets them.
var wanted = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.FilterPath(func(p cmp.Path) bool {
		name := p.Last().String()
		return name == ".Raw" || name == ".Fields"
	}, cmp.FilterValues(func(x, y any) bool {
		return empty(x) || empty(y)
	}, cmp.Ignore())),
}

func empty(v any) bool {
	switch v := v.(type) {
	case []byte:
		return len(v) == 0
	case []Field:
		return len(v) == 0
	}
	return false
}

func TestRules(t *testing.T) {
	if len(rules) < 60 {
		t.Errorf("the table has %d rules", len(rules))
	}
	seen := map[string]bool{}
	for _, r := range rules {
		if r.reason == "" || seen[r.reason] {
			t.Errorf("%q: the reason %q is missing or not the only one", r.in, r.reason)
		}
		seen[r.reason] = true
		t.Run(r.reason, func(t *testing.T) {
			whole, last := decode(r.limits, r.in)
			if diff := cmp.Diff(r.want, whole, wanted); diff != "" {
				t.Errorf("%q\nwant(-) got(+):\n%s", r.in, diff)
			}
			if last != r.last {
				t.Errorf("%q\nlast event id: want %q, got %q", r.in, r.last, last)
			}
			same := func(how string, chunks ...string) {
				t.Helper()
				items, id := decode(r.limits, chunks...)
				if diff := cmp.Diff(whole, items); diff != "" {
					t.Errorf("%q %s\nwhole(-) cut(+):\n%s", r.in, how, diff)
				}
				if id != last {
					t.Errorf("%q %s\nlast event id: whole %q, cut %q", r.in, how, last, id)
				}
			}
			same("in 1-byte chunks", cut(r.in, 1)...)
			same("in 2-byte chunks", cut(r.in, 2)...)
			same("in 3-byte chunks", cut(r.in, 3)...)
			for i := range len(r.in) + 1 {
				same("split after "+r.in[:i], r.in[:i], r.in[i:])
				same("with an empty chunk after "+r.in[:i], r.in[:i], "", r.in[i:])
			}
		})
	}
}

func TestFeedIsPrompt(t *testing.T) {
	type step struct {
		chunk string
		want  []Item
	}
	tests := []struct {
		reason string
		steps  []step
	}{
		{"a blank line of CR dispatches at once, and its LF is swallowed when it comes", []step{
			{"data: x\r\n\r", []Item{event("x")}},
			{"\n", nil},
			{"data: y\r\n\r", []Item{event("y")}},
			{"data: z\r\r", []Item{event("z")}},
		}},
		{"a comment is reported with its CR", []step{
			{":a\r", []Item{comment("a")}},
			{"\n:b", nil},
			{"\n", []Item{comment("b")}},
		}},
		{"retry is reported with its line, before the block ends", []step{
			{"retry: 5", nil},
			{"\n", []Item{retry(5)}},
			{"data: x\n", nil},
			{"\n", []Item{event("x")}},
		}},
		{"a byte order mark is reported with its last byte", []step{
			{"\xEF", nil},
			{"\xBB", nil},
			{"\xBF", []Item{mark()}},
		}},
		{"an oversize line is reported with the first excess byte", []step{
			{"data: 789", nil},
			{"0", []Item{oversize("line longer than 9 bytes")}},
			{"\n\n", nil},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			d := NewDecoder(Limits{MaxLine: 9})
			for _, s := range tt.steps {
				if diff := cmp.Diff(s.want, d.Feed([]byte(s.chunk)), wanted); diff != "" {
					t.Errorf("%q\nwant(-) got(+):\n%s", s.chunk, diff)
				}
			}
		})
	}
}

func TestLastEventIDIsCommittedByTheBlankLine(t *testing.T) {
	d := NewDecoder(Limits{})
	for _, s := range []struct{ chunk, want string }{
		{"id: 1\n", ""},
		{"data: x\n", ""},
		{"\n", "1"},
		{"id: 2\n", "1"},
		{"\n", "2"},
		{"id\n", "2"},
		{"\n", ""},
	} {
		d.Feed([]byte(s.chunk))
		if got := d.LastEventID(); got != s.want {
			t.Errorf("after %q: want %q, got %q", s.chunk, s.want, got)
		}
	}
}

func TestCloseEndsTheStream(t *testing.T) {
	d := NewDecoder(Limits{})
	d.Feed([]byte("data: x"))
	if n := len(d.Close()); n != 1 {
		t.Errorf("first Close: want 1 item, got %d", n)
	}
	if items := d.Close(); items != nil {
		t.Errorf("second Close: want nothing, got %v", items)
	}
	if items := d.Feed([]byte("\n\ndata: y\n\n")); items != nil {
		t.Errorf("Feed after Close: want nothing, got %v", items)
	}
}

func TestDefaultLimits(t *testing.T) {
	line := bytes.Repeat([]byte("x"), DefaultMaxLine)
	tests := []struct {
		reason string
		in     func(feed func(string))
		want   string
	}{
		{"a line of exactly 1 MiB is taken", func(feed func(string)) {
			feed("data: " + string(line[6:]) + "\n\n")
		}, "event"},
		{"a line of a byte more is not", func(feed func(string)) {
			feed("data: " + string(line[5:]) + "\n\n")
		}, "oversize"},
		{"an event of exactly 8 MiB is taken", func(feed func(string)) {
			for range 8 {
				feed("data: " + string(line[7:]) + "\n")
			}
			feed("\n")
		}, "event"},
		{"an event of a byte more is not", func(feed func(string)) {
			for range 8 {
				feed("data: " + string(line[7:]) + "\n")
			}
			feed("x\n\n")
		}, "oversize"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			d := NewDecoder(Limits{MaxLine: -1})
			var got []string
			tt.in(func(s string) {
				for _, it := range d.Feed([]byte(s)) {
					got = append(got, it.Kind.String())
				}
			})
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

// held returns the maximum that a Decoder may hold: append doubles what it
// needs.
func held(l Limits) int { return 2*(l.MaxLine+l.MaxEvent) + 64 }

func TestMemoryIsBounded(t *testing.T) {
	limits := Limits{MaxLine: 1 << 10, MaxEvent: 4 << 10}
	tests := []struct {
		reason string
		chunk  string
	}{
		{"a line that never ends", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
		{"a comment that never ends", ":::::::::::::"},
		{"a block that never ends", "data: x\n"},
		{"comments without a block", ": ping\r\n"},
		{"comments inside a block that never ends", "data\n: ping\n: ping\n"},
		{"events without end", "id: 1\ndata: x\n\n"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			d := NewDecoder(limits)
			chunk := bytes.Repeat([]byte(tt.chunk), 500)
			for range 200 {
				for _, it := range d.Feed(chunk) {
					if n := len(it.Raw); n > limits.MaxLine+limits.MaxEvent {
						t.Fatalf("an item of %d raw bytes", n)
					}
				}
				if n := cap(d.raw); n > held(limits) {
					t.Fatalf("the decoder holds %d bytes", n)
				}
			}
		})
	}
}

func TestKindString(t *testing.T) {
	for kind, want := range map[Kind]string{0: "none", Event: "event", Oversize: "oversize", 99: "kind(99)"} {
		if got := kind.String(); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}
