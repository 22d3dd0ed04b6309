// Package features embeds the scenarios and the clause ledgers: one folder per protocol, one .feature per section of
// its source document, and clauses.yaml.
package features

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"sync"

	"parley/verdict"
)

// FS holds every .feature and clauses.yaml, by protocol.
//
//go:embed */*.feature */clauses.yaml
var FS embed.FS

// Version of the suite. It changes whenever a verdict may.
const Version = "0.1.0"

// Digest identifies the suite: "sha256:" over the names and bytes of every feature and ledger.
var Digest = sync.OnceValue(func() string {
	h := sha256.New()
	err := fs.WalkDir(FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(FS, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d\n", path, len(b))
		_, err = h.Write(b)
		return err
	})
	if err != nil {
		panic("embedded features: " + err.Error())
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
})

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
