package simulator

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/steps"
)

// Scenario writes the steps of the session as the only scenario of a feature, which `parley run --features` runs. It is
// tagged with the clauses that its steps have judged. It contains raw steps for the effects of Send and Hang.
func (s *Session) Scenario(name string) string {
	var tags []string
	var body strings.Builder
	all := s.Steps()
	for i, d := range all {
		for _, j := range d.Judged.Outcomes {
			if (j.Outcome == verdict.Passed || j.Outcome == verdict.Failed) && !slices.Contains(tags, "@"+j.Clause) {
				tags = append(tags, "@"+j.Clause)
			}
		}
		fmt.Fprintf(&body, "    %s %s\n", keyword(all, i), d.Text)
		writeArg(&body, d.Arg)
	}
	slices.Sort(tags)
	var b strings.Builder
	fmt.Fprintf(&b, "Feature: %s\n\n", name)
	if len(tags) > 0 {
		fmt.Fprintf(&b, "  %s\n", strings.Join(tags, " "))
	}
	fmt.Fprintf(&b, "  Scenario: %s\n%s", name, body.String())
	return b.String()
}

// keyword returns the keyword of a step: Then for a step that judges, When for the step right before it.
func keyword(all []Did, i int) string {
	judges := func(i int) bool { return i >= 0 && i < len(all) && len(all[i].Judged.Outcomes) > 0 }
	switch {
	case judges(i) && judges(i-1):
		return "And"
	case judges(i):
		return "Then"
	case judges(i + 1):
		return "When"
	case i == 0 || judges(i-1):
		return "Given"
	}
	return "And"
}

// inCell escapes what ends a cell of a table.
var inCell = strings.NewReplacer(`\`, `\\`, "|", `\|`, "\n", `\n`)

// writeArg writes the argument below a step.
func writeArg(b *strings.Builder, arg steps.StepArg) {
	if arg.Text != nil {
		fmt.Fprintf(b, "      \"\"\"\n")
		for line := range strings.SplitSeq(*arg.Text, "\n") {
			fmt.Fprintf(b, "      %s\n", strings.ReplaceAll(line, `"""`, `\"\"\"`))
		}
		fmt.Fprintf(b, "      \"\"\"\n")
	}
	for _, row := range arg.Table {
		b.WriteString("      |")
		for _, cell := range row {
			fmt.Fprintf(b, " %s |", inCell.Replace(cell))
		}
		b.WriteString("\n")
	}
}
