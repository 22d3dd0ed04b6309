package replay

import (
	"fmt"
	"strings"
	"testing"

	"parley/protocol/messages"
	"parley/transport/recording"
)

// course writes a recording of a client of session-chat, a record for each line: "> text" is sent, "< text" received,
// "<< reason" is an end by the target, "|" one by the harness; "o" opens a connection anew, "+ms" lets time pass. B
// or C behind a mark names the party.
func course(t *testing.T, lines ...string) *recording.Reader {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"parley":"recording","version":1,"protocol":"session-chat","role":"server","driver":"ws"}` + "\n")
	b.WriteString(`{"n":1,"at_ms":0,"party":"A","dir":"sent","kind":"open","label":"GET ws://h/ws (upgrade)"}` + "\n")
	b.WriteString(`{"n":2,"at_ms":1,"party":"A","dir":"received","kind":"open","status":101,"to":1}` + "\n")
	n, at := 2, 1
	for _, l := range lines {
		mark, text, _ := strings.Cut(l, " ")
		if strings.HasPrefix(mark, "+") {
			var ms int
			_, _ = fmt.Sscanf(mark, "+%d", &ms)
			at += ms
			continue
		}
		n++
		at++
		party := "A"
		if last := mark[len(mark)-1]; last == 'B' || last == 'C' {
			party, mark = string(last), mark[:len(mark)-1]
		}
		head := fmt.Sprintf(`{"n":%d,"at_ms":%d,"party":%q,`, n, at, party)
		switch mark {
		case ">":
			fmt.Fprintf(&b, "%s\"dir\":\"sent\",\"kind\":\"frame\",\"type\":\"text\",\"text\":%q}\n", head, text)
		case "<":
			fmt.Fprintf(&b, "%s\"dir\":\"received\",\"kind\":\"frame\",\"type\":\"text\",\"text\":%q}\n", head, text)
		case "o":
			fmt.Fprintf(&b, "%s\"dir\":\"sent\",\"kind\":\"open\",\"label\":\"GET ws://127.0.0.1:1/ws (upgrade)\"}\n", head)
		case "<<":
			fmt.Fprintf(&b, "%s\"dir\":\"received\",\"kind\":\"closed\",\"status\":1008,\"label\":\"close %s\"}\n", head, text)
		case "|":
			fmt.Fprintf(&b, "%s\"dir\":\"received\",\"kind\":\"closed\",\"label\":\"closed by the harness\"}\n", head)
		}
	}
	in, err := recording.NewReader(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

const (
	ask    = `> {"type":"x","content":"hello"}`
	fence  = `> {"type":"y"}`
	okay   = `< {"type":"okay","session":"sess_12ab34cd56ef","text":"done"}`
	first  = `{"type":"said","words":"here"}`
	second = `{"type":"said","words":"there"}`
	pong   = `< {"type":"pong"}`
)

var (
	drawn12 = "sess_12ab34cd56ef"
	back    = `> {"type":"z","session":"sess_12ab34cd56ef"}`
	other   = strings.ReplaceAll(okay, drawn12, "0f8fad5b-d9cb-469f-a165-70867728950e")
	other2  = strings.ReplaceAll(back, drawn12, "0f8fad5b-d9cb-469f-a165-70867728950e")
)

var meetings = []struct {
	reason string
	a, b   []string
	want   string
}{
	{"the same", []string{ask, okay, "|"}, []string{ask, okay, "|"}, ""},
	{"ids that are drawn in another way, and repeated", []string{ask, okay, back, okay, "|"},
		[]string{ask, other, other2, other, "|"}, ""},
	{"an id that is not repeated", []string{ask, okay, fence, okay, "|"},
		[]string{ask, okay, fence, strings.ReplaceAll(okay, "12ab34cd56ef", "99ab34cd56ef"), "|"},
		"changed okay at /session"},
	{"another text", []string{ask, okay, "|"}, []string{ask, strings.ReplaceAll(okay, "done", "finished"), "|"},
		"changed okay at /text"},
	{"another type", []string{ask, okay, fence, pong, "|"}, []string{ask, `< {"type":"refused"}`, fence, pong, "|"},
		"instead okay refused"},
	{"one too many before an answer",
		[]string{ask, fence, pong, "|"}, []string{ask, okay, fence, pong, "|"}, "only-b okay"},
	{"one missing before an answer",
		[]string{ask, okay, fence, pong, "|"}, []string{ask, fence, pong, "|"}, "only-a okay"},
	{"one missing at the end, and nobody waited", []string{ask, okay, "|"}, []string{ask, "|"}, ""},
	{"one missing at the end, in a long silence", []string{ask, okay, "|"}, []string{ask, "+300", "|"}, "only-a okay"},
	{"one too many at the end, and nobody waited", []string{ask, "|"}, []string{ask, okay, "|"}, ""},
	{"one too many at the end, where there is silence",
		[]string{ask, "+300", "|"}, []string{ask, okay, "|"}, "only-b okay"},
	{"another order", []string{ask, okay, pong, "|"}, []string{ask, pong, okay, "|"}, "order okay"},
	{"connections that interleave", []string{ask, "<B " + okay[2:], okay, pong, "|"},
		[]string{ask, okay, pong, "<B " + okay[2:], "|"}, ""},
	{"two parties at once, whose messages are passed on in another order",
		[]string{">B " + first, ">C " + second, "< " + first, "< " + second, fence, pong, "|"},
		[]string{">B " + first, ">C " + second, "< " + second, "< " + first, fence, pong, "|"}, ""},
	{"what is passed on is not what was sent", []string{">B " + first, "< " + first, fence, pong, "|"},
		[]string{">B " + first, "< " + second, fence, pong, "|"}, "changed said at /words"},
	{"a second connection of the same party", []string{ask, okay, "|", "o", ask, okay, "|"},
		[]string{ask, okay, "|", "o", ask, "+300", "|"}, "only-a okay"},
	{"an item more in a list", []string{ask, `< {"type":"list","of":[{"id":"x"},{"id":"z"}]}`, fence, pong, "|"},
		[]string{ask, `< {"type":"list","of":[{"id":"x"},{"id":"y"},{"id":"z"}]}`, fence, pong, "|"},
		"changed list at /of/0"},
	{"an end instead of an answer, behind which nothing can come", []string{ask, okay, pong, "|"},
		[]string{ask, "<< no"}, "instead okay "},
	{"an end that the other does not make", []string{ask, "+300", "|"}, []string{ask, "<< no"}, "only-b "},
	{"the harness gives up in the middle", []string{ask, okay, fence, pong, "|"}, []string{ask, "|"}, ""},
	{"the harness goes on in another way", []string{ask, okay, fence, pong, "|"},
		[]string{ask, okay, back, `< {"type":"other"}`, "|"}, ""},
}

func TestBetween(t *testing.T) {
	t.Parallel()
	for _, c := range meetings {
		t.Run(c.reason, func(t *testing.T) {
			found, err := CompareRecordings(course(t, c.a...), course(t, c.b...), Options{Messages: messages.For("nothing")})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range found.Deviations {
				got = append(got, described(d))
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("found %q, want %q\n%+v", s, c.want, found)
			}
		})
	}
}

func described(d Deviation) string {
	text := string(d.Kind)
	if d.A != nil {
		text += " " + d.A.Type
	}
	if d.B != nil && d.Kind != Changed && d.Kind != Order {
		text += " " + d.B.Type
	}
	for _, p := range d.Places {
		text += " at " + p.At
	}
	return text
}

func TestBetweenIsSymmetric(t *testing.T) {
	t.Parallel()
	a, b := []string{ask, okay, fence, pong, "|"}, []string{ask, fence, pong, "|"}
	there, err := CompareRecordings(course(t, a...), course(t, b...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	back, err := CompareRecordings(course(t, b...), course(t, a...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(there.Deviations) != 1 || len(back.Deviations) != 1 || there.Deviations[0].Kind != OnlyA ||
		back.Deviations[0].Kind != OnlyB || there.Deviations[0].A.Text != back.Deviations[0].B.Text {
		t.Errorf("%+v\n%+v", there, back)
	}
}
