package verdict_test

import (
	"errors"
	"testing"

	"parley/features/verdict"
)

// FuzzParseBaseline: a baseline is read or refused with a place, and its rows are clauses with reasons.
func FuzzParseBaseline(f *testing.F) {
	for _, text := range []string{"", "expected:\n  - {clause: AS-042, reason: known}\n", "expected: !x",
		"expected: [{clause: !!binary x}]",
		"expected:\n  - {clause: AS-042, reason: a, expires: 2026-13-45, role: server, driver: sse, flaky: true}\n",
		"- &a [*a]", "[[[["} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := verdict.ParseBaseline(text)
		if err != nil {
			var at *verdict.BaselineError
			if !errors.As(err, &at) {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		for _, row := range b.Expected {
			if row.Clause == "" || row.Reason == "" {
				t.Errorf("a row without a clause or a reason: %+v", row)
			}
		}
	})
}

// FuzzParseLedger: a ledger is read or refused.
func FuzzParseLedger(f *testing.F) {
	f.Add([]byte("clauses:\n  - {id: AS-001, level: MUST, section: \"1\", text: a}\n"))
	f.Add([]byte("clauses: !x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if l, err := verdict.ParseLedger(text); (l == nil) == (err == nil) {
			t.Error("neither a ledger nor an error, or both")
		}
	})
}
