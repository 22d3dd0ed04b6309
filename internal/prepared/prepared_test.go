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
	"parley/reference-server/agentclient/mutants"
	"parley/reference-server/catalogue"
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
			keep(t, name+"/"+key, row.input, row.value)
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

// keep checks that a value was prepared under a key from an input, or prepares it.
func keep(t *testing.T, key string, input []byte, value any) {
	t.Helper()
	path := filepath.Join("data", strings.ReplaceAll(key, "/", ".")+".json.gz")
	if *update {
		packed, err := prepared.Pack(input, value)
		if err == nil {
			err = os.WriteFile(path, packed, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	has, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(has, []byte(prepared.Digest(input)+"\n")) {
		t.Errorf("%s is out of date: go test ./internal/prepared -update (%v)", path, err)
	}
}

// catalogues are the catalogues of mutants by key.
var catalogues = map[string]string{
	"agent-select/mutants":         "agentselect",
	"session-chat/mutants":         "sessionchat",
	"session-runtime/mutants":      "sessionruntime",
	"external-agent/host/mutants":  "externalagent/host",
	"external-agent/relay/mutants": "externalagent/relay",
	"external-agent/agent/mutants": "externalagent/agent",
}

// TestCatalogues checks that the prepared catalogues of mutants are what their files say.
func TestCatalogues(t *testing.T) {
	for key, folder := range catalogues {
		text, err := os.ReadFile(filepath.Join("../../reference-server", folder, "mutants/catalogue.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		rows := catalogue.Reader(text)()
		keep(t, key, text, rows)
		same(t, key, text, rows)
	}
	keep(t, mutants.PreparedKey, mutants.From(), mutants.Parse())
	same(t, mutants.PreparedKey, mutants.From(), mutants.Parse())
}

// same checks that what was prepared is a value.
func same[T any](t *testing.T, key string, input []byte, want T) {
	t.Helper()
	var have T
	if *update {
		return
	}
	if !prepared.Get(key, input, &have) {
		t.Errorf("%s is not prepared", key)
	}
	if diff := cmp.Diff(want, have, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: what is prepared differs from the file (-file +prepared):\n%s", key, diff)
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
