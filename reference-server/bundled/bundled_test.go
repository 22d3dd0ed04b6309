package bundled_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"parley/reference-server/bundled"
	"parley/steps/protocols"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryRole checks that every role of every judged protocol is bundled: it can be launched, has mutants, and can
// be served.
func TestEveryRole(t *testing.T) {
	if got, want := bundled.All.Protocols(), protocols.All.Names(); len(got) != len(want) {
		t.Errorf("bundled are %v, and judged are %v", got, want)
	}
	kinds := protocols.Kinds()
	for _, protocol := range protocols.All.Names() {
		for _, role := range protocols.All.Roles(protocol) {
			r := bundled.All.Find(protocol).Role(role)
			if r == nil {
				t.Errorf("%s %s is not bundled", protocol, role)
				continue
			}
			correct, faulty := bundled.All.For(kinds, protocol, role).Profile, bundled.All.MutantProfile(kinds, protocol, role)
			if correct.Protocol != protocol || correct.Role != role || faulty.Protocol != protocol || faulty.Role != role {
				t.Errorf("the profiles of %s %s have the roles %s and %s", protocol, role, correct.Role, faulty.Role)
			}
			if (r.Make == nil) == (r.Launcher == nil) || len(bundled.All.Mutants(kinds, protocol, role)) == 0 {
				t.Errorf("%s %s: it has to have Make or Launcher, and mutants", protocol, role)
			}
			serving := r.Serve.Flags(pflag.NewFlagSet(role, pflag.ContinueOnError))
			if notServer := r.Serve.NotServer != ""; notServer != (serving.Make == nil) || notServer && serving.Run == nil ||
				(serving.Speaks != nil) != (serving.Run != nil && serving.Make != nil) {
				t.Errorf("%s %s: what does not serve runs, and what may speak does both", protocol, role)
			}
		}
		if first := bundled.All.Find(protocol).Role("").Name; first != protocols.All.Roles(protocol)[0] {
			t.Errorf("%s: the role %s is bundled first", protocol, first)
		}
	}
	if bundled.All.For(kinds, "carrier-pigeon", "") != nil || bundled.All.Find("external-agent").Role("server") != nil {
		t.Error("what is not there is made")
	}
}

// TestStepsKnowNoTarget checks that the judging packages import none of the bundled targets.
func TestStepsKnowNoTarget(t *testing.T) {
	for _, folder := range []string{"transport", "target", "features", "steps", "reports", "runner"} {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), `"parley/reference-server/`) {
				t.Errorf("%s imports a bundled target", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestWalls checks that the bundled servers and their mutants share with the harness only the vocabulary and the
// model, and nothing that reads or judges. The launching packages know targets and runs, but no steps.
func TestWalls(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		seen++
		barred := []string{"transport", "features", "steps", "reports", "runner", "simulator", "target"}
		if folder := filepath.Base(filepath.Dir(path)); folder == "launch" || folder == "bundle" {
			barred = slices.DeleteFunc(barred, func(name string) bool { return name == "runner" || name == "target" })
		}
		for _, i := range file.Imports {
			name, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "parley/")
			if first, _, _ := strings.Cut(name, "/"); ours && slices.Contains(barred, first) {
				t.Errorf("%s imports parley/%s", path, name)
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files, %v", seen, err)
	}
}
