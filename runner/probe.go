package runner

import (
	"fmt"
	"io/fs"
	"parley/steps"

	"github.com/cucumber/godog"
)

// Steps returns the step texts of every scenario of a protocol, by scenario id.
func Steps(fsys fs.FS, p steps.Protocol) (map[string][]string, error) {
	protocol := steps.Name(p)
	planned, err := Scenarios(fsys, p)
	if err != nil {
		return nil, err
	}
	features, err := godog.TestSuite{Name: protocol, Options: &godog.Options{FS: fsys,
		Paths: []string{protocol}}}.RetrieveFeatures()
	if err != nil {
		return nil, fmt.Errorf("read features of %s: %w", protocol, err)
	}
	byKey := map[string][]string{}
	for _, f := range features {
		for _, p := range f.Pickles {
			for _, s := range p.Steps {
				byKey[pickleKey(p)] = append(byKey[pickleKey(p)], s.Text)
			}
		}
	}
	out := make(map[string][]string, len(planned))
	for _, p := range planned {
		out[p.ID] = byKey[p.key]
	}
	return out, nil
}
