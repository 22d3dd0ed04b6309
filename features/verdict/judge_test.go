package verdict

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sse certifies, as in agent-select.
func sse(driver string) bool { return driver == "sse" }

// by returns a judgement whose reason names its origin.
func by(driver string, o Outcome) Judgement {
	return Judgement{Clause: "AS-001", Driver: driver, Scenario: "s", Outcome: o, Reason: driver + " " + string(o)}
}

func TestAggregate(t *testing.T) {
	rows := []struct {
		reason string
		js     []Judgement
		want   Outcome
		why    string
	}{
		{"nobody judged", nil, NotTested, "no scenario that judges it was run"},
		{"a pass needs no reason", []Judgement{by("sse", Passed)}, Passed, ""},
		{"a failure beats a pass", []Judgement{by("sse", Passed), by("sse", Failed)}, Failed, "sse failed"},
		{"a warning beats a pass", []Judgement{by("sse", Warned), by("sse", Passed)}, Warned, "sse warned"},
		{"a failure beats a warning", []Judgement{by("sse", Warned), by("sse", Failed)}, Failed, "sse failed"},
		{"a pass beats not tested", []Judgement{by("sse", NotTested), by("sse", Passed)}, Passed, ""},
		{"a pass beats a harness error elsewhere", []Judgement{by("sse", HarnessError), by("sse", Passed)}, Passed, ""},
		{"a harness error beats not tested", []Judgement{by("sse", NotTested), by("sse", HarnessError)}, HarnessError,
			"sse harness-error"},
		{"an environment error beats not tested", []Judgement{by("sse", NotTested), by("sse", EnvError)}, EnvError,
			"sse environment-error"},
		{"not applicable only if all say so", []Judgement{by("sse", NotApplicable), by("sse", NotTested)},
			NotTested, "sse not-tested"},
		{"not applicable if all say so", []Judgement{by("sse", NotApplicable), by("ws", NotApplicable)},
			NotApplicable, "sse not-applicable"},
		{"a pass beats not applicable", []Judgement{by("sse", NotApplicable), by("sse", Passed)}, Passed, ""},
		{"an expected failure beats a pass", []Judgement{by("sse", ExpectedFail), by("sse", Passed)}, ExpectedFail,
			"sse expected-failure"},
		{"an unexpected pass beats an expected failure", []Judgement{by("sse", ExpectedFail), by("sse", UnexpectedPass)},
			UnexpectedPass, "sse unexpected-pass"},

		{"a failure counts over any driver", []Judgement{by("sse", Passed), by("ws", Failed)}, Failed, "ws failed"},
		{"a warning too", []Judgement{by("sse", Passed), by("ws", Warned)}, Warned, "ws warned"},
		{"a pass over another driver certifies nothing", []Judgement{by("sse", NotTested), by("ws", Passed)}, NotTested,
			"sse not-tested"},
		{"not even alone", []Judgement{by("ws", Passed)}, NotTested, "passed, but only over drivers that do not certify"},
		{"nor beside an observation", []Judgement{by("sse", NotApplicable), by("ws", Passed)}, NotApplicable,
			"sse not-applicable"},
		{"not tested over another driver does not weaken a pass", []Judgement{by("sse", Passed), by("ws", NotTested)},
			Passed, ""},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			for range 10 { // the order in which scenarios end must not matter
				rand.Shuffle(len(r.js), func(i, j int) { r.js[i], r.js[j] = r.js[j], r.js[i] })
				given := append([]Judgement(nil), r.js...)
				got, why, _ := Aggregate(r.js, sse)
				if got != r.want || why != r.why {
					t.Fatalf("Aggregate = %s, %q; want %s, %q", got, why, r.want, r.why)
				}
				if diff := cmp.Diff(given, r.js); diff != "" {
					t.Fatalf("Aggregate changed its argument:\n%s", diff)
				}
			}
		})
	}
}

func TestAggregateByDriver(t *testing.T) {
	_, _, got := Aggregate([]Judgement{by("sse", Passed), by("ws", Passed), by("ws", Failed), by("r3labs", NotTested)},
		sse)
	want := map[string]Outcome{"sse": Passed, "ws": Failed, "r3labs": NotTested}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}

func TestAggregateGivesTheSameReasonEveryTime(t *testing.T) {
	js := []Judgement{
		{Driver: "ws", Scenario: "1", Outcome: Failed, Reason: "over ws"},
		{Driver: "sse", Scenario: "2", Outcome: Failed, Reason: "second"},
		{Driver: "sse", Scenario: "1", Monitor: "m", Outcome: Failed, Reason: "by a monitor"},
		{Driver: "sse", Scenario: "1", Outcome: Failed, Reason: "first"},
	}
	for range 20 {
		rand.Shuffle(len(js), func(i, j int) { js[i], js[j] = js[j], js[i] })
		if _, got, _ := Aggregate(js, sse); got != "first" {
			t.Fatalf("the reason is %q", got)
		}
	}
}

