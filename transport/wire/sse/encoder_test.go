package sse

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAppend(t *testing.T) {
	tests := []struct {
		reason string
		in     Item
		end    LineEnd
		want   string
	}{
		{"data alone needs no type", Item{Kind: Event, Data: "x"}, LF, "data: x\n\n"},
		{"all fields", Item{Kind: Event, Type: "a", Data: "x", ID: "1", HasID: true}, LF, "event: a\nid: 1\ndata: x\n\n"},
		{"lines end in CR", Item{Kind: Event, Type: "a", Data: "x"}, CR, "event: a\rdata: x\r\r"},
		{"lines end in CRLF", Item{Kind: Event, Type: "a", Data: "x"}, CRLF, "event: a\r\ndata: x\r\n\r\n"},
		{"data is split on any line end", Item{Kind: Event, Data: "a\nb\rc\r\nd"}, LF,
			"data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"LF CR is two line ends", Item{Kind: Event, Data: "a\n\rb"}, LF, "data: a\ndata: \ndata: b\n\n"},
		{"empty data is a data field", Item{Kind: Event}, LF, "data: \n\n"},
		{"data that ends in a line end keeps its empty line", Item{Kind: Event, Data: "a\n"}, LF, "data: a\ndata: \n\n"},
		{"a leading space survives", Item{Kind: Event, Data: " a"}, LF, "data:  a\n\n"},
		{"an id needs HasID", Item{Kind: Event, Data: "x", ID: "1"}, LF, "data: x\n\n"},
		{"an id that is not written may be anything", Item{Kind: Event, Data: "x", ID: "\n"}, LF, "data: x\n\n"},
		{"an empty id is written", Item{Kind: Event, Data: "x", HasID: true}, LF, "id: \ndata: x\n\n"},
		{"the default type is written if it is given", Item{Kind: Event, Type: "message", Data: "x"}, LF,
			"event: message\ndata: x\n\n"},
		{"NUL in data is allowed", Item{Kind: Event, Data: "\x00"}, LF, "data: \x00\n\n"},
		{"a comment is verbatim", Item{Kind: Comment, Data: " ping"}, LF, ": ping\n"},
		{"an empty comment", Item{Kind: Comment}, CRLF, ":\r\n"},
		{"a comment is split on any line end", Item{Kind: Comment, Data: "a\r\nb"}, LF, ":a\n:b\n"},
		{"retry", Item{Kind: Retry, Retry: 3000}, LF, "retry: 3000\n\n"},
		{"retry of zero", Item{Kind: Retry}, LF, "retry: 0\n\n"},
		{"the greatest retry", Item{Kind: Retry, Retry: math.MaxInt64}, LF, "retry: 9223372036854775807\n\n"},
		{"retry in CRLF", Item{Kind: Retry, Retry: 1}, CRLF, "retry: 1\r\n\r\n"},
		{"a byte order mark", Item{Kind: BOM}, LF, "\uFEFF"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := Append([]byte("before"), tt.in, tt.end)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("before"+tt.want, string(got)); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestAppendRefuses(t *testing.T) {
	tests := []struct {
		reason string
		in     Item
		end    LineEnd
		want   string // part of the error
	}{
		{"LF in a type would end its line", Item{Kind: Event, Type: "a\nb"}, LF, `event type "a\nb"`},
		{"CR in a type would end its line", Item{Kind: Event, Type: "a\rb"}, LF, "event type"},
		{"NUL in a type", Item{Kind: Event, Type: "a\x00b"}, LF, "event type"},
		{"LF in an id would end its line", Item{Kind: Event, ID: "1\n", HasID: true}, LF, "event id"},
		{"CR in an id would end its line", Item{Kind: Event, ID: "\r", HasID: true}, LF, "event id"},
		{"NUL in an id would be ignored", Item{Kind: Event, ID: "\x00", HasID: true}, LF, "event id"},
		{"a stream is UTF-8: type", Item{Kind: Event, Type: "\xFF"}, LF, "not valid UTF-8"},
		{"a stream is UTF-8: id", Item{Kind: Event, ID: "\xFF", HasID: true}, LF, "not valid UTF-8"},
		{"a stream is UTF-8: data", Item{Kind: Event, Data: "\xFF"}, LF, "not valid UTF-8"},
		{"a stream is UTF-8: comment", Item{Kind: Comment, Data: "\xFF"}, LF, "not valid UTF-8"},
		{"a negative retry would be ignored", Item{Kind: Retry, Retry: -1}, LF, "negative"},
		{"the kind must be given", Item{Data: "x"}, LF, "kind none"},
		{"nothing is read as incomplete but at the end", Item{Kind: Incomplete, Data: "x"}, LF, "kind incomplete"},
		{"nothing is read as oversize without a limit", Item{Kind: Oversize}, LF, "kind oversize"},
		{"the line end must be given", Item{Kind: Event}, "", `"" is no line end`},
		{"LF CR is not a line end", Item{Kind: Event}, "\n\r", "no line end"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := Append([]byte("before"), tt.in, tt.end)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want an error with %q, got %v", tt.want, err)
			}
			if string(got) != "before" {
				t.Errorf("dst became %q", got)
			}
		})
	}
}

// checkRoundTrip encodes an item twice and expects to decode it twice.
func checkRoundTrip(t *testing.T, it Item, end LineEnd) {
	t.Helper()
	one, err := Append(nil, it, end)
	if err != nil {
		return
	}
	two, err := Append(one, it, end)
	if err != nil {
		t.Fatalf("%+v is encoded once only: %v", it, err)
	}
	want := it
	want.Data = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(it.Data)
	if want.Type == "" && it.Kind == Event {
		want.Type = "message"
	}
	if !it.HasID {
		want.ID = ""
	}
	got, _ := decode(Limits{}, string(two))
	if diff := cmp.Diff([]Item{want, want}, got, cmpopts.IgnoreFields(Item{}, "Raw", "Fields")); diff != "" {
		t.Errorf("%q\nwant(-) got(+):\n%s", two, diff)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, end := range []LineEnd{LF, CR, CRLF} {
		for _, it := range []Item{
			{Kind: Event},
			{Kind: Event, Data: "x"},
			{Kind: Event, Type: "agent_switched", Data: `{"a":1}`, ID: "7", HasID: true},
			{Kind: Event, Data: "\n\na\r\n\rb\r", HasID: true},
			{Kind: Event, Type: " a:b ", Data: ": x\ndata: y", ID: ": 1 ", HasID: true},
			{Kind: Event, Data: "\uFEFF会话 😀"},
			{Kind: Comment, Data: " keep-alive"},
			{Kind: Comment},
			{Kind: Retry, Retry: 250},
		} {
			checkRoundTrip(t, it, end)
		}
	}
}

// TestReencode decodes every rule, encodes what can be encoded, and decodes the
// same again.
func TestReencode(t *testing.T) {
	for _, r := range rules {
		items, _ := decode(r.limits, r.in)
		var (
			stream []byte
			want   []Item
		)
		for _, it := range items {
			next, err := Append(stream, it, LF)
			if err != nil {
				continue // not a kind that can be encoded
			}
			stream, want = next, append(want, it)
		}
		got, _ := decode(Limits{}, string(stream))
		opt := cmp.Options{
			cmpopts.IgnoreFields(Item{}, "Raw", "Fields"),
			// An earlier block, perhaps without data, may have set the id.
			cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ID" }, cmp.Ignore()),
		}
		if diff := cmp.Diff(want, got, opt); diff != "" {
			t.Errorf("%s: %q\nwant(-) got(+):\n%s", r.reason, stream, diff)
		}
	}
}
