package image

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/internal/tier"
)

// stage is a stage of a Dockerfile with its instructions, each on one line.
type stage struct {
	base, name   string
	instructions []string
}

// values returns what follows an instruction of this name, each time.
func (s stage) values(instruction string) (all []string) {
	for _, line := range s.instructions {
		if value, ok := strings.CutPrefix(line, instruction+" "); ok {
			all = append(all, value)
		}
	}
	return all
}

const root = "../.."

// stages reads the Dockerfile.
func stages(t *testing.T) (all []stage) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	from := regexp.MustCompile(`^FROM (\S+) AS (\S+)$`)
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
		line = strings.TrimSpace(line)
		m := from.FindStringSubmatch(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case m != nil:
			all = append(all, stage{base: m[1], name: m[2]})
		case strings.HasPrefix(line, "FROM ") || len(all) == 0:
			t.Fatalf("not a stage with a name: %s", line)
		default:
			all[len(all)-1].instructions = append(all[len(all)-1].instructions, line)
		}
	}
	return all
}

// ignored returns the patterns of .dockerignore.
func ignored(t *testing.T) patterns {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

type patterns []string

// match reports whether a path, or a folder that it is in, matches a pattern.
func (p patterns) match(name string) bool {
	for at := path.Clean(name); at != "."; at = path.Dir(at) {
		if slices.ContainsFunc(p, func(one string) bool { ok, err := path.Match(one, at); return ok || err != nil }) {
			return true
		}
	}
	return false
}

// TestDockerfile: what the images copy is in the tree or from an earlier stage, and they do not run as root. No engine
// is asked.
func TestDockerfile(t *testing.T) {
	all, left := stages(t), ignored(t)
	var names []string
	for _, s := range all {
		for _, value := range s.values("COPY") {
			words := strings.Fields(value)
			from := ""
			for ; strings.HasPrefix(words[0], "--"); words = words[1:] {
				if stage, ok := strings.CutPrefix(words[0], "--from="); ok {
					from = stage
				}
			}
			if from != "" && !slices.Contains(names, from) {
				t.Errorf("%s: %q is no earlier stage: COPY %s", s.name, from, value)
			}
			for _, source := range words[:len(words)-1] {
				if _, err := os.Stat(filepath.Join(root, source)); from == "" && (err != nil || left.match(source)) {
					t.Errorf("%s: %s is not sent to the engine (%v)", s.name, source, err)
				}
			}
		}
		names = append(names, s.name)
	}
	if !slices.Equal(names, []string{"build", "chromium", "pages", "plain"}) {
		t.Errorf("the stages are %q; the last one is built without --target", names)
	}
	for _, s := range all[2:] {
		if !slices.Equal(s.values("USER"), []string{"65532:65532"}) ||
			!slices.Equal(s.values("ENTRYPOINT"), []string{`["/usr/bin/parley"]`}) {
			t.Errorf("the image %s runs as root, or something else: %q", s.name, s.instructions)
		}
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	needs := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	if len(needs) != 2 || all[0].base != "golang:"+string(needs[1]) {
		t.Errorf("the build is from %s, and go.mod needs Go %s", all[0].base, needs)
	}
}

// TestImageBuild runs the commands of the build stage on what the engine is sent, in a folder: the program is whole,
// without git and without anything that .dockerignore leaves out.
func TestImageBuild(t *testing.T) {
	tier.Long(t)
	dir := t.TempDir()
	source := filepath.Join(dir, "src")
	tree, left := os.DirFS(root), ignored(t)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case left.match(name) && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(source, name), 0o755)
		case left.match(name):
			return nil
		}
		b, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(source, name), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range stages(t)[0].values("RUN") {
		if command == "go mod download" { // what is there is enough
			continue
		}
		inFolder := regexp.MustCompile(` /(parley|empty)\b`).ReplaceAllString(command, " "+dir+"/$1")
		cmd := exec.Command("sh", "-ec", inFolder)
		cmd.Dir = source
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "empty")); err != nil || !info.IsDir() {
		t.Errorf("the folder for /tmp and /work: %v", err)
	}
	empty := t.TempDir() // the plain image has no shell and no other program
	run := exec.Command(filepath.Join(dir, "parley"), "list", "--protocol", "agent-select")
	run.Dir, run.Env = empty, []string{"PATH=" + empty}
	if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "AS-042") {
		t.Errorf("the program: %v\n%s", err, out)
	}
}
