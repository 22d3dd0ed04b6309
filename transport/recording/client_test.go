package recording

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/transport/transcript"
)

// viewed reads lines as the client.
func viewed(t *testing.T, lines ...string) (out []transcript.Record, v *ClientView) {
	t.Helper()
	in, err := NewReader(strings.NewReader(first + strings.Join(lines, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	v = NewClientView(in)
	for {
		r, err := v.Next()
		if errors.Is(err, io.EOF) {
			return out, v
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
}

// TestClientView checks that recordings of either end read alike.
func TestClientView(t *testing.T) {
	atClient := []string{
		`{"n":1,"at_ms":0,"dir":"noted","kind":"remark","label":"x"}`,
		`{"n":2,"at_ms":0,"party":"A","dir":"sent","kind":"open","label":"GET /ws (upgrade)"}`,
		`{"n":3,"at_ms":0,"party":"A","dir":"received","kind":"open","status":101,"to":2}`,
		`{"n":4,"at_ms":0,"party":"A","dir":"sent","kind":"frame","type":"text","text":"a"}`,
		`{"n":5,"at_ms":0,"party":"A","dir":"received","kind":"frame","type":"text","text":"b"}`,
		`{"n":6,"at_ms":0,"party":"A","dir":"received","kind":"closed","label":"closed by the harness"}`}
	atServer := []string{
		`{"n":1,"at_ms":0,"dir":"noted","kind":"remark","label":"x"}`,
		`{"n":2,"at_ms":0,"party":"A","dir":"received","kind":"open","label":"GET /ws (upgrade)","text":"GET /ws HTTP/1.1"}`,
		`{"n":3,"at_ms":0,"party":"A","dir":"sent","kind":"open","status":101,"to":2}`,
		`{"n":4,"at_ms":0,"party":"A","dir":"received","kind":"frame","type":"text","text":"a"}`,
		`{"n":5,"at_ms":0,"party":"A","dir":"sent","kind":"frame","type":"text","text":"b"}`,
		`{"n":6,"at_ms":0,"party":"A","dir":"received","kind":"closed","label":"the target closed the connection: \"\""}`}
	client, v := viewed(t, atClient...)
	if v.AtServer() {
		t.Error("it is taken for one of the server's end")
	}
	server, v := viewed(t, atServer...)
	if !v.AtServer() {
		t.Error("it is taken for one of the client's end")
	}
	if diff := cmp.Diff(client, server); diff != "" {
		t.Error(diff)
	}
	for label, by := range map[string]bool{"the target closed the connection: \"\"": true, "closed by the harness": false,
		"the client has closed the stream":     true,
		"the peer closed the connection: \"\"": false, "the connection broke off: EOF": true} {
		text, err := json.Marshal(label)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := viewed(t, append(atServer[:5:5],
			`{"n":6,"at_ms":0,"party":"A","dir":"received","kind":"closed","label":`+string(text)+`}`)...)
		if (got[5].Label == ByClient) != by {
			t.Errorf("%s: %s", label, got[5].Label)
		}
	}
}

// TestPage checks that of the recording of a page, what it says to servers is read.
func TestPage(t *testing.T) {
	in, err := NewReader(strings.NewReader(`{"parley":"recording","version":1,"driver":"browser"}
{"n":1,"at_ms":0,"party":"A","dir":"sent","kind":"open","label":"GET http://127.0.0.1:1/"}
{"n":2,"at_ms":0,"party":"A","dir":"received","kind":"open","label":"page","status":200,"to":1}
{"n":3,"at_ms":0,"party":"A","dir":"received","kind":"look","text":"{}"}
{"n":4,"at_ms":0,"party":"A api","dir":"received","kind":"request","label":"GET /events"}
{"n":5,"at_ms":0,"party":"A api 1","dir":"received","kind":"open","label":"/events","to":4}
{"n":6,"at_ms":0,"party":"A api 1","dir":"sent","kind":"open","status":200,"type":"text/event-stream"}
{"n":7,"at_ms":0,"party":"A","dir":"received","kind":"closed","label":"closed by the harness"}
{"n":8,"at_ms":0,"party":"A api 1","dir":"received","kind":"closed","label":"the target has closed the stream"}
`))
	if err != nil {
		t.Fatal(err)
	}
	v := NewClientView(in)
	var got []string
	for {
		r, err := v.Next()
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%d %s %s %s %s %d", r.N, r.Conn, r.Dir, r.Kind, r.Label, r.Reply))
	}
	want := []string{"5 A api 1 sent open GET /events 0", "6 A api 1 received open  5",
		"8 A api 1 received closed closed by the harness 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRestore checks that what was left out of messages comes back, and that what is not known counts as cut off.
func TestRestore(t *testing.T) {
	long := `[` + strings.Repeat(`{"a":"b"},`, 1000) + `{}]`
	sum := sha256.Sum256([]byte(long))
	line := func(n int, text string) string {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"n":%d,"at_ms":0,"party":"A","dir":"received","kind":"frame","type":"text","text":%s}`, n, b)
	}
	whole := `{"type":"t","n":[1],"payload":{"x":1,"of":` + long + `,"y":2}}`
	short := fmt.Sprintf(`{"payload":{"of":"… %d bytes, as in record 1, sha256 %x …"}}`, len(long), sum[:8])
	got, _ := viewed(t, line(1, whole), line(2, short), line(3, strings.Replace(short, "sha256 ", "sha256 0", 1)),
		line(4, strings.Replace(short, fmt.Sprintf("%x", sum[:8]), "0123456789abcdef", 1)))
	if want := `{"payload":{"of":` + long + `}}`; string(got[1].Bytes) != want || got[1].Cut != 0 {
		t.Errorf("%d, cut %d", len(got[1].Bytes), got[1].Cut)
	}
	if got[2].Cut != 0 || got[3].Cut != 1 {
		t.Errorf("cut %d, %d", got[2].Cut, got[3].Cut)
	}
}

// TestStreamUnasked checks that a request which does not ask for an event stream, and is answered by one, reads as what
// opens it, at either end; and that any other request stays one.
func TestStreamUnasked(t *testing.T) {
	for _, turned := range []bool{false, true} {
		client, server := "sent", "received"
		if turned {
			client, server = server, client
		}
		got, _ := viewed(t,
			`{"n":1,"at_ms":0,"dir":"`+client+`","kind":"request","label":"GET /agents"}`,
			`{"n":2,"at_ms":0,"dir":"`+client+`","kind":"request","label":"GET /events"}`,
			`{"n":3,"at_ms":0,"dir":"`+server+`","kind":"response","label":"200 OK","status":200,"to":1}`,
			`{"n":4,"at_ms":0,"party":"A","dir":"`+server+`","kind":"open","label":"stream","status":200,"to":2}`)
		var kinds []string
		for _, r := range got {
			kinds = append(kinds, fmt.Sprint(r.N, " ", r.Dir, " ", r.Kind, " ", r.Conn, " ", r.Label, " ", r.Reply))
		}
		want := []string{"1 sent request  GET /agents 0", "2 sent open A GET /events 0", "3 received response  200 OK 1",
			"4 received open A stream 2"}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("turned %v: %s", turned, diff)
		}
	}
}
