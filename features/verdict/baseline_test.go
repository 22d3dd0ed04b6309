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

func TestParseBaselineNarrowed(t *testing.T) {
	b, err := ParseBaseline([]byte("expected:\n  - {clause: EA-001, reason: r, role: host, driver: ws}\n" +
		"  - {clause: EA-001, reason: r, role: relay, flaky: true}\n" +
		"  - {clause: EA-001, reason: r, role: host, driver: sse}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Expected{{Clause: "EA-001", Reason: "r", Role: "host", Driver: "ws"},
		{Clause: "EA-001", Reason: "r", Role: "relay", Flaky: true},
		{Clause: "EA-001", Reason: "r", Role: "host", Driver: "sse"}}
	if diff := cmp.Diff(want, b.Expected); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	if !b.Expected[0].About("host") || b.Expected[0].About("relay") || !(Expected{}).About("relay") {
		t.Error("a row is about its role, and one without a role about every role")
	}
}

func TestDaysLeft(t *testing.T) {
	now := time.Date(2026, 6, 30, 15, 0, 0, 0, time.UTC)
	for _, r := range []struct {
		expires string
		days    int
		soon    bool
	}{{"2026-06-29", -1, false}, {"2026-06-30", 0, true}, {"2026-07-01", 1, true}, {"2026-07-14", 14, true},
		{"2026-07-15", 15, false}, {"", 0, false}, {"soon", 0, false}} {
		if days, soon := DaysLeft(r.expires, now); days != r.days || soon != r.soon {
			t.Errorf("DaysLeft(%q) = %d, %t; want %d, %t", r.expires, days, soon, r.days, r.soon)
		}
	}
}

func TestApplyFlaky(t *testing.T) {
	e, now := Expected{Clause: "AS-042", Reason: "r", Flaky: true}, time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC)
	for o, want := range map[Outcome]string{Failed: RowApplied, Passed: RowSpared, NotTested: RowUnused} {
		if _, state := e.Apply(o, true, now); state != want {
			t.Errorf("%s: the state is %q, want %q", o, state, want)
		}
	}
	if o, _ := e.Apply(Passed, true, now); o != Passed {
		t.Errorf("a flaky clause that passed is %s", o)
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
		{"no reason, on a line", "expected:\n  - {clause: AS-041, reason: r}\n  - clause: AS-042\n",
			"[3:1] AS-042 needs a reason"},
		{"a duplicate clause", "expected: [{clause: AS-042, reason: r}, {clause: AS-042, reason: s}]",
			"AS-042 is listed twice"},
		{"no date", "expected: [{clause: AS-042, reason: r, expires: soon}]",
			`AS-042: expires "soon" is not a date (YYYY-MM-DD)`},
		{"an unknown key shows a row", "expected:\n  - clause: AS-042\n    until: never",
			"[3:5] unknown key \"until\" (a row: - {clause: "},
		{"a row for every driver beside one for a driver",
			"expected: [{clause: AS-042, reason: r}, {clause: AS-042, reason: s, driver: ws}]",
			"AS-042 is listed twice: a row without role or driver is about all of them"},
		{"an empty row", "expected: [{}]", "row 1 is empty (a row: "},
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
