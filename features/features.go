// Package features embeds the scenarios and the clause ledgers: one folder per protocol, one .feature per section of
// its source document, and clauses.yaml.
package features

import (
	"embed"
	"fmt"
	"io/fs"

	"parley/features/verdict"
)

// FS holds every .feature, clauses.yaml, clauses.zh.yaml and judges.yaml, by protocol. clauses.zh.yaml says what the
// rows of clauses.yaml say in Chinese; judges.yaml says which steps judge which clause.
//
//go:embed */*.feature */clauses.yaml */clauses.zh.yaml */judges.yaml
var FS embed.FS

// Version is the version of the suite. It changes whenever a verdict may change.
const Version = "0.1.0"

// Ledger reads the clause ledger of a protocol.
func Ledger(protocol string) (*verdict.Ledger, error) {
	b, err := fs.ReadFile(FS, protocol+"/clauses.yaml")
	if err != nil {
		return nil, fmt.Errorf("no ledger for protocol %q", protocol)
	}
	return verdict.ParseLedger(b)
}

// Protocols lists the protocols that have features.
func Protocols() []string {
	entries, err := fs.ReadDir(FS, ".")
	if err != nil {
		panic("embedded features: " + err.Error())
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}
