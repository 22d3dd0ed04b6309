package diagnosis

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/reports"
	"parley/reports/causes"
)

// kind is how a test writes a kind of deviation: an expectation and an observation.
func kind(text string) string { return causes.ID(text, "another thing") }

// faults are three of a protocol: one shows in one scenario, one in two, and one in all that the first two break.
func faults() []Fault {
	return []Fault{
		{"one", "a typing mistake", []Finding{{"s1", "X-1", kind("a")}}},
		{"two", "a lost update", []Finding{{"s2", "X-2", kind("b")}, {"s3", "X-2", kind("b")}, {"s3", "X-3", kind("c")}}},
		{"wide", "nothing works", []Finding{{"s1", "X-1", kind("d")}, {"s2", "X-2", kind("d")}, {"s3", "X-3", kind("d")},
			{"s4", "X-4", kind("d")}}},
	}
}

// runOf returns a run with these findings in which the other scenarios passed. Expected is the text of the kind.
func runOf(expected func(Finding) string, found []Finding, passed ...string) *reports.Run {
	run := &reports.Run{Protocol: "p", Role: "r"}
	at := map[string]int{}
	for _, f := range found {
		n, known := at[f.Scenario]
		if !known {
			n = len(run.Scenarios)
			at[f.Scenario] = n
			run.Scenarios = append(run.Scenarios, reports.Scenario{ID: f.Scenario, Driver: "d", Outcome: verdict.Failed})
		}
		run.Scenarios[n].Failures = append(run.Scenarios[n].Failures, reports.Failure{Clause: f.Clause, Level: verdict.Must,
			Expected: expected(f), Observed: "another thing"})
	}
	for _, id := range passed {
		if _, failed := at[id]; !failed {
			run.Scenarios = append(run.Scenarios, reports.Scenario{ID: id, Driver: "d", Outcome: verdict.Passed})
		}
	}
	run.Causes = reports.FindCauses(run, false)
	return run
}

// told returns the names that a run's causes got, each as CLAUSES: NAMES.
func told(run *reports.Run) []string {
	var out []string
	for _, c := range run.Causes {
		text := strings.Join(c.Clauses, " ") + ":"
		for _, l := range c.LooksLike {
			text += fmt.Sprintf(" %s %.2f", l.Fault, l.Likeness)
		}
		out = append(out, text)
	}
	return out
}

