package style

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// nodes are the nodes of the package diagram: a pattern of import paths, an id and a name. The first match counts.
var nodes = []struct{ of, id, name string }{
	{`cmd/parley`, "cmd", "cmd/parley"},
	{`cli`, "cli", "cli"},
	{`doctor.*`, "doctor", "doctor"},
	{`probe`, "probe", "probe"},
	{`runner.*`, "runner", "runner"},
	{`reports`, "reports", "reports"},
	{`certificate.*`, "certificate", "certificate"},
	{`steps`, "steps", "steps"},
	{`steps/.*`, "protocols", "steps/‹protocol›"},
	{`features`, "features", "features"},
	{`monitor`, "monitor", "monitor"},
	{`verdict`, "verdict", "verdict"},
	{`target`, "target", "target"},
	{`driver.*`, "driver", "transport/driver/‹transport›"},
	{`transcript`, "transcript", "transcript"},
	{`wire/.*`, "wire", "transport/wire/sse, ws, json"},
	{`reference-server/(bundled|launch|.*/bundle)`, "bundle", "reference-server/launch, bundle"},
	{`reference-server/(catalogue|.*/mutants)`, "mutants", "reference-server/…/mutants"},
	{`reference-server/.*`, "servers", "reference-server/‹protocol›"},
	{`llm.*`, "llm", "llm, internal/llm/stub, internal/llm/openai"},
	{`protocol/.*`, "protocol", "protocol/‹protocol›"},
}

const (
	pictured = "../../docs/architecture.md"
	begins   = "```mermaid\n"
	ends     = "```\n"
)

// TestPackages compares the package diagram in docs/architecture.md with `go list`. -update redraws it.
func TestPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.FromSlash(pictured))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begins)
	was, after, ended := strings.Cut(rest, ends)
	if !found || !ended {
		t.Fatalf("%s has no picture", pictured)
	}
	is := picture(imports(string(out)))
	switch {
	case is == was:
	case *update:
		if err := os.WriteFile(filepath.FromSlash(pictured), []byte(before+begins+is+ends+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the picture in %s is out of date: go test ./internal/style -run TestPackages -update", pictured)
	}
}

// TestPackagesInWords checks that docs/architecture.md describes every package. Packages that each protocol has are
// described once, as in steps/<protocol>/probe.
func TestPackagesInWords(t *testing.T) {
	out, err := exec.Command("go", "list", "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.FromSlash(pictured))
	if err != nil {
		t.Fatal(err)
	}
	of := regexp.MustCompile(`/(agentselect|agentclient|sessionchat|sessionruntime|externalagent)\b`)
	for path := range strings.Lines(string(out)) {
		path, ours := strings.CutPrefix(strings.TrimSpace(path), "parley/")
		party := strings.HasSuffix(path, "/mutants") || strings.HasPrefix(path, "reference-server/externalagent/")
		if !ours || party || strings.Contains(string(text), "`"+path+"`") ||
			strings.Contains(string(text), "`"+of.ReplaceAllString(path, "/<protocol>")+"`") {
			continue
		}
		t.Errorf("%s does not say what lives in %s", pictured, path)
	}
}

// TestSmallProgram checks that NATS is in the program that spreads a load, and in no other.
func TestSmallProgram(t *testing.T) {
	for program, has := range map[string]bool{"parley": false, "parley-load": true} {
		out, err := exec.Command("go", "list", "-deps", "../../cmd/"+program).Output()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), "github.com/nats-io/") != has {
			t.Errorf("cmd/%s imports NATS: want %v", program, has)
		}
	}
}

// imports returns the imports between nodes, by id.
func imports(list string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for line := range strings.Lines(list) {
		paths := strings.Fields(line)
		from := nodeOf(paths[0])
		if from == "" {
			continue
		}
		if all[from] == nil {
			all[from] = map[string]bool{}
		}
		for _, path := range paths[1:] {
			if to := nodeOf(path); to != "" && to != from {
				all[from][to] = true
			}
		}
	}
	return all
}

// nodeOf returns the id of the node that contains a package, or "".
func nodeOf(path string) string {
	ours, is := strings.CutPrefix(path, "parley/")
	for _, n := range nodes {
		if is && regexp.MustCompile(`^(`+n.of+`)$`).MatchString(ours) {
			return n.id
		}
	}
	return ""
}

// picture draws the nodes, and an arrow for each import that no other path implies.
func picture(all map[string]map[string]bool) string {
	var b strings.Builder
	b.WriteString("graph TD\n")
	for _, n := range nodes {
		fmt.Fprintf(&b, "  %s[\"%s\"]\n", n.id, n.name)
	}
	for _, n := range nodes {
		for _, to := range slices.Sorted(maps.Keys(all[n.id])) {
			follows := false
			for via := range all[n.id] {
				follows = follows || via != to && reaches(all, via, to)
			}
			if !follows {
				fmt.Fprintf(&b, "  %s --> %s\n", n.id, to)
			}
		}
	}
	return b.String()
}

// reaches reports whether a node imports another directly or indirectly.
func reaches(all map[string]map[string]bool, from, to string) bool {
	for next := range all[from] {
		if next == to || reaches(all, next, to) {
			return true
		}
	}
	return false
}
