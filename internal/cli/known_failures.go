package cli

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/runner"
	"parley/steps"
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
	baseline, err := parseBaseline(path, b)
	if err != nil {
		return nil, err
	}
	return byProtocol(path, b, baseline)
}

// baselineOf returns the baseline of a protocol: an empty one if the file has no row for it, nil without a file.
func (o runOptions) baselineOf(all knownFailures, protocol string) *verdict.Baseline {
	if b := all[protocol]; b != nil || o.baseline == "" {
		return b
	}
	return &verdict.Baseline{}
}

// placeOf returns the path of a baseline, with the line of the row of a clause.
func placeOf(path string, text []byte, clause string) string {
	row := regexp.MustCompile(`\bclause:\s*["']?` + regexp.QuoteMeta(clause) + `\b`)
	at := row.FindIndex(text)
	if at == nil {
		return path
	}
	return fmt.Sprintf("%s:%d", path, 1+bytes.Count(text[:at[0]], []byte("\n")))
}

// parseBaseline parses the content of a baseline.
func parseBaseline(path string, content []byte) (*verdict.Baseline, error) {
	baseline, err := verdict.ParseBaseline(content)
	var at *verdict.BaselineError
	if errors.As(err, &at) && at.Line > 0 {
		return nil, usagef("%s:%d:%d: %s", path, at.Line, at.Column, at.Msg)
	}
	if err != nil {
		return nil, usagef("%s: %v", path, err)
	}
	return baseline, nil
}

// byProtocol sorts the rows of a baseline; path and text are its file, for errors.
func byProtocol(path string, text []byte, b *verdict.Baseline) (knownFailures, error) {
	out := knownFailures{}
	homes, misfits := make([]bool, len(b.Expected)), make([]error, len(b.Expected))
	for _, p := range suite.Sorted() {
		protocol := steps.Name(p)
		ledger, err := steps.LedgerOf(p)
		if err != nil {
			return nil, err
		}
		for i, e := range b.Expected {
			if _, ok := ledger.Row(e.Clause); !ok {
				continue
			}
			if err := runner.CheckRow(e, ledger, p); err != nil {
				misfits[i] = err
				continue
			}
			if out[protocol] == nil {
				out[protocol] = &verdict.Baseline{}
			}
			out[protocol].Expected = append(out[protocol].Expected, e)
			homes[i] = true
		}
	}
	for i, e := range b.Expected {
		switch {
		case homes[i]:
		case misfits[i] != nil: // a clause of several protocols fits if it fits one
			return nil, fmt.Errorf("--%w", misfits[i])
		default:
			return nil, usagef("%s: %s is not a clause of %s", placeOf(path, text, e.Clause), e.Clause,
				strings.Join(suite.Names(), " or "))
		}
	}
	return out, nil
}
