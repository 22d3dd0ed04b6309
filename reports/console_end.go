package reports

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/words"
)

// writeVerdict writes the verdict, preceded by one line for each run if there are several, and behind it what a person
// wants to know then: the first causes of failures, and what to do next.
func (c *console) writeVerdict(r *Results) {
	if c.Len() > 0 {
		c.WriteByte('\n')
	}
	if len(r.Runs) > 1 {
		for i := range r.Runs {
			run := &r.Runs[i]
			c.printHung(pad(c.lang.Say(string(run.Verdict)), 16), verdictColour(run.Verdict),
				runName(run)+" · "+run.Target.Name, "")
		}
	}
	c.lastLine(r)
	if !c.opts.Quiet {
		c.writeFirstCauses(r)
		c.writeNext(r)
	}
}

// lastLine writes the verdict in words.
func (c *console) lastLine(r *Results) {
	text := strings.Join(verdictGrounds(r, c.lang), c.lang.Say("; ")) + c.lang.Say(" · exit %d", r.Exit)
	if r.Verdict == verdict.Incomplete && r.Exit == verdict.ExitConformant && !r.Passive {
		text += c.lang.Say(", as incomplete runs are allowed")
	}
	if r.Exit == verdict.ExitIncomplete && !r.Passive && sumUpRuns(r).expected > 0 { // a baseline does not excuse that
		text += c.lang.Say(" (--allow-incomplete accepts this)")
	}
	if c.opts.Dir != "" {
		text += c.lang.Say(" · results in %s", c.opts.Dir)
	}
	c.printHung(strings.ToUpper(c.lang.Say(string(r.Verdict)))+"  ", strong(verdictColour(r.Verdict)), text, "")
}

// endCauses is how many causes the end of a report names.
const endCauses = 3

// writeFirstCauses names the causes that explain most failures, a line each.
func (c *console) writeFirstCauses(r *Results) {
	n, more := 0, 0
	for i := range r.Runs {
		run := &r.Runs[i]
		for _, cause := range causesOf(run, r.Strict, verdict.Failed) {
			if n == endCauses {
				more++
				continue
			}
			n++
			clause := clauseOf(run, run.failureOfExample(cause.Example).Failure)
			label := fmt.Sprintf("  %d  %s  ", n, clausesOf(cause, clause.ID))
			text := strings.Join(strings.Fields(string(clause.Level)+"  "+clause.Text), " ")
			c.line("%s%s", c.paint.inColour(strong(red), label), cut.Head(text, max(40, c.width-1-columnWidth(label))))
		}
	}
	if more > 0 {
		c.printHung("     ", "", c.lang.Say("and %s", c.lang.Count(more, "more cause")), dim)
	}
}

// clausesOf names the clauses of a cause, that of its example first.
func clausesOf(c Cause, first string) string {
	others := slices.DeleteFunc(slices.Clone(c.Clauses), func(id string) bool { return id == first })
	text := strings.Join(append([]string{first}, others[:min(len(others), titled)]...), " ")
	if len(others) > titled {
		text += " …"
	}
	return text
}

// folderFlag names the folder of a run's protocol, which commands need; "" if it has none.
func (r *Run) folderFlag() string {
	if r.Folder == "" {
		return ""
	}
	return "--protocol " + words.Shell(r.Folder) + " "
}

// writeNext says what to do next: how to see the first failure again and what its clause says, or how to have more of a
// target judged. Nothing is said of a conformant one.
func (c *console) writeNext(r *Results) {
	var lines []string
	for i := range r.Runs {
		run := &r.Runs[i]
		for _, cause := range causesOf(run, r.Strict, verdict.Failed) {
			if f := run.failureOfExample(cause.Example).Failure; len(lines) == 0 {
				if f.Again != "" && !strings.Contains(f.Again, " explain ") {
					lines = append(lines, f.Again)
				}
				lines = append(lines, r.Suite.program()+" explain "+run.folderFlag()+f.Clause)
			}
		}
	}
	if len(lines) == 0 && len(r.Runs) == 1 && r.Exit == verdict.ExitIncomplete && !r.Passive && r.Selection == "" {
		switch at, folder := r.Runs[0].Target, r.Runs[0].folderFlag(); {
		case at.Origin == FromBundle:
		case at.Profile != "":
			lines = append(lines, r.Suite.program()+" doctor "+folder+at.Profile)
		case at.URL != "":
			lines = append(lines, r.Suite.program()+" init "+folder+at.URL)
		}
	}
	label := c.lang.Say("next")
	for _, text := range lines {
		c.line("  %s  %s", c.paint.inColour(bold, pad(label, columnWidth(c.lang.Say("next")))), text)
		label = ""
	}
}
