package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"

	"parley/verdict"
)

// A Matrix shows what several runs found: a table for each protocol and role, a line for each clause, a column for each
// implementation and version.
type Matrix struct{ Tables []MatrixTable }

// MatrixTable is one protocol in one role.
type MatrixTable struct {
	Name    string
	Columns []MatrixColumn
	Rows    []MatrixRow
	Excuse  string // why outcomes may not be comparable; "" if they are
}

// MatrixColumn is one run against one implementation.
type MatrixColumn struct {
	Target, Version string // Version is the day of the run if the target has none
	Verdict         verdict.Verdict
	Suite, Digest   string
	Note            string // what narrowed the run
}

// MatrixRow is one clause. A run whose suite does not have it has "".
type MatrixRow struct {
	ID, Section, Text string
	Level             verdict.Level
	Outcomes          []verdict.Outcome
}

// NewMatrix puts results side by side, by implementation, then version, in the order in which they were started.
func NewMatrix(list ...*Results) *Matrix {
	type entry struct {
		r   *Results
		run *Run
	}
	by := map[string][]entry{}
	var names []string
	for _, r := range list {
		r = presentable(r)
		for i := range r.Runs {
			name := runName(&r.Runs[i])
			if by[name] == nil {
				names = append(names, name)
			}
			by[name] = append(by[name], entry{r, &r.Runs[i]})
		}
	}
	m := &Matrix{}
	for _, name := range names {
		entries := by[name]
		slices.SortStableFunc(entries, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.run.Target.Name, b.run.Target.Name), a.r.Started.Compare(b.r.Started))
		})
		t := MatrixTable{Name: name}
		at := map[string]int{}
		for n, e := range entries {
			t.Columns = append(t.Columns, columnOf(e.r, e.run))
			if e.r.Suite.Digest != entries[0].r.Suite.Digest {
				t.Excuse = "The runs were judged by different suites: compare with care."
			}
			for _, c := range e.run.Clauses {
				if c.Excluded || c.OtherRole {
					continue
				}
				i, known := at[c.ID]
				if !known {
					i = len(t.Rows)
					at[c.ID] = i
					t.Rows = append(t.Rows, MatrixRow{ID: c.ID, Section: c.Section, Text: c.Text, Level: c.Level,
						Outcomes: make([]verdict.Outcome, len(entries))})
				}
				t.Rows[i].Outcomes[n] = c.Outcome
			}
		}
		m.Tables = append(m.Tables, t)
	}
	return m
}

func columnOf(r *Results, run *Run) MatrixColumn {
	c := MatrixColumn{Target: run.Target.Name, Version: run.Target.Version, Verdict: run.Verdict, Suite: r.Suite.Version,
		Digest: shortDigest(r.Suite.Digest)}
	if c.Version == "" {
		c.Version = r.Started.UTC().Format("2006-01-02 15:04")
	}
	switch {
	case r.Selection != "":
		c.Note = "only " + r.Selection
	case r.Partial:
		c.Note = "interrupted"
	case r.Passive:
		c.Note = "passive"
	}
	return c
}

// Count returns how many clauses of a column passed, and how many it was to keep.
func (t MatrixTable) Count(column int) string {
	passed, all := 0, 0
	for _, row := range t.Rows {
		switch row.Outcomes[column] {
		case "", verdict.NotApplicable:
			continue
		case verdict.Passed:
			passed++
		}
		all++
	}
	return fmt.Sprintf("%d of %d", passed, all)
}

// Legend returns the outcomes of the table, in the order of verdict.Outcomes.
func (t MatrixTable) Legend() []verdict.Outcome {
	return slices.DeleteFunc(slices.Clone(verdict.Outcomes), func(o verdict.Outcome) bool {
		return !slices.ContainsFunc(t.Rows, func(row MatrixRow) bool { return slices.Contains(row.Outcomes, o) })
	})
}

// WriteMatrixMarkdown writes m as Markdown: the clauses that do not pass everywhere, then the number of the others.
func WriteMatrixMarkdown(w io.Writer, m *Matrix) error {
	out := &markdown{}
	out.line("%s", MarkdownMark)
	for _, t := range m.Tables {
		out.line("## %s\n", md(t.Name))
		if t.Excuse != "" {
			out.line("%s\n", t.Excuse)
		}
		head, rule, verdicts, counts, notes := "| clause |", "|---|", "| verdict |", "| clauses passed |", ""
		for i, c := range t.Columns {
			head += " " + md(c.Target+" "+c.Version) + " |"
			rule += ":-:|"
			verdicts += " " + verdictMark(c.Verdict) + " " + string(c.Verdict) + " |"
			counts += " " + t.Count(i) + " |"
			if c.Note != "" {
				notes += fmt.Sprintf("- %s: %s\n", md(c.Target+" "+c.Version), md(c.Note))
			}
		}
		out.line("%s\n%s\n%s\n%s", head, rule, verdicts, counts)
		alike := 0
		for _, row := range t.Rows {
			if !slices.ContainsFunc(row.Outcomes, func(o verdict.Outcome) bool { return o != verdict.Passed }) {
				alike++
				continue
			}
			cells := ""
			for _, o := range row.Outcomes {
				cells += " " + cellText(o) + " |"
			}
			out.line("| %s %s |%s", md(row.ID), row.Level, cells)
		}
		out.line("")
		if alike > 0 {
			out.line("%s passed everywhere.\n", count(alike, "further clause"))
		}
		if notes != "" {
			out.line("%s", notes)
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

func cellText(o verdict.Outcome) string {
	if o == "" {
		return ""
	}
	return lookOf(o).mark + " " + lookOf(o).word
}

var matrixTemplate = template.Must(template.New("matrix.gohtml").Funcs(pageFuncs).ParseFS(pageFiles,
	"page/matrix.gohtml"))

// WriteMatrixHTML writes m as one self-contained page, with a filter by words.
func WriteMatrixHTML(w io.Writer, m *Matrix) error {
	return writePage(w, matrixTemplate, struct {
		Policy string
		Style  template.CSS
		Script template.JS
		*Matrix
	}{pagePolicy(), template.CSS(pageStyle), template.JS(pageScript), m})
}
