package obligation_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"parley/steps/obligation"
)

func chart() obligation.Chart {
	duties := obligation.Duties{}
	duties.Note("a question", "an answer", "B", "A")
	duties.Note("a question", "an answer", "A")
	duties.Note("a <b> & c", "an answer")
	return obligation.Chart{Party: "server", Duties: duties.List(), Machines: []obligation.Machine{{Name: "a talk",
		Moves: []obligation.Move{{To: "open", On: "hello"}, {From: "open", On: "bye", Clauses: []string{"C"}}}}}}
}

func TestMermaid(t *testing.T) {
	text := chart().Mermaid()
	for _, line := range []string{"stateDiagram-v2", "[*] --> open: hello", "open --> [*]: bye (C)", "|A B|"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
}

// TestSVG: the picture is well formed, and has each duty.
func TestSVG(t *testing.T) {
	d, paths := xml.NewDecoder(strings.NewReader(chart().SVG())), 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" {
			paths++
		}
	}
	if paths != 2 {
		t.Errorf("%d duties are drawn; want 2", paths)
	}
}