func TestTell(t *testing.T) {
	all := []string{"s1", "s2", "s3", "s4"}
	text := map[string]string{}
	for _, k := range []string{"a", "b", "c", "d", "never seen"} {
		text[kind(k)] = k
	}
	expected := func(f Finding) string { return text[f.Kind] }
	f := faults()
	for _, tt := range []struct {
		reason string
		found  []Finding
		judged []string
		want   []string
	}{
		{"nothing", nil, all, nil},
		{"a fault is its own", f[0].Findings, all, []string{"X-1: one 1.00"}},
		{"the causes of a fault are one", f[1].Findings, all, []string{"X-2 X-3: two 1.00"}},
		{"two faults at once", slices.Concat(f[0].Findings, f[1].Findings), all,
			[]string{"X-2 X-3: two 1.00", "X-1: one 1.00"}},
		{"what was not judged does not count", []Finding{{"s2", "X-2", kind("b")}}, []string{"s1", "s2"},
			[]string{"X-2: two 1.00"}},
		{"what passed speaks against it", []Finding{{"s4", "X-4", kind("d")}}, all, []string{"X-4:"}},
		{"the kind in another scenario", []Finding{{"s4", "X-1", kind("a")}}, []string{"s4"}, []string{"X-1:"}},
		{"the kind in another scenario, too", []Finding{{"s4", "X-1", kind("a")}}, all, []string{"X-1: one 0.70"}},
		{"another kind", []Finding{{"s1", "X-1", kind("never seen")}}, all, []string{"X-1:"}},
		{"another clause", []Finding{{"s1", "X-9", kind("a")}}, all, []string{"X-9:"}},
	} {
		run := runOf(expected, tt.found, tt.judged...)
		NewSet(f).Tell(run)
		if diff := cmp.Diff(tt.want, told(run)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// TestNamedAtMostThree: the nearest are named.
func TestNamedAtMostThree(t *testing.T) {
	var list []Fault
	for i := range 6 {
		f := Fault{ID: fmt.Sprint("f", i)}
		for j := range i + 1 {
			f.Findings = append(f.Findings, Finding{fmt.Sprint("s", j), "X-1", kind("a")})
		}
		list = append(list, f)
	}
	run := runOf(func(Finding) string { return "a" }, list[5].Findings)
	NewSet(list).Tell(run)
	if got := told(run); len(got) != 1 || !strings.HasPrefix(got[0], "X-1: f5 1.00 f4 ") ||
		len(run.Causes[0].LooksLike) != Named {
		t.Errorf("%q", got)
	}
}

// TestFile: what is written is read, the same content gives the same bytes, and nonsense is refused.
func TestFile(t *testing.T) {
	file := func() *File {
		f := &File{Suite: "sha256:1"}
		f.Add("p", "r", faults())
		return f
	}
	var a, b bytes.Buffer
	if err := file().Write(&a); err != nil {
		t.Fatal(err)
	}
	if err := file().Write(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same content gives other bytes")
	}
	f, err := Read(a.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Faults("p", "r")
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		slices.SortFunc(got[i].Findings, func(a, b Finding) int {
			return strings.Compare(a.Scenario+a.Clause, b.Scenario+b.Clause)
		})
	}
	if diff := cmp.Diff(faults(), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, row := range [][]int{{0}, {9, 0, 0}, {0, 9, 0}, {0, 0, 9}, {0, 0, -1}} {
		f := file()
		f.Sets["p r"].Faults[0].At = [][]int{row}
		if _, err := f.preparedSet("p r"); err == nil {
			t.Errorf("row %v is accepted", row)
		}
	}
	for _, text := range []string{"", "no gzip", string(a.Bytes()[:20])} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// embeddedSets returns the faults of the binary, by protocol and role.
func embeddedSets(t testing.TB) map[string][]Fault {
	t.Helper()
	f, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]Fault{}
	for name, stored := range f.Sets {
		if out[name], err = stored.faults(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestEachFaultFindsItself: what a mutant of the bundled targets breaks looks like that mutant, or like others that
// break exactly the same.
func TestEachFaultFindsItself(t *testing.T) {
	if len(embedded) > 1<<20 {
		t.Errorf("the file has %d bytes, more than 1 MiB", len(embedded))
	}
	faults := 0
	for name, list := range embeddedSets(t) {
		s := NewSet(list)
		for i, f := range list {
			faults++
			got := s.nameFaults(f.Findings, s.sharesFound(f.Findings, nil))
			same := len(got) > 0 && got[0].Likeness == 1
			if !slices.ContainsFunc(got, func(l reports.Likeness) bool { return l.Fault == f.ID }) && !same {
				t.Errorf("%s: %s looks like %+v", name, list[i].ID, got)
			}
		}
	}
	if faults == 0 {
		t.Error("the binary has no signatures")
	}
}

// TestRandomDeviationsGetNoName: findings at the places of known faults, but of kinds that none of them has, or of
// known kinds at clauses that none of them breaks in that way, look like nothing.
func TestRandomDeviationsGetNoName(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, list := range embeddedSets(t) {
		s := NewSet(list)
		var all []Finding
		for _, f := range list {
			all = append(all, f.Findings...)
		}
		for range 300 {
			var found []Finding
			for range 1 + random.IntN(12) {
				a, b := all[random.IntN(len(all))], all[random.IntN(len(all))]
				f := Finding{a.Scenario, a.Clause, fmt.Sprintf("%010x", random.Uint64()&0xffffffffff)}
				if random.IntN(2) == 0 {
					f = Finding{a.Scenario, a.Clause, b.Kind}
				}
				if s.frequency[kindOf(f)] == 0 {
					found = append(found, f)
				}
			}
			if got := s.nameFaults(found, s.sharesFound(found, nil)); len(got) > 0 {
				t.Fatalf("%s: %v looks like %+v", name, found, got)
			}
		}
	}
}

// BenchmarkTell: a run in which the widest fault and twenty others show at once.
func BenchmarkTell(b *testing.B) {
	for name, list := range embeddedSets(b) {
		s := NewSet(list)
		slices.SortFunc(list, func(x, y Fault) int { return len(y.Findings) - len(x.Findings) })
		var found []Finding
		for _, f := range list[:min(len(list), 20)] {
			found = append(found, f.Findings...)
		}
		run := runOf(func(f Finding) string { return "a thing of " + f.Clause }, found)
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.ReportMetric(float64(len(found)), "findings")
			for b.Loop() {
				s.Tell(run)
			}
		})
	}
}
