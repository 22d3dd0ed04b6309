package differential

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/cut"
	"parley/internal/jsonform"
	"parley/internal/words"
	"parley/transport/transcript"
)

//go:embed differential.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of differential.json; its $id is SchemaID. The caller owns the copy.
func Schema() []byte { return slices.Clone(schema) }

// WriteJSON writes r as differential.json: indented, keys in the order of Report. Bytes that are not UTF-8 are
// replaced.
func WriteJSON(w io.Writer, r *Report) error {
	err := jsonform.WriteLine(w, r, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true),
		json.FormatNilSliceAsNull(false), json.FormatNilMapAsNull(false))
	if err != nil {
		return fmt.Errorf("write differential.json: %w", err)
	}
	return nil
}

// Bounds of what is shown.
const (
	maxTitle = 60 // characters of a value in a title
	maxText  = 400
	maxNamed = 6 // scenarios
)

// oneLine makes a text fit one line.
func oneLine(s string, limit int) string {
	return cut.Text(transcript.Printable(strings.Join(strings.Fields(s), " ")), limit)
}

// Title describes an entry on one line.
func (e Entry) Title() string {
	message := oneLine(e.Message, maxTitle)
	switch e.Kind {
	case "changed":
		return message + e.describePlaces()
	case "instead":
		return "A: " + message + ", where B: " + oneLine(e.Other, maxTitle)
	case "only-a", "only-b":
		return "only " + strings.ToUpper(e.Kind[len("only-"):]) + ": " + message
	case "order":
		return message + ": at another place among the messages of the connection"
	}
	return "what the targets send is the same, or differs elsewhere, but " + message + " is broken by one of them"
}

// describePlaces names the places of a change, and the values if they are always the same.
func (e Entry) describePlaces() string {
	if len(e.Places) == 1 && e.Places[0].In == "both" && len(e.Values) == 1 {
		v := e.Values[0]
		return " at " + oneLine(e.Places[0].At, maxTitle) + ": A " + orNothing(v.A) + ", B " + orNothing(v.B)
	}
	var out []string
	for _, in := range []struct{ side, text string }{{"both", " differs"}, {"a", " in A only"}, {"b", " in B only"}} {
		var at []string
		for _, p := range e.Places {
			if p.In == in.side {
				at = append(at, p.At)
			}
		}
		if len(at) > 0 {
			out = append(out, oneLine(strings.Join(at, ", "), 3*maxTitle)+in.text)
		}
	}
	if len(out) == 0 {
		return " differs"
	}
	return ": " + strings.Join(out, "; ")
}

func orNothing(v string) string {
	if v == "" {
		return "has nothing"
	}
	return oneLine(v, maxTitle)
}

// describeClass formats a class for people.
func (c Class) describeClass() string {
	switch c {
	case Decided:
		return "decided by a clause"
	case Open:
		return "the document leaves this open"
	}
	return "seen only behind another difference, and maybe because of it"
}

// describeDecision says which clause decides, and against which target.
func (d Decision) describeDecision() string {
	who := strings.ToUpper(d.Breaks) + " breaks it"
	if d.Breaks == "both" {
		who = "each breaks it somewhere"
	}
	return fmt.Sprintf("%s %s (%s): %s", d.Clause, d.Level, who, oneLine(d.Text, maxText))
}

// Summary describes on one line what was found.
func (r *Report) Summary() string {
	if r.Problem != "" {
		return "not compared: " + oneLine(r.Problem, maxText)
	}
	compared := fmt.Sprintf("%s and %s compared", words.Counted(r.Scenarios, "scenario"),
		words.Counted(r.Compared, "message"))
	if len(r.Entries) == 0 {
		return "no differences · " + compared
	}
	n := map[Class]int{}
	for _, e := range r.Entries {
		n[e.Class]++
	}
	return fmt.Sprintf("%s: %d decided by a clause, %d open, %d behind others · %s",
		words.Counted(len(r.Entries), "difference"), n[Decided], n[Open], n[Follows], compared)
}

// WriteText writes the list for a terminal.
func WriteText(w io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, role %s\n  A  %s (%s)\n  B  %s (%s)\n", r.Protocol, r.Role, r.A.Name, r.A.Verdict, r.B.Name,
		r.B.Verdict)
	class := Class("")
	for _, e := range r.Entries {
		if e.Class != class {
			class = e.Class
			fmt.Fprintf(&b, "\n%s\n", strings.ToUpper(class.describeClass()))
		}
		e.writeText(&b)
	}
	b.WriteString("\n")
	for _, why := range sortedKeys(r.NotCompared) {
		fmt.Fprintf(&b, "%s not compared: %s\n", words.Counted(r.NotCompared[why], "scenario"), oneLine(why, 200))
	}
	if r.Mapped {
		b.WriteString("the profiles name the members of messages differently: only which messages came, and their status, " +
			"was compared\n")
	}
	if r.Parted > 0 {
		fmt.Fprintf(&b, "%s compared in part: the harness reacts to the targets, and did something else from some point on\n",
			words.Counted(r.Parted, "scenario"))
	}
	if r.Unsteady > 0 {
		fmt.Fprintf(&b, "%s left out: not there again when the scenario ran once more, or there between two runs of one "+
			"target\n", words.Counted(r.Unsteady, "difference"))
	}
	b.WriteString(r.Summary() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeText writes an entry.
func (e Entry) writeText(b *strings.Builder) {
	fmt.Fprintf(b, "%3d  %s  (%d×)\n", e.Number, e.Title(), e.Count)
	for _, d := range e.Decisions {
		fmt.Fprintf(b, "     %s\n", d.describeDecision())
	}
	if len(e.Decisions) == 0 {
		fmt.Fprintf(b, "     nearest section: %s\n", oneLine(e.Section, 100))
	}
	x := e.Example
	fmt.Fprintf(b, "     %s over %s, %s", x.Scenario, x.Driver, oneLine(x.Name, 100))
	if more := len(e.Scenarios) - 1; more > 0 {
		fmt.Fprintf(b, ", and %s", words.Counted(more, "more scenario"))
	}
	b.WriteString("\n")
	if e.Kind == "verdict" {
		fmt.Fprintf(b, "     expected  %s\n     observed  %s\n", oneLine(e.Decisions[0].Expected, maxText),
			oneLine(e.Decisions[0].Observed, maxText))
		return
	}
	if x.Act != "" {
		fmt.Fprintf(b, "     after  %s\n", oneLine(x.Act+" "+x.Said, maxText))
	}
	fmt.Fprintf(b, "     A  %s\n     B  %s\n", x.A.oneLine(), x.B.oneLine())
}

// oneLine shows a message on one line.
func (m *Message) oneLine() string {
	switch {
	case m == nil:
		return "(nothing)"
	case m.After != "" && m.Text == "":
		return m.What
	}
	return oneLine(m.What+" "+m.Text, maxText)
}
