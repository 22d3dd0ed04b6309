package reports

import (
	"bytes"
	"strings"
	"testing"

	"parley/features/verdict"
)

// TestReadAltered: results that contradict themselves are refused, and unaltered ones of each kind are read.
func TestReadAltered(t *testing.T) {
	read := func(r *Results) error { _, err := ReadJSON(bytes.NewReader(written(t, r))); return err }
	good := func(v verdict.Verdict, exit int, outcomes ...verdict.Outcome) *Results {
		r := compared("sha256:00", outcomes...)
		r.Verdict, r.Exit, r.Runs[0].Verdict, r.Runs[0].Totals = v, exit, v, totalsOf(&r.Runs[0])
		return r
	}
	p, f, x := verdict.Passed, verdict.Failed, verdict.ExpectedFail
	for _, r := range []*Results{
		sample(),
		good(verdict.Conformant, 0, p, verdict.NotApplicable, verdict.Warned),
		good(verdict.AsExpected, 0, p, x),
		good(verdict.NonConformant, 1, p, f),
		good(verdict.NonConformant, verdict.ExitUnreachable, p, f),
		good(verdict.Incomplete, 5, p, verdict.NotTested),
		good(verdict.Incomplete, 0, p, verdict.NotTested, x),
		good(verdict.Conformant, verdict.ExitInterrupted, p),
	} {
		if err := read(r); err != nil {
			t.Errorf("%s, exit %d: %v", r.Verdict, r.Exit, err)
		}
	}
	for _, c := range []struct {
		want  string
		r     *Results
		alter func(*Results)
	}{
		{"the totals count 1 clause as passed, and 2 are listed", good(verdict.NonConformant, 1, p, f),
			func(r *Results) { r.Runs[0].Clauses[1].Outcome = p }},
		{"the totals count 3 clauses in all, and 2 are listed", good(verdict.NonConformant, 1, p, f),
			func(r *Results) { r.Runs[0].Totals.Clauses.Total = 3 }},
		{"agent-select server: it is conformant, and 1 clause failed", good(verdict.NonConformant, 1, p, f),
			func(r *Results) { r.Verdict, r.Exit, r.Runs[0].Verdict = verdict.Conformant, 0, verdict.Conformant }},
		{"the verdict is conformant, and that of agent-select server is non-conformant", good(verdict.NonConformant, 1, p, f),
			func(r *Results) { r.Verdict, r.Exit = verdict.Conformant, 0 }},
		{"it is conformant, and a baseline excused 1 clause", good(verdict.AsExpected, 0, p, x),
			func(r *Results) { r.Verdict, r.Runs[0].Verdict = verdict.Conformant, verdict.Conformant }},
		{"the verdict is non-conformant, and the exit code 0", good(verdict.NonConformant, 1, p, f),
			func(r *Results) { r.Exit = 0 }},
		{"the verdict is conformant, and the exit code 5", good(verdict.Conformant, 0, p), func(r *Results) { r.Exit = 5 }},
	} {
		c.alter(c.r)
		if err := read(c.r); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "as if they were altered") {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestReadNewerSchema(t *testing.T) {
	for id, want := range map[string]string{
		"urn:parley:results:2":                      "a newer version of parley wrote it (update parley)",
		"urn:parley:results:0":                      `schema is "urn:parley:results:0", want`,
		"https://parley.dev/schema/results-2.json":  "a newer version of parley wrote it (update parley)",
		"https://parley.dev/schema/results-10.json": "a newer version of parley wrote it (update parley)",
		"https://parley.dev/schema/results-0.json":  `schema is "https://parley.dev/schema/results-0.json", want`,
		"https://example.org/":                      `schema is "https://example.org/", want`,
	} {
		_, err := ReadJSON(strings.NewReader(`{"schema": "` + id + `", "new": true}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
}
