package verdict

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseBaseline(t *testing.T) {
	b, err := ParseBaseline([]byte("expected:\n  - clause: AS-042\n    reason: issue 7\n    expires: 2026-12-31\n  - " +
		"{clause: AS-043, reason: later}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Baseline{Expected: []Expected{{Clause: "AS-042", Reason: "issue 7", Expires: "2026-12-31"},
		{Clause: "AS-043", Reason: "later"}}}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}

func TestParseBaselineRefuses(t *testing.T) {
	rows := []struct{ reason, in, want string }{
		{"invalid YAML", "expected: [", "baseline: "},
		{"an unknown key", "expected: [{clause: AS-042, reason: r, until: 2026-01-01}]", "until"},
		{"an unknown key at the top", "except: []", "except"},
		{"no clause id", "expected: [{clause: AS-42, reason: r}]", `clause "AS-42" is not a clause id (such as AS-042)`},
		{"a scenario instead of a clause", "expected: [{clause: AS-3.1-01, reason: r}]", "is not a clause id"},
		{"no reason", "expected: [{clause: AS-042}]", "AS-042 needs a reason"},
		{"a duplicate clause", "expected: [{clause: AS-042, reason: r}, {clause: AS-042, reason: s}]",
			"AS-042 is listed twice"},
		{"no date", "expected: [{clause: AS-042, reason: r, expires: soon}]",
			`AS-042: expires "soon" is not a date (YYYY-MM-DD)`},
		{"an impossible date", "expected: [{clause: AS-042, reason: r, expires: \"2026-02-30\"}]", "is not a date"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if _, err := ParseBaseline([]byte(r.in)); err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("ParseBaseline: %v; want %q in it", err, r.want)
			}
		})
	}
}

func TestApply(t *testing.T) {
	day := time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC)
	rows := []struct {
		reason  string
		o       Outcome
		unknown bool
		expires string
		now     time.Time
		want    Outcome
		state   string
	}{
		{"it fails, as expected", Failed, false, "", day, ExpectedFail, RowApplied},
		{"a warning is expected too", Warned, false, "", day, ExpectedFail, RowApplied},
		{"it passes: the row must go", Passed, false, "", day, UnexpectedPass, RowStale},
		{"it was not tested", NotTested, false, "", day, NotTested, RowUnused},
		{"it does not apply", NotApplicable, false, "", day, NotApplicable, RowUnused},
		{"a harness error stays one", HarnessError, false, "", day, HarnessError, RowUnused},
		{"the target could not be reached", EnvError, false, "", day, EnvError, RowUnused},
		{"a clause outside this run", "", true, "", day, "", RowUnknown},
		{"the day before the last", Failed, false, "2026-07-01", day, ExpectedFail, RowApplied},
		{"the last moment of the last day", Failed, false, "2026-06-30", day.AddDate(0, 0, 1).Add(-1), ExpectedFail,
			RowApplied},
		{"the first moment after it", Failed, false, "2026-06-30", day.AddDate(0, 0, 1), Failed, RowExpired},
		{"long after", Failed, false, "2020-01-01", day, Failed, RowExpired},
		{"an expired row does not turn a pass red", Passed, false, "2020-01-01", day, Passed, RowExpired},
		{"days are in UTC", Failed, false, "2026-06-30",
			time.Date(2026, 6, 30, 23, 30, 0, 0, time.FixedZone("west", -3600)), Failed, RowExpired},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			got, state := Expected{Clause: "AS-042", Reason: "r", Expires: r.expires}.Apply(r.o, !r.unknown, r.now)
			if got != r.want || state != r.state {
				t.Errorf("Apply = %q, %q; want %q, %q", got, state, r.want, r.state)
			}
		})
	}
}
