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
	fmt.Fprintf(&b, "Two targets in the role %s ran under the same scenarios. A is %s, B is %s.\n", r.Role,
		codeSpan(r.A.Name),
		codeSpan(r.B.Name))
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
		fmt.Fprintf(&b, "| [%d](#difference-%d) | %s | %d× | %s | %s |\n", e.Number, e.Number, tableCell(e.Title()),
			e.Count,
			e.clauseNames(), tableCell(e.Section))
	}
	class := Class("")
	for _, e := range r.Entries {
		if e.Class != class {
			class = e.Class
			fmt.Fprintf(&b, "\n## %s\n", strings.ToUpper(class.describeClass()[:1])+class.describeClass()[1:])
		}
		e.writeMarkdown(&b)
	}
	r.writeRest(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// clauseNames names the clauses that decide an entry.
func (e Entry) clauseNames() string {
	if len(e.Decisions) == 0 {
		return "no clause"
	}
	var out []string
	for _, d := range e.Decisions {
		out = append(out, d.Clause)
	}
	return strings.Join(out, " ")
}

// writeMarkdown writes an entry.
func (e Entry) writeMarkdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n### Difference %d\n\n%s\n\n", e.Number, tableCell(e.Title()))
	for _, d := range e.Decisions {
		fmt.Fprintf(b, "- %s\n", tableCell(d.describeDecision()))
	}
	switch e.Class {
	case Open:
		fmt.Fprintf(b, "- No clause that was judged says who is right: the document leaves this open. Nearest section: %s.\n",
			tableCell(e.Section))
	case Follows:
		fmt.Fprintf(b, "- Another difference comes before it in each scenario. Nearest section: %s.\n",
			tableCell(e.Section))
	}
	fmt.Fprintf(b, "- Shows %s in %s: %s.\n", words.Counted(e.Count, "time"), words.Counted(len(e.Scenarios), "scenario"),
		e.firstScenarios())
	fmt.Fprintf(b, "- Clauses of these scenarios: %s.\n", strings.Join(e.Clauses, " "))
	if len(e.Values) > 1 {
		b.WriteString("\n| A | B | times |\n|---|---|---|\n")
		for _, v := range e.Values {
			fmt.Fprintf(b, "| %s | %s | %d |\n", tableCell(orNothing(v.A)), tableCell(orNothing(v.B)), v.Count)
		}
	}
	x := e.Example
	fmt.Fprintf(b, "\nIn %s over %s, %s", x.Scenario, x.Driver, codeSpan(x.Name))
	if e.Kind == "verdict" {
		fmt.Fprintf(b, ":\n\n%s",
			codeBlock("", "expected  "+e.Decisions[0].Expected+"\nobserved  "+e.Decisions[0].Observed))
		return
	}
	if x.Act != "" {
		fmt.Fprintf(b, ", the harness sent on connection %s:\n\n%s", tableCell(x.Conn),
			codeBlock("", x.Act+"\n"+x.Said))
	} else {
		fmt.Fprintf(b, ", on connection %s:\n", tableCell(x.Conn))
	}
	fmt.Fprintf(b, "\nA %s\n\n%s\nB %s\n\n%s", x.A.describePlace(), codeBlock("", x.A.wholeMessage()),
		x.B.describePlace(), codeBlock("", x.B.wholeMessage()))
	if x.Diff != "" {
		fmt.Fprintf(b, "\n%s", codeBlock("diff", x.Diff))
	}
}

// firstScenarios names the first scenarios.
func (e Entry) firstScenarios() string {
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

// writeRest writes what was not compared.
func (r *Report) writeRest(b *strings.Builder) {
	if len(r.NotCompared)+r.Unsteady+r.Parted == 0 {
		return
	}
	b.WriteString("\n## Left out\n\n")
	for _, why := range sortedKeys(r.NotCompared) {
		fmt.Fprintf(b, "- %s: %s\n", words.Counted(r.NotCompared[why], "scenario"), tableCell(oneLine(why, maxText)))
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

// describePlace says where a message is.
func (m *Message) describePlace() string {
	if m == nil {
		return "sent nothing:"
	}
	after := ""
	if m.After != "" {
		after = ", behind " + codeSpan(m.After)
	}
	return fmt.Sprintf("(record %d of %s%s):", m.Record, codeSpan(m.Transcript), after)
}

func (m *Message) wholeMessage() string {
	if m == nil {
		return "(nothing)"
	}
	return m.What + "\n" + m.Text
}

// tableCell makes foreign text safe in a paragraph and in a cell of a table.
func tableCell(s string) string { return escape.Replace(oneLine(s, 2*maxText)) }

var escape = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`,
	"_", `\_`, "[", `\[`, "]", `\]`)

// codeSpan formats a text as a code span.
func codeSpan(s string) string { return "`" + strings.ReplaceAll(oneLine(s, maxText), "`", "'") + "`" }

// codeBlock makes a code block of a text.
func codeBlock(kind, text string) string {
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
