package prepared_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/prepared"
	"parley/runner"
	"parley/steps"
	"parley/steps/protocols"
	"parley/verdict"
)

var update = flag.Bool("update", false, "write the data anew")

// reading is what a program reads of a protocol: each of it is prepared under its key.
type reading struct {
	Ledger    *verdict.Ledger
	Judges    steps.Judges
	Scenarios []runner.Planned
}

func read(t *testing.T, p steps.Protocol) (r reading) {
	t.Helper()
	var err [3]error
	r.Ledger, err[0] = steps.ReadLedger(p)
	r.Judges, err[1] = steps.JudgesOf(p)
	r.Scenarios, err[2] = runner.ReadScenarios(p.Features(), p)
	for _, err := range err {
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// TestPrepared checks that what is prepared is what the files say, and that all of it is prepared.
func TestPrepared(t *testing.T) {
	for _, p := range protocols.All.All {
		restore := prepared.Ignore()
		want := read(t, p)
		plan, err := runner.Prepare(p)
		restore()
		if err != nil {
			t.Fatal(err)
		}
		name := steps.Name(p)
		from, err := runner.PreparedFrom(p.Features(), p)
		if err != nil {
			t.Fatal(err)
		}
		for key, row := range map[string]struct {
			input []byte
			value any
		}{
			"ledger": {file(t, p, "clauses.yaml"), want.Ledger}, "judges": {file(t, p, "judges.yaml"), want.Judges},
			"scenarios": {from, plan},
		} {
			packed, err := prepared.Pack(row.input, row.value)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("data", name+"."+key+".json.gz")
			has, err := os.ReadFile(path)
			digest := []byte(prepared.Digest(row.input) + "\n")
			switch {
			case err == nil && bytes.HasPrefix(has, digest) && !*update:
			case *update:
				if err := os.WriteFile(path, packed, 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s is out of date: go test ./internal/prepared -update", path)
			}
		}
		if *update {
			continue
		}
		private := cmp.Exporter(func(typ reflect.Type) bool { return strings.HasPrefix(typ.PkgPath(), "parley/") })
		if diff := cmp.Diff(want, read(t, p), private, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: what is prepared differs from the files (-files +prepared):\n%s", name, diff)
		}
	}
}

func file(t *testing.T, p steps.Protocol, name string) []byte {
	t.Helper()
	b, err := fs.ReadFile(p.Features(), steps.Name(p)+"/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOtherInput checks that nothing is found for other bytes or another key.
func TestOtherInput(t *testing.T) {
	p := protocols.Get("agent-select")
	ledger := file(t, p, "clauses.yaml")
	var l verdict.Ledger
	if !prepared.Get("agent-select/ledger", ledger, &l) || l.Protocol != "agent-select" {
		t.Errorf("nothing is prepared: %q", l.Protocol)
	}
	for key, input := range map[string][]byte{"agent-select/ledger": append(ledger, '\n'), "agent-select/none": ledger} {
		l = verdict.Ledger{}
		if prepared.Get(key, input, &l) || l.Protocol != "" {
			t.Errorf("%s: something is prepared for other bytes", key)
		}
	}
}
