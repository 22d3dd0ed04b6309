package site

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/reports/certificate"
	"parley/reports/lang"
	"parley/transport/transcript"
)

//go:embed page/index.gohtml
var indexText string

//go:embed page/index.js
var indexScript string

// indexIn returns the template of the index in a language.
func indexIn(l lang.Lang) *template.Template {
	return template.Must(template.New("index").Funcs(template.FuncMap{
		"safe":  transcript.Printable,
		"count": l.Count,
		"t":     l.Say,
		"tag":   l.Tag,
		"day":   func(t time.Time) string { return t.Format(time.DateOnly) },
	}).Parse(indexText))
}

// party is a protocol in one role.
type party struct{ Protocol, Role string }

func (p party) Title() string { return p.Protocol + " " + p.Role }

// implementation is a row of the matrix: a version of a target, certified by one holder.
type implementation struct {
	Title, Holder, Key string
	Cells              []*entry // by party; nil: no certificate
}

// table has the clauses of a party by certificate.
type table struct {
	Party   party
	Columns []*entry
	Rows    []clauseRow
}

type clauseRow struct {
	ID, Level, Text string
	Cells           []cell // by column
}

// cell is the outcome of a clause. Word is in English.
type cell struct{ Mark, Word string }

// indexPage returns the page that lists everything.
func indexPage(o Options, list []*entry) ([]byte, error) {
	parties := partiesOf(list)
	var b bytes.Buffer
	err := indexIn(o.Lang).Execute(&b, struct {
		Mark    template.HTML
		Policy  template.HTMLAttr
		Style   template.CSS
		Script  template.JS
		Now     time.Time
		Parties []party
		List    []*entry
		Rows    []implementation
		Tables  []table
		Program string
	}{template.HTML(mark), template.HTMLAttr(`content="` + certificate.Policy(certificate.Style, indexScript) + `"`),
		template.CSS(certificate.Style), template.JS(indexScript), o.Now, parties, list, matrixOf(parties, list),
		partyTables(o, parties, list), o.Program})
	if err != nil {
		return nil, fmt.Errorf("write index.html: %w", err)
	}
	return b.Bytes(), nil
}

func partyOf(e *entry) party { return party{e.Predicate.Target.Protocol, e.Predicate.Target.Role} }

func partiesOf(list []*entry) (out []party) {
	for _, e := range list {
		if !slices.Contains(out, partyOf(e)) {
			out = append(out, partyOf(e))
		}
	}
	slices.SortFunc(out, func(a, b party) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Role, b.Role))
	})
	return out
}

// matrixOf has a row for each version of a target and key; of several certificates in a cell the one that is valid
// longest counts.
func matrixOf(parties []party, list []*entry) (rows []implementation) {
	at := map[[2]string]int{}
	for _, e := range list {
		key := [2]string{e.Predicate.Target.Name + "\x00" + e.Predicate.Target.Version, e.KeyID}
		i, ok := at[key]
		if !ok {
			i = len(rows)
			at[key] = i
			rows = append(rows, implementation{Title: e.Predicate.Target.Title(), Holder: e.Holder, Key: e.KeyID[:16],
				Cells: make([]*entry, len(parties))})
		}
		place := &rows[i].Cells[slices.Index(parties, partyOf(e))]
		if *place == nil || (*place).Predicate.Expires < e.Predicate.Expires {
			*place = e
		}
	}
	return rows
}

// partyTables has a table of clauses for each party.
func partyTables(o Options, parties []party, list []*entry) (out []table) {
	for _, p := range parties {
		t := table{Party: p}
		at := map[string]int{}
		say := map[string]string{}
		for _, e := range list {
			if partyOf(e) == p {
				t.Columns = append(t.Columns, e)
			}
		}
		for _, e := range t.Columns {
			for id, text := range clauseTexts(o, e) {
				say[id] = text
			}
			for _, c := range e.Predicate.Clauses {
				if _, ok := at[c.ID]; !ok && !c.Outside {
					at[c.ID] = len(t.Rows)
					t.Rows = append(t.Rows, clauseRow{ID: c.ID, Level: string(c.Level), Cells: make([]cell, len(t.Columns))})
				}
			}
		}
		for i, e := range t.Columns {
			for _, c := range e.Predicate.Clauses {
				if r, ok := at[c.ID]; ok && !c.Outside {
					t.Rows[r].Cells[i] = cellOf(c)
				}
			}
		}
		for i := range t.Rows {
			t.Rows[i].Text = say[t.Rows[i].ID]
		}
		slices.SortFunc(t.Rows, func(a, b clauseRow) int { return strings.Compare(a.ID, b.ID) })
		out = append(out, t)
	}
	return out
}

func cellOf(c certificate.Clause) cell {
	switch c.Outcome {
	case verdict.Passed:
		return cell{"✓", "passed"}
	case verdict.Warned:
		return cell{"!", "warned"}
	case verdict.NotTested:
		return cell{"?", "not tested"}
	default:
		return cell{"–", "not applicable"}
	}
}
