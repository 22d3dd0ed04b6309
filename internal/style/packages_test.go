package style

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rooms are the rooms of the house from the top to the bottom: a pattern of import paths, an id and a name. The rest of
// internal is what any room may use.
var rooms = []struct{ of, id, name string }{
	{`parley/cmd(/.*)?`, "cmd", "cmd"},
	{`parley`, "parley", "package parley"},
	{`parley/internal/(cli|bench|differential)`, "cli", "internal/cli, bench, differential"},
	{`parley/simulator(/.*)?`, "simulator", "simulator"},
	{`parley/reference-server/.*`, "servers", "reference-server"},
	{`parley/runner(/.*)?`, "runner", "runner"},
	{`parley/reports(/.*)?`, "reports", "reports"},
	{`parley/steps(/.*)?`, "steps", "steps"},
	{`parley/features(/.*)?`, "features", "features"},
	{`parley/target(/.*)?`, "target", "target"},
	{`parley/transport/.*`, "transport", "transport"},
	{`parley/protocol/.*`, "protocol", "protocol"},
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

// TestRooms checks that no import runs upward between rooms, that what rooms use of internal imports none of them, and
// that the house has no more rooms than a look takes in.
func TestRooms(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	used, asks := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		paths := strings.Fields(line)
		from := roomOf(paths[0])
		for _, path := range paths[1:] {
			to := roomOf(path)
			switch {
			case from >= 0 && to >= 0 && to < from:
				t.Errorf("%s imports %s, which is above it: %s is below %s", paths[0], path, rooms[from].name, rooms[to].name)
			case from >= 0 && to < 0:
				used[path] = paths[0]
			case from < 0 && to >= 0:
				asks[paths[0]] = path
			}
		}
	}
	for path, by := range used {
		if room := asks[path]; room != "" {
			t.Errorf("%s imports %s, and is used by %s: what a room uses of internal imports no room", path, room, by)
		}
	}
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && name[0] != '.' && name != "bin" && name != "parley-results" && holdsFiles(t, name) {
			folders = append(folders, name)
		}
	}
	if len(folders) > 14 {
		t.Errorf("%d top-level folders, want 14 at most: %s", len(folders), strings.Join(folders, ", "))
	}
}

// holdsFiles reports whether there is a file in a top-level folder or below: git leaves empty ones.
func holdsFiles(t *testing.T, folder string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(filepath.Join("..", "..", folder), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found, err = true, filepath.SkipAll
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestPackagesInWords checks that every package says in its doc comment what it is, for readers of go doc, and that
// docs/architecture.md has a row for every top-level folder.
func TestPackagesInWords(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}:{{len .GoFiles}}:{{.Doc}}`, "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.FromSlash(pictured))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if part[1] != "0" && part[2] == "" {
			t.Errorf("%s does not say what it is", part[0])
		}
		room, _, _ := strings.Cut(strings.TrimPrefix(part[0], "parley/"), "/")
		if !strings.Contains(string(text), "\n| `"+room+"` | ") && part[0] != "parley" {
			t.Errorf("%s has no row for %s", pictured, room)
		}
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

// TestOneJSON checks that JSON is read and written with one library: encoding/json takes a name in any case, and the
// last of two members, where verdicts depend on that. Whoever needs its type of numbers finds it in jsonform.
func TestOneJSON(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var importing []string
	for line := range strings.Lines(string(out)) {
		if paths := strings.Fields(line); slices.Contains(paths[1:], "encoding/json") {
			importing = append(importing, paths[0])
		}
	}
	if want := []string{"parley/internal/jsonform"}; !slices.Equal(importing, want) {
		t.Errorf("encoding/json is imported by %q, want %q alone: docs/architecture.md says why", importing, want)
	}
}

// imports returns the imports between rooms, by id.
func imports(list string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for line := range strings.Lines(list) {
		paths := strings.Fields(line)
		from := roomOf(paths[0])
		if from < 0 {
			continue
		}
		id := rooms[from].id
		if all[id] == nil {
			all[id] = map[string]bool{}
		}
		for _, path := range paths[1:] {
			if to := roomOf(path); to > from {
				all[id][rooms[to].id] = true
			}
		}
	}
	return all
}

// roomOf returns the index of the room that contains a package, or -1.
func roomOf(path string) int {
	return slices.IndexFunc(rooms, func(r struct{ of, id, name string }) bool {
		return regexp.MustCompile(`^(` + r.of + `)$`).MatchString(path)
	})
}

// picture draws the rooms, and an arrow for each import that no other path implies.
func picture(all map[string]map[string]bool) string {
	var b strings.Builder
	b.WriteString("graph TD\n")
	for _, n := range rooms {
		fmt.Fprintf(&b, "  %s[\"%s\"]\n", n.id, n.name)
	}
	for _, n := range rooms {
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
