package counterpart_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/internal/script"
	"parley/transport/transcript"
)

// TestScriptNotes: the transcript says which action of a script was left out, and which messages no rule matches, also
// those without a type.
func TestScriptNotes(t *testing.T) {
	const text = `script: s
protocol: agent-select
as: server
rules:
- on: a
  answer:
  - send: {v: "${/b}"}
  - send: {type: done}
- on: {type: b, where: {/c: 1}}
`
	s, err := script.Parse("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, "agent-select", "server")
	o.Start, o.Script = nil, s
	p := open(t, o)
	c := dial(t, p, "/any")
	for _, said := range []string{`{"type":"b","c":2}`, "xx", "[1]", `{"type":"a"}`} {
		c.sendMessage(said)
	}
	c.readUntilType("done")
	var got []string
	for _, r := range p.Transcript().All() {
		if r.Kind == transcript.Remark {
			got = append(got, r.Label)
		}
	}
	want := `no rule of the script matches b (line 9: /c is another)
no rule of the script matches the message "xx", which has no type
no rule of the script matches the message "[1]", which has no type
line 7 of the script, in the rule of line 5: send is left out: the message has no /b`
	if strings.Join(got, "\n") != want {
		t.Errorf("remarks:\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// TestScriptCloses: a script closes a connection with a code and a reason.
func TestScriptCloses(t *testing.T) {
	s, err := script.Parse("s.yaml", []byte("script: s\nprotocol: agent-select\nas: server\nrules:\n"+
		"- on: a\n  answer: [{close: 4001, reason: \"${/why}\"}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, "agent-select", "server")
	o.Start, o.Script = nil, s
	c := dial(t, open(t, o), "/any")
	c.sendMessage(`{"type":"a","why":"enough"}`)
	var end websocket.CloseError
	if _, _, err := c.c.Read(c.ctx); !errors.As(err, &end) || end.Code != 4001 || end.Reason != "enough" {
		t.Errorf("the end is %v", err)
	}
}

// TestScriptAnswersInOrder: what answers messages at once goes out in their order, however many answers each has, and
// what answers later does not hold it up.
func TestScriptAnswersInOrder(t *testing.T) {
	s, err := script.Parse("s.yaml", []byte("script: s\nprotocol: agent-select\nas: server\nrules:\n"+
		"- {on: a, answer: [{send: {type: one, n: \"${/n}\"}}, {send: {type: two, n: \"${/n}\"}}]}\n"+
		"- {on: late, answer: [{send: {type: never}, after: 10m}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, "agent-select", "server")
	o.Start, o.Script = nil, s
	c := dial(t, open(t, o), "/any")
	const n = 100
	for i := range n {
		c.sendMessage(`{"type":"late"}`)
		c.sendMessage(fmt.Sprintf(`{"type":"a","n":%d}`, i))
	}
	for i := range n {
		for _, typ := range []string{"one", "two"} {
			_, got, err := c.c.Read(c.ctx)
			if want := fmt.Sprintf(`{"type":%q,"n":%d}`, typ, i); err != nil || string(got) != want {
				t.Fatalf("answer %d is %s, %v, want %s", i, got, err, want)
			}
		}
	}
}
