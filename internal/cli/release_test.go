package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/tier"
)

// release is what a test needs of .goreleaser.yaml.
type release struct {
	Before struct{ Hooks []string }
	Builds []struct {
		Main           string
		Env            []string
		Goos, Goarch   []string
		Flags, Ldflags []string
	}
	Archives []struct{ Files []string }
	Nfpms    []struct {
		Contents []struct{ Src, Dst string }
	}
	Casks []struct {
		Completions map[string]string
		Manpages    []string
	} `yaml:"homebrew_casks"`
}

// files are the files and patterns that a release takes from the tree.
func (r release) files() (all []string) {
	for _, b := range r.Builds {
		all = append(all, b.Main)
	}
	for _, a := range r.Archives {
		all = append(all, a.Files...)
	}
	for _, p := range r.Nfpms {
		for _, c := range p.Contents {
			all = append(all, c.Src)
		}
	}
	for _, c := range r.Casks {
		all = append(all, c.Manpages...)
		for _, file := range c.Completions {
			all = append(all, file)
		}
	}
	return all
}

// TestReleaseFiles: what a release takes from the tree is there, or made by its own commands, which run here in an
// empty folder.
func TestReleaseFiles(t *testing.T) {
	var r release
	packaging(t, ".goreleaser.yaml", &r)
	var programs []string
	for _, b := range r.Builds {
		if programs = append(programs, b.Main); !slices.Contains(b.Env, "CGO_ENABLED=0") {
			t.Errorf("%s is not static", b.Main)
		}
	}
	if !slices.Equal(programs, []string{"./cmd/parley", "./cmd/parley-load"}) {
		t.Errorf("the programs of the release are %q", programs)
	}
	made := t.TempDir()
	for _, hook := range r.Before.Hooks {
		if strings.HasPrefix(hook, "go mod ") {
			continue
		}
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(hook, "go run ./cmd/parley", "parley"))
		cmd.Dir = made
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", hook, err, out)
		}
	}
	files := r.files()
	for _, f := range files {
		from := filepath.Join("..", "..")
		if strings.HasPrefix(f, "bin/") {
			from = made
		}
		found, err := filepath.Glob(filepath.Join(from, f))
		if err != nil || len(found) == 0 {
			t.Errorf("there is no %s (%v)", f, err)
		}
		for _, one := range found {
			if info, err := os.Stat(one); err != nil || info.Size() == 0 {
				t.Errorf("%s is empty: %v", one, err)
			}
		}
	}
	if made := slices.IndexFunc(files, func(f string) bool { return strings.HasPrefix(f, "bin/man/") }); made < 0 {
		t.Errorf("a release has no man pages but %q", files)
	}
}

// releaseKeys are the keys of .goreleaser.yaml. goreleaser 2.15 knows them.
const releaseKeys = `
	version project_name dist before.hooks
	builds.id builds.main builds.binary builds.env builds.goos builds.goarch builds.flags builds.ldflags
	builds.mod_timestamp builds.hooks.post
	archives.id archives.ids archives.name_template archives.formats archives.files
	archives.format_overrides.goos archives.format_overrides.formats
	checksum.name_template checksum.algorithm checksum.extra_files.glob release.extra_files.glob sboms.artifacts
	nfpms.id nfpms.ids nfpms.package_name nfpms.formats nfpms.maintainer nfpms.description nfpms.license nfpms.suggests
	nfpms.contents.src nfpms.contents.dst
	homebrew_casks.name homebrew_casks.ids homebrew_casks.description homebrew_casks.repository.owner
	homebrew_casks.repository.name homebrew_casks.completions.bash homebrew_casks.completions.zsh
	homebrew_casks.completions.fish homebrew_casks.manpages`

// TestReleaseKeys: a key that goreleaser does not know would stop a release on the day.
func TestReleaseKeys(t *testing.T) {
	var doc any
	packaging(t, ".goreleaser.yaml", &doc)
	used := map[string]bool{}
	keysOf(doc, "", used)
	known := strings.Fields(releaseKeys)
	for key := range used {
		if !slices.Contains(known, key) {
			t.Errorf("%s is not known to be a key of goreleaser (try `goreleaser check`, then list it)", key)
		}
	}
	for _, key := range known {
		if !used[key] {
			t.Errorf("%s is listed, and not used", key)
		}
	}
}

// keysOf adds the paths of keys whose values hold no further ones.
func keysOf(v any, path string, used map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			keysOf(value, strings.TrimPrefix(path+"."+key, "."), used)
		}
	case []any:
		for _, one := range v {
			keysOf(one, path, used)
		}
	default:
		used[path] = true
	}
}

// TestCrossCompiles builds every program of a release.
func TestCrossCompiles(t *testing.T) {
	tier.Night(t)
	var r release
	packaging(t, ".goreleaser.yaml", &r)
	for _, system := range r.Builds[0].Goos {
		for _, machine := range r.Builds[0].Goarch {
			t.Run(system+"-"+machine, func(t *testing.T) {
				args := append([]string{"build", "-o", t.TempDir()}, r.Builds[0].Flags...)
				args = append(args, "-ldflags", strings.Join(r.Builds[0].Ldflags, " "))
				for _, b := range r.Builds {
					args = append(args, b.Main)
				}
				cmd := exec.Command("go", args...)
				cmd.Dir = filepath.Join("..", "..")
				cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
