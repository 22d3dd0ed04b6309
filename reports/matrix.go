package reports

import (
	"cmp"
	"io"
	"slices"

	"parley/features/verdict"
	"parley/reports/lang"
)

// A Matrix shows what several runs found: a table for each protocol and role, a line for each clause, a column for each
// implementation and version.
type Matrix struct {
	Lang   lang.Lang
	Tables []MatrixTable
}

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
func NewMatrix(list ...*Results) *Matrix { return NewMatrixIn(lang.English, list...) }

// NewMatrixIn is NewMatrix with the texts of a language.
func NewMatrixIn(l lang.Lang, list ...*Results) *Matrix {
	type entry struct {
		r   *Results
		run *Run
	}
	by := map[string][]entry{}
	var names []string
	for _, r := range list {
		r = makeLocalized(r, l)
		for i := range r.Runs {
			name := runName(&r.Runs[i])
			if by[name] == nil {
				names = append(names, name)
			}
			by[name] = append(by[name], entry{r, &r.Runs[i]})
		}
	}
	m := &Matrix{Lang: l}
	for _, name := range names {
		entries := by[name]
		slices.SortStableFunc(entries, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.run.Target.Name, b.run.Target.Name), a.r.Started.Compare(b.r.Started))
		})
		t := MatrixTable{Name: name}
		at := map[string]int{}
		for n, e := range entries {
			t.Columns = append(t.Columns, columnOf(e.r, e.run, l))
			if e.r.Suite.Digest != entries[0].r.Suite.Digest {
				t.Excuse = l.Say("The runs were judged by different suites: compare with care.")
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

func columnOf(r *Results, run *Run, l lang.Lang) MatrixColumn {
	c := MatrixColumn{Target: run.Target.Name, Version: run.Target.Version, Verdict: run.Verdict, Suite: r.Suite.Version,
		Digest: shortDigest(r.Suite.Digest)}
	if c.Version == "" {
		c.Version = r.Started.UTC().Format("2006-01-02 15:04")
	}
	switch {
	case r.Selection != "":
		c.Note = l.Say("only %s", r.Selection)
	case r.Partial:
		c.Note = l.Say("interrupted")
	case r.Passive:
		c.Note = l.Say("passive")
	}
	return c
}

// Counts returns how many clauses of a column passed, and how many it was to keep.
func (t MatrixTable) Counts(column int) (counts struct{ Passed, All int }) {
	for _, row := range t.Rows {
		switch row.Outcomes[column] {
		case "", verdict.NotApplicable:
			continue
		case verdict.Passed:
			counts.Passed++
		}
		counts.All++
	}
	return counts
}

// Legend returns the outcomes of the table, in the order of verdict.Outcomes.
func (t MatrixTable) Legend() []verdict.Outcome {
	return slices.DeleteFunc(slices.Clone(verdict.Outcomes), func(o verdict.Outcome) bool {
		return !slices.ContainsFunc(t.Rows, func(row MatrixRow) bool { return slices.Contains(row.Outcomes, o) })
	})
}

// WriteMatrixMarkdown writes m as Markdown: the clauses that do not pass everywhere, then the number of the others.
func WriteMatrixMarkdown(w io.Writer, m *Matrix) error {
	l := m.Lang
	out := &markdown{lang: l}
	out.line("%s", MarkdownMark)
	for _, t := range m.Tables {
		out.line("## %s\n", escapeMD(t.Name))
		if t.Excuse != "" {
			out.line("%s\n", t.Excuse)
		}
		head, rule, notes := "| "+l.Say("clause")+" |", "|---|", ""
		verdicts, counts := "| "+l.Say("verdict")+" |", "| "+l.Say("clauses passed")+" |"
		for i, c := range t.Columns {
			head += " " + escapeMD(c.Target+" "+c.Version) + " |"
			rule += ":-:|"
			verdicts += " " + verdictMark(c.Verdict) + " " + l.Say(string(c.Verdict)) + " |"
			n := t.Counts(i)
			counts += " " + l.Say("%d of %d", n.Passed, n.All) + " |"
			if c.Note != "" {
				notes += "- " + l.Say("%s: %s", escapeMD(c.Target+" "+c.Version), escapeMD(c.Note)) + "\n"
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
				cells += " " + cellText(o, l) + " |"
			}
			out.line("| %s %s |%s", escapeMD(row.ID), row.Level, cells)
		}
		out.line("")
		if alike > 0 {
			out.line("%s\n", l.Say("%s passed everywhere.", l.Count(alike, "further clause")))
		}
		if notes != "" {
			out.line("%s", notes)
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

func cellText(o verdict.Outcome, l lang.Lang) string {
	if o == "" {
		return ""
	}
	return lookOf(o).mark + " " + wordOf(o, l)
}

var matrixPages = pagesOf("matrix.gohtml")

// WriteMatrixHTML writes m as one self-contained page, with a filter by words.
func WriteMatrixHTML(w io.Writer, m *Matrix) error {
	return writePage(w, matrixPages(m.Lang), struct {
		frame
		*Matrix
	}{newFrame(m.Lang.Say("Parley: clauses and implementations")), m})
}