func TestEveryOutcomeHasARank(t *testing.T) {
	seen := map[int]Outcome{}
	for _, o := range Outcomes {
		n, ok := rank[o]
		if other, twice := seen[n]; !ok || twice {
			t.Errorf("%s has rank %d, as %s has", o, n, other)
		}
		seen[n] = o
	}
	if len(rank) != len(Outcomes) {
		t.Errorf("%d outcomes, %d ranks", len(Outcomes), len(rank))
	}
}

func TestByLevel(t *testing.T) {
	want := map[Level][2]Outcome{ // not strict, strict
		Must: {Failed, Failed}, Conflict: {Failed, Failed}, Should: {Warned, Failed}, May: {NotApplicable, NotApplicable},
		Info: {NotApplicable, NotApplicable},
	}
	for _, l := range Levels {
		if got := [2]Outcome{ByLevel(l, false), ByLevel(l, true)}; got != want[l] {
			t.Errorf("%s is %v, want %v", l, got, want[l])
		}
	}
}

func TestDecide(t *testing.T) {
	// of a clause named like its level
	of := func(l Level, o Outcome) Judgement { return Judgement{Clause: string(l), Outcome: o} }
	type flags = Circumstances
	rows := []struct {
		reason string
		said   []Judgement
		flags  flags
		want   Verdict
		exit   int
	}{
		{"all passed", []Judgement{of(Must, Passed), of(Should, Passed)}, flags{}, Conformant, 0},
		{"not applicable is fine", []Judgement{of(Must, NotApplicable), of(May, NotApplicable)}, flags{}, Conformant, 0},
		{"what was cut off might have failed, although its clauses passed elsewhere", []Judgement{of(Must, Passed)},
			flags{CutOff: true}, Incomplete, 5},
		{"what was cut off does not hide a failure", []Judgement{of(Must, Failed)}, flags{CutOff: true}, NonConformant, 1},
		{"a warning is fine", []Judgement{of(Should, Warned)}, flags{}, Conformant, 0},
		{"an expected failure is fine, and not conformant", []Judgement{of(Must, Passed), of(Must, ExpectedFail)}, flags{},
			AsExpected, 0},
		{"an expected warning too", []Judgement{of(Must, Passed), of(Should, ExpectedFail)}, flags{}, AsExpected, 0},
		{"a flaky clause passed this time, which its row does not believe", []Judgement{of(Must, Passed)},
			flags{Forgiven: true}, AsExpected, 0},
		{"a failure beside it counts", []Judgement{of(Must, ExpectedFail), of(Must, Failed)}, flags{}, NonConformant, 1},
		{"incomplete beats as-expected", []Judgement{of(Must, ExpectedFail), of(Must, NotTested)}, flags{}, Incomplete, 5},
		{"an untested SHOULD is fine", []Judgement{of(Should, NotTested), of(Info, NotTested), of(May, EnvError)},
			flags{}, Conformant, 0},
		{"a failure", []Judgement{of(Must, Passed), of(Must, Failed)}, flags{}, NonConformant, 1},
		{"a failure of a SHOULD, in strict mode", []Judgement{of(Should, Failed)}, flags{}, NonConformant, 1},
		{"a stale baseline", []Judgement{of(Must, UnexpectedPass)}, flags{}, NonConformant, 1},
		{"an untested MUST", []Judgement{of(Must, NotTested)}, flags{}, Incomplete, 5},
		{"an untested CONFLICT", []Judgement{of(Conflict, NotTested)}, flags{}, Incomplete, 5},
		{"a MUST untested because of the environment", []Judgement{of(Must, EnvError)}, flags{}, Incomplete, 5},
		{"any selection makes a run incomplete", []Judgement{of(Must, Passed)}, flags{Filtered: true}, Incomplete, 5},
		{"which may be allowed", []Judgement{of(Must, NotTested)}, flags{Filtered: true, AllowIncomplete: true},
			Incomplete, 0},
		{"a failure may not", []Judgement{of(Must, Failed)}, flags{Filtered: true, AllowIncomplete: true}, NonConformant, 1},
		{"failed beats incomplete", []Judgement{of(Must, NotTested), of(Must, Failed)}, flags{Filtered: true}, NonConformant,
			1},
		{"unreachable beats incomplete", []Judgement{of(Must, EnvError)}, flags{Unreachable: true}, Incomplete, 3},
		{"unreachable beats failed; the verdict stays", []Judgement{of(Must, Failed)}, flags{Unreachable: true},
			NonConformant, 3},
		{"a harness error beats unreachable", []Judgement{of(Must, Passed)}, flags{Harness: true, Unreachable: true},
			Incomplete, 4},
		{"and everything else", []Judgement{of(Must, Failed), of(Must, NotTested)},
			flags{Filtered: true, Harness: true, Unreachable: true, AllowIncomplete: true}, NonConformant, 4},
		{"a clause that could not be judged is a harness error", []Judgement{of(Should, HarnessError)}, flags{}, Incomplete,
			4},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			got, exit := Decide(r.said, func(clause string) Level { return Level(clause) }, r.flags)
			if got != r.want || exit != r.exit {
				t.Errorf("Decide = %s, %d; want %s, %d", got, exit, r.want, r.exit)
			}
		})
	}
}
