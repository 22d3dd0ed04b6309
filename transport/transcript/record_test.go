package transcript

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	const start = "   7     1.500 ms  A   <- "
	rows := []struct {
		reason string
		width  int
		in     Record
		want   string
	}{
		{"an event", 0, Record{Kind: Stream, Label: "agent_list", Type: "agent_list", Bytes: []byte(`{"a":1}`)}, start +
			`event agent_list  {"a":1}`},
		{"a type that is not in the label", 0, Record{Kind: Frame, Label: "agent_list", Type: "text"}, start +
			"frame agent_list (text)"},
		{"an answer", 0, Record{Kind: Response, Label: "200 OK", Status: 200, Reply: 3}, start + "response 200 OK 200 to 3"},
		{"a cut payload", 0, Record{Kind: Frame, Bytes: []byte("a"), Cut: 9}, start + "frame  a … 9 bytes cut"},
		{"a line stays one line, whatever its bytes are", 0, Record{Kind: Comment, Bytes: []byte("a\r\nb\x1b[31m")},
			start + `comment  a\r\nb\u001b[31m`},
		{"or its label and type are", 0, Record{Kind: Response, Label: "200 O\x1b[2JK", Type: "a\nb"}, start +
			`response 200 O\u001b[2JK (a\nb)`},
		{"a line as long as its width", len(start) + 5, Record{Kind: Frame}, start + "frame"},
		{"a line that is longer", len(start) + 5, Record{Kind: Frame, Label: "x"}, start + "fram…"},
		{"width is counted in characters", len(start) + 10, Record{Kind: Frame, Label: "主代理主代理"}, start + "frame 主代理…"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			r.in.N, r.in.At, r.in.Conn, r.in.Dir = 7, 1500*time.Microsecond, "A", Received
			if got := r.in.Line(r.width); got != r.want {
				t.Errorf("Line:\n got %q\nwant %q", got, r.want)
			}
		})
	}
	for dir, arrow := range map[Dir]string{Sent: "->", Received: "<-", Noted: "--"} {
		if got := (Record{Dir: dir, Kind: Remark}).Line(0); !strings.Contains(got, arrow) {
			t.Errorf("%s has no %s: %q", dir, arrow, got)
		}
	}
}

func TestPrintable(t *testing.T) {
	rows := []struct{ reason, in, want string }{
		{"text stays unchanged", "héllo 主代理 🙂", "héllo 主代理 🙂"},
		{"quotes and backslashes stay", `"\n"`, `"\n"`},
		{"line ends", "a\nb\r", `a\nb\r`},
		{"other controls", "\x00\t\x7f\u0085", `\u0000\u0009\u007f\u0085`},
		{"line and paragraph separators", "\u2028\u2029", `\u2028\u2029`},
		{"embedding and overriding of direction", "\u202a\u202b\u202c\u202d\u202e", `\u202a\u202b\u202c\u202d\u202e`},
		{"isolation of direction", "\u2066\u2067\u2068\u2069", `\u2066\u2067\u2068\u2069`},
		{"direction marks", "\u200e\u200f\u061c", `\u200e\u200f\u061c`},
		{"invalid UTF-8", "a\xff\xe4\xb8", `a\xff\xe4\xb8`},
		{"the replacement character itself", "\ufffd", "\ufffd"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if got := escapeUnprintable(r.in); got != r.want {
				t.Errorf("printable(%q) = %q, want %q", r.in, got, r.want)
			}
		})
	}
}

func FuzzLine(f *testing.F) {
	f.Add("label", "type", []byte("a\nb\x1b\u202e\xff"), 40)
	f.Fuzz(func(t *testing.T, label, typ string, payload []byte, width int) {
		line := Record{N: 1, Dir: Sent, Kind: Frame, Label: label, Type: typ, Bytes: payload}.Line(width)
		if !utf8.ValidString(line) {
			t.Errorf("%q is no UTF-8", line)
		}
		for _, c := range line {
			if c < 0x20 || c >= 0x7f && c < 0xa0 || Reorders(c) || c == '\u2028' || c == '\u2029' {
				t.Errorf("%q has %U", line, c)
			}
		}
		if n := utf8.RuneCountInString(line); width > 0 && n > width {
			t.Errorf("%q has %d characters, more than %d", line, n, width)
		}
	})
}
