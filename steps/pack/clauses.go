package pack

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/steps"
)

// checkClauses checks that the rules name clauses of the ledger, and finds those that the steps must judge.
func (p *Pack) checkClauses(name string) error {
	of := p.files[p.doc.id+"/clauses.yaml"]
	if of == nil {
		return fmt.Errorf("%s: there is no clauses.yaml (the sentences of the document, each with its id)", name)
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return placeInLedger(name, err)
	}
	p.ledger = ledger
	mistakes := []error{ofAnother(of.Data, ledger.Protocol, p.doc.id, filepath.Join(name, "clauses.yaml"))}
	ruled := map[string]bool{}
	for _, r := range p.doc.rules {
		clauses := slices.Clone(r.clauses)
		for _, o := range r.owes {
			clauses = append(clauses, o.clauses...)
		}
		for _, id := range clauses {
			if _, known := ledger.Row(id); !known {
				mistakes = append(mistakes, fmt.Errorf("%s:%d: no clause of clauses.yaml has the id %s",
					filepath.Join(name, "protocol.yaml"), r.line, id))
			}
			ruled[id] = true
		}
		if r.says == "" && len(r.clauses) == 1 {
			if row, known := ledger.Row(r.clauses[0]); known {
				r.says = row.Text
			}
		}
	}
	for _, row := range ledger.Rows() {
		if row.Tested() && !ruled[row.ID] {
			p.doc.stepClauses = append(p.doc.stepClauses, row.ID)
		}
	}
	return errors.Join(mistakes...)
}

// protocolKey matches the line of a ledger that names its protocol.
var protocolKey = regexp.MustCompile(`(?m)^["']?protocol["']?[ \t]*:`)

// ofAnother tells that a ledger names another protocol than its folder.
func ofAnother(ledger []byte, named, id, place string) error {
	if named == id {
		return nil
	}
	line := 1
	if at := protocolKey.FindIndex(ledger); at != nil {
		line += bytes.Count(ledger[:at[0]], []byte("\n"))
	}
	return fmt.Errorf("%s:%d: these are the clauses of %s, and protocol.yaml is that of %s (protocol: %[4]s)", place, line,
		named, id)
}

// placeInLedger adds the place to the mistakes in a ledger of the folder.
func placeInLedger(folder string, err error) error {
	all := []error{err}
	if joined, is := err.(interface{ Unwrap() []error }); is {
		all = joined.Unwrap()
	}
	var mistakes []error
	for _, one := range all {
		var at *verdict.LedgerError
		if !errors.As(one, &at) {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", filepath.Join(folder, "clauses.yaml"), one))
			continue
		}
		name := "clauses.yaml"
		if strings.HasSuffix(at.Protocol, verdict.InChinese) {
			name = "clauses.zh.yaml"
		}
		place := filepath.Join(folder, name)
		if at.Line > 0 {
			place += fmt.Sprintf(":%d", at.Line)
		}
		mistakes = append(mistakes, fmt.Errorf("%s: %s", place, at.Msg))
	}
	return errors.Join(mistakes...)
}
