// Package strangers_test checks that faults of programs that share no code with the reference servers are told by name.
package strangers_test

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/internal/tier"
	"parley/internal/yamltext"
	"parley/reports"
	"parley/reports/diagnosis"
	"parley/runner"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

func TestMain(m *testing.M) { suitetest.Main(m) }

// fault is a mistake in a foreign program.
type fault struct {
	Name     string // in broken.yaml
	Mutant   string // its id in the catalogue, or "" if no sentence describes it
	Mistaken string // a wrong name that it may get
	Unnamed  string // why it is known to get no name; it counts among all, and is in no sample
	Profile  string
	Changes  []struct{ File, From, To string }
}

// faultsIn reads a file of faults.
func faultsIn(t testing.TB, file string) (all []fault) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("test/strangers", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yamltext.Strict(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// copyWith copies the examples into a folder, changes the copy, and returns the file of the fault's profile in it.
func copyWith(t testing.TB, dir string, f fault) (profile string) {
	t.Helper()
	examples := filepath.Join(dir, "examples")
	if err := os.CopyFS(examples, os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Changes {
		name := filepath.Join(examples, c.File)
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(data), c.From) != 1 {
			t.Fatalf("%s does not have once: %s", c.File, c.From)
		}
		if err := os.WriteFile(name, []byte(strings.Replace(string(data), c.From, c.To, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(examples, "profiles", f.Profile+".yaml")
}

// names returns the names that the causes of a run were given.
func names(run *reports.Run) []string {
	told := map[string]bool{}
	for _, c := range run.Causes {
		for _, l := range c.LooksLike {
			told[l.Fault] = true
		}
	}
	return slices.Sorted(maps.Keys(told))
}

// rows returns the faults of pages, or those of other programs, that can be told: their own fault is among the
// signatures, or they have none. The others are counted.
func rows(t *testing.T, pages bool) (list []fault, unknown int) {
	t.Helper()
	signatures, err := diagnosis.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faultsIn(t, "faults.yaml") {
		p, err := protocols.Kinds().Load(filepath.Join("examples", "profiles", f.Profile+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case (p.Protocol == "agent-client") != pages:
		case !tier.All() && (f.Unnamed != "" || !slices.Contains(quick, f.Profile)):
		case f.Mutant != "" && !signatures.Has(p.Protocol, p.Role, f.Mutant):
			unknown++
		default:
			list = append(list, f)
		}
	}
	return list, unknown
}

// enough is the share of the faults with a signature that must be told by their own names.
const enough = 0.8

func TestStrangers(t *testing.T) { tell(t, false, 3) }

// quick are the profiles whose suites are over soonest; in `make test` only these are judged, and pages.
var quick = []string{"python-relay", "node-runtime", "plain-page"}

// TestStrangerPages is apart because a page needs the processor.
func TestStrangerPages(t *testing.T) { tell(t, true, 1) }

// tell checks that faults are told by their names and other deviations by none. By default it takes about n of them.
func tell(t *testing.T, pages bool, n int) {
	list, unknown := rows(t, pages)
	if unknown > 0 {
		t.Logf("%d faults are not among the signatures, and are left out: make signatures", unknown)
	}
	if len(list) == 0 {
		t.Fatal("no signature of any of them: make signatures")
	}
	var mu sync.Mutex
	told, missed := 0, []string{} // ids
	t.Run("each", func(t *testing.T) {
		for i, f := range list {
			t.Run(f.Profile+"/"+cmp.Or(f.Mutant, "none"), func(t *testing.T) {
				tier.Sample(t, i, len(list), n)
				place := suitetest.AwaitTurn
				if pages {
					place = suitetest.InBrowser
				}
				place(t)
				got, causes := judge(t, f)
				switch {
				case causes == 0:
					t.Errorf("breaks nothing")
				case f.Mutant == "" && len(got) > 0 && !slices.Contains(got, f.Mistaken):
					t.Errorf("looks like %q", got)
				case f.Mutant == "":
				case slices.Contains(got, f.Mutant):
					mu.Lock()
					defer mu.Unlock()
					told++
				default:
					mu.Lock()
					defer mu.Unlock()
					missed = append(missed, f.Mutant)
					t.Logf("looks like %q", got)
				}
			})
		}
	})
	t.Logf("told by their names: %d; missed: %q", told, missed)
	if all := told + len(missed); float64(told) < enough*float64(all) {
		t.Errorf("%d of %d faults are told by their names; missed: %q", told, all, missed)
	}
}

// judge runs the whole suite, and returns the names that the causes were given, and how many causes there are.
func judge(t *testing.T, f fault) (told []string, causes int) {
	t.Helper()
	p, err := protocols.Kinds().Load(copyWith(t, t.TempDir(), f))
	if err != nil {
		t.Fatal(err)
	}
	suitetest.ShortenLimits(&p.Limits)
	res := suitetest.Judge(t, runner.Options{Profile: p})
	diagnosis.Tell(res)
	for _, c := range res.Runs[0].Causes {
		for _, l := range c.LooksLike {
			t.Logf("%.3f %s", l.Likeness, l.Fault)
		}
	}
	return names(&res.Runs[0]), len(res.Runs[0].Causes)
}
