package pack

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/script"
	"parley/steps"
)

// checkClauses checks that the rules name clauses of the ledger, and finds those that the steps must judge. Clauses
// that rules name are noted in named.
func (p *Pack) checkClauses(name string, named *names) error {
	of := p.files[p.doc.id+"/clauses.yaml"]
	if of == nil && p.unread["clauses.yaml"] {
		return nil // it is told
	}
	if of == nil {
		return fmt.Errorf("%s: there is no clauses.yaml (the sentences of the document, each with its id)", name)
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		if keys := unknownKeys(of.Data, filepath.Join(name, "clauses.yaml")); keys != nil {
			return keys // all of them, where err is the first
		}
		return placeInLedger(name, err)
	}
	p.ledger = ledger
	mistakes := []error{p.otherPrefix(of.Data, filepath.Join(name, "clauses.yaml"))}
	if p.Knows("protocol") {
		mistakes = append(mistakes, ofAnother(of.Data, ledger.Protocol, p.doc.id, filepath.Join(name, "clauses.yaml")))
	}
	ruled := map[string]bool{}
	for _, r := range p.doc.rules {
		clauses := slices.Clone(r.clauses)
		for _, o := range r.owes {
			clauses = append(clauses, o.clauses...)
		}
		for _, id := range clauses {
			switch row, known := ledger.Row(id); {
			case known && !row.Tested():
				mistakes = append(mistakes, fmt.Errorf("%s:%d: %s is excluded in clauses.yaml, and this rule judges it "+
					"(status: tested, or leave it out here)", filepath.Join(name, "protocol.yaml"), r.line, id))
			case !known && !p.Told(id):
				named.add(id, fmt.Sprintf("%s:%d", filepath.Join(name, "protocol.yaml"), r.line),
					"no clause of clauses.yaml has the id %s", id)
			}
			ruled[id], named.used[id] = true, true
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

// otherPrefix tells clauses that do not begin with the prefix of the protocol.
func (p *Pack) otherPrefix(text []byte, place string) error {
	var at []string
	first := ""
	for _, row := range p.ledger.Rows() {
		if !row.Cross && p.Knows("prefix") && !strings.HasPrefix(row.ID, p.doc.prefix+"-") {
			p.told = append(p.told, p.doc.prefix+row.ID[2:])
			at, first = append(at, fmt.Sprintf("%s:%d", place, lineOfClause(text, row.ID))), cmp.Or(first, row.ID)
		}
	}
	if at == nil {
		return nil
	}
	return fmt.Errorf("%s: %s does not begin with %s, the prefix in protocol.yaml (%[3]s%[4]s)%[5]s", at[0], first,
		p.doc.prefix, first[2:], also(at[1:], "; also at "))
}

// idleClause returns the only tested clause that nothing names: it may be a misspelt one.
func (p *Pack) idleClause(named *names) (idle []listed) {
	if p.ledger == nil {
		return nil
	}
	for _, row := range p.ledger.Rows() {
		if row.Tested() && !row.Cross && strings.HasPrefix(row.ID, p.doc.prefix) && !named.used[row.ID] {
			line := lineOfClause(p.files[p.doc.id+"/clauses.yaml"].Data, row.ID)
			idle = append(idle, listed{row.ID, fmt.Sprintf("%s:%d", filepath.Join(p.folder, "clauses.yaml"), line)})
		}
	}
	if len(idle) > 1 {
		return nil
	}
	return idle
}

// lineOfClause returns the line of the first place of an id.
func lineOfClause(text []byte, id string) int {
	return 1 + bytes.Count(text[:max(0, bytes.Index(text, []byte(id)))], []byte("\n"))
}

// The keys of clauses.yaml.
var (
	ledgerKeys = []string{"protocol", "source", "defaults", "clauses", "cross"}
	rowKeys    = []string{"id", "level", "section", "text", "source", "observed", "judged", "status", "reason", "fair",
		"strict", "ruling", "see", "judged_by"}
)

// unknownKeys tells all keys that a ledger cannot have.
func unknownKeys(text []byte, place string) error {
	var rd script.Reader
	root := rd.Read(text, "ledger")
	if !root.There() || !rd.Keys(root, "a ledger", ledgerKeys...) {
		return nil
	}
	if of := root.At("defaults"); of.There() {
		rd.Keys(of, "defaults", "level", "observed", "status")
	}
	for _, key := range []string{"clauses", "cross"} {
		if of := root.At(key); of.There() {
			for _, row := range rd.List(of, key) {
				rd.Keys(row, "a clause", rowKeys...)
			}
		}
	}
	return rd.Err(place)
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
