package differential

import (
	"fmt"
	"io"
	"strings"

	"parley/internal/words"
	"parley/transport/transcript"
)

// WriteMarkdown writes the page for the authors of the document.
func WriteMarkdown(w io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Where two implementations of %s differ\n\n", r.Protocol)
	fmt.Fprintf(&b, "Two targets in the role %s ran under the same scenarios. A is %s, B is %s.\n", r.Role, code(r.A.Name),
		code(r.B.Name))
	b.WriteString("What they sent was compared by connection and direction, apart from ids, times and a model's " +
		"words.\n\n")
	if r.Mapped {
		b.WriteString("Their profiles name the members of messages differently: only which messages came, and their " +
			"status, was compared.\n\n")
	}
	fmt.Fprintf(&b, "%s.\n", r.Summary())
	if len(r.Entries) > 0 {
		b.WriteString("\n| | difference | shows | says who is right | section |\n|---|---|---|---|---|\n")
	}
	for _, e := range r.Entries {
		fmt.Fprintf(&b, "| [%d](#difference-%d) | %s | %d× | %s | %s |\n", e.Number, e.Number, cell(e.Title()), e.Count,
			e.clauses(), cell(e.Section))
	}
	class := Class("")
	for _, e := range r.Entries {
		if e.Class != class {
			class = e.Class
			fmt.Fprintf(&b, "\n## %s\n", strings.ToUpper(class.describe()[:1])+class.describe()[1:])
		}
		e.markdown(&b)
	}
	r.rest(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// clauses names the clauses that decide an entry.
func (e Entry) clauses() string {
	if len(e.Decisions) == 0 {
		return "no clause"
	}
	var out []string
	for _, d := range e.Decisions {
		out = append(out, d.Clause)
	}
	return strings.Join(out, " ")
}

// markdown writes an entry.
func (e Entry) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n### Difference %d\n\n%s\n\n", e.Number, cell(e.Title()))
	for _, d := range e.Decisions {
		fmt.Fprintf(b, "- %s\n", cell(d.describe()))
	}
	switch e.Class {
	case Open:
		fmt.Fprintf(b, "- No clause that was judged says who is right: the document leaves this open. Nearest section: %s.\n",
			cell(e.Section))
	case Follows:
		fmt.Fprintf(b, "- Another difference comes before it in each scenario. Nearest section: %s.\n", cell(e.Section))
	}
	fmt.Fprintf(b, "- Shows %s in %s: %s.\n", words.Counted(e.Count, "time"), words.Counted(len(e.Scenarios), "scenario"),
		e.named())
	fmt.Fprintf(b, "- Clauses of these scenarios: %s.\n", strings.Join(e.Clauses, " "))
	if len(e.Values) > 1 {
		b.WriteString("\n| A | B | times |\n|---|---|---|\n")
		for _, v := range e.Values {
			fmt.Fprintf(b, "| %s | %s | %d |\n", cell(orNothing(v.A)), cell(orNothing(v.B)), v.Count)
		}
	}
	x := e.Example
	fmt.Fprintf(b, "\nIn %s over %s, %s", x.Scenario, x.Driver, code(x.Name))
	if e.Kind == "verdict" {
		fmt.Fprintf(b, ":\n\n%s", fence("", "expected  "+e.Decisions[0].Expected+"\nobserved  "+e.Decisions[0].Observed))
		return
	}
	if x.Act != "" {
		fmt.Fprintf(b, ", the harness sent on connection %s:\n\n%s", cell(x.Conn), fence("", x.Act+"\n"+x.Said))
	} else {
		fmt.Fprintf(b, ", on connection %s:\n", cell(x.Conn))
	}
	fmt.Fprintf(b, "\nA %s\n\n%s\nB %s\n\n%s", x.A.place(), fence("", x.A.whole()), x.B.place(), fence("", x.B.whole()))
	if x.Diff != "" {
		fmt.Fprintf(b, "\n%s", fence("diff", x.Diff))
	}
}

// named names the first scenarios.
func (e Entry) named() string {
	var out []string
	for i, w := range e.Scenarios {
		if i == maxNamed {
			out = append(out, fmt.Sprintf("and %d more", len(e.Scenarios)-i))
			break
		}
		out = append(out, w.ID+" ("+w.Driver+")")
	}
	return strings.Join(out, ", ")
}

// rest writes what was not compared.
func (r *Report) rest(b *strings.Builder) {
	if len(r.NotCompared)+r.Unsteady+r.Parted == 0 {
		return
	}
	b.WriteString("\n## Left out\n\n")
	for _, why := range sortedKeys(r.NotCompared) {
		fmt.Fprintf(b, "- %s: %s\n", words.Counted(r.NotCompared[why], "scenario"), cell(line(why, maxText)))
	}
	if r.Parted > 0 {
		fmt.Fprintf(b, "- %s from the point on where the harness, which reacts to the targets, did something else\n",
			words.Counted(r.Parted, "scenario"))
	}
	if r.Unsteady > 0 {
		fmt.Fprintf(b, "- %s in single scenarios that did not show again, or that one target also shows between two of its "+
			"own runs\n",
			words.Counted(r.Unsteady, "difference"))
	}
}

// place says where a message is.
func (m *Message) place() string {
	if m == nil {
		return "sent nothing:"
	}
	after := ""
	if m.After != "" {
		after = ", behind " + code(m.After)
	}
	return fmt.Sprintf("(record %d of %s%s):", m.Record, code(m.Transcript), after)
}

func (m *Message) whole() string {
	if m == nil {
		return "(nothing)"
	}
	return m.What + "\n" + m.Text
}

// cell makes foreign text safe in a paragraph and in a cell of a table.
func cell(s string) string { return escape.Replace(line(s, 2*maxText)) }

var escape = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`,
	"_", `\_`, "[", `\[`, "]", `\]`)

// code formats a text as a code span.
func code(s string) string { return "`" + strings.ReplaceAll(line(s, maxText), "`", "'") + "`" }

// fence makes a code block of a text.
func fence(kind, text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + kind + "\n" + printable(text) + "\n" + mark + "\n"
}

func printable(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(transcript.Printable(l), "\r", "")
	}
	return strings.Join(lines, "\n")
}
