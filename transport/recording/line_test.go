package recording

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"parley/transport/transcript"
)

// FuzzLine compares the line of a record with the one that encoding/json writes.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\b\f\n\r\t\x00\x1f\x7f", "<a href='x'>&amp;",
		"é主🙂\u2028\u2029\u2027", "\xff\xe4\xb8", "a\xe2\x80", "\ufffd"} {
		f.Add(s, []byte(s), int64(1_234_567), 7, true)
		f.Add("x"+s+"y", []byte("x"+s+"y"), int64(0), 0, false)
	}
	f.Fuzz(func(t *testing.T, s string, p []byte, at int64, n int, yes bool) {
		r := transcript.Record{N: n, At: time.Duration(at & (1<<62 - 1)), Conn: s, Dir: transcript.Received,
			Kind: transcript.Frame, Label: s, Status: -n, Type: s, ID: s, Trace: s, Headers: s, Bytes: p,
			Cut: n, Reply: n / 2, Flushed: yes, Late: !yes}
		if yes {
			r.Event = &transcript.Event{Type: s}
		}
		want := millis(r.At)
		l := line{N: r.N, AtMS: &want, Party: r.Conn, Dir: string(r.Dir), Kind: string(r.Kind), Label: r.Label,
			Status: r.Status, Type: r.Type, ID: r.ID, Trace: r.Trace, Headers: r.Headers, Cut: r.Cut, To: r.Reply,
			Flushed: r.Flushed, Late: r.Late}
		if yes {
			l.Event = s
		}
		text, code := string(p), base64.StdEncoding.EncodeToString(p)
		switch {
		case p == nil:
		case utf8.Valid(p):
			l.Text = &text
		default:
			l.Base64 = &code
		}
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		got := appendRecord(nil, &r, transcript.NewRedactor())
		if string(got) != string(b)+"\n" {
			t.Errorf("the line is\n%s, encoding/json writes\n%s", got, b)
		}
	})
}
