package cli

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"

	"parley/internal/input"
	"parley/steps"
	"parley/verdict"
)

// knownFailures are the baselines by protocol, from one file.
type knownFailures map[string]*verdict.Baseline

// maxBaseline bounds the bytes of a baseline.
const maxBaseline = 16 << 20

// loadBaseline reads a baseline, and splits its rows by the protocols whose clauses they name; "" yields none. A row
// that fits no protocol is an error; one of a protocol that is not run has no effect.
func loadBaseline(path string) (knownFailures, error) {
	if path == "" {
		return nil, nil
	}
	b, err := input.Read(path, maxBaseline)
	if err != nil {
		return nil, usagef("--baseline: %v", err)
	}
	baseline, err := verdict.ParseBaseline(b)
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		p := at.GetToken().Position
		return nil, usagef("%s:%d:%d: %s", path, p.Line, p.Column, at.GetMessage())
	}
	if err != nil {
		return nil, usagef("%s: %v", path, err)
	}
	return byProtocol(baseline)
}

// baselineOf returns the baseline of a protocol: an empty one if the file has no row for it, nil without a file.
func (o runOptions) baselineOf(all knownFailures, protocol string) *verdict.Baseline {
	if b := all[protocol]; b != nil || o.baseline == "" {
		return b
	}
	return &verdict.Baseline{}
}

func byProtocol(b *verdict.Baseline) (knownFailures, error) {
	out := knownFailures{}
	homeless := map[string]bool{}
	for _, e := range b.Expected {
		homeless[e.Clause] = true
	}
	for _, p := range suite.Sorted() {
		protocol := steps.Name(p)
		ledger, err := steps.LedgerOf(p)
		if err != nil {
			return nil, err
		}
		for _, e := range b.Expected {
			if _, ok := ledger.Row(e.Clause); !ok {
				continue
			}
			if out[protocol] == nil {
				out[protocol] = &verdict.Baseline{}
			}
			out[protocol].Expected = append(out[protocol].Expected, e)
			delete(homeless, e.Clause)
		}
	}
	for _, e := range b.Expected {
		if homeless[e.Clause] {
			return nil, usagef("--baseline: %s is not a clause of %s", e.Clause, strings.Join(suite.Names(), " or "))
		}
	}
	return out, nil
}
