package runner

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"

	"parley/steps"
)

// preparedPlan is a Planned that was read at build time.
type preparedPlan struct {
	Planned
	Marks    []string `json:"marks"`
	Key      string   `json:"key"`
	From, To int64
}

func unpack(list []preparedPlan) []Planned {
	out := make([]Planned, len(list))
	for i, pl := range list {
		out[i] = pl.Planned
		out[i].marks, out[i].key, out[i].span = pl.Marks, pl.Key, span{pl.From, pl.To}
	}
	return out
}

// Prepare returns the scenarios of a protocol in the form in which package prepared keeps them.
func Prepare(p steps.Protocol) (any, error) {
	all, err := parseScenarios(p.Features(), p)
	var out []preparedPlan
	for _, pl := range all {
		out = append(out, preparedPlan{pl, pl.marks, pl.key, pl.span.from, pl.span.to})
	}
	return out, err
}

// PreparedFrom returns all bytes on which the scenarios of a protocol depend: its features with their names, its
// ledger, and the prefix of its scenarios' ids.
func PreparedFrom(fsys fs.FS, p steps.Protocol) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n", p.Kind().Prefix)
	err := fs.WalkDir(fsys, steps.Name(p), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".feature") && !strings.HasSuffix(path, "/clauses.yaml") {
			return err
		}
		text, err := fs.ReadFile(fsys, path)
		fmt.Fprintf(&b, "%s %d\n%s", path, len(text), text)
		return err
	})
	return b.Bytes(), err
}
