package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
)

// pack runs the command that a release runs for each of its programs, with their names as content, and returns the
// folder of the packages.
func pack(t *testing.T, version string) string {
	t.Helper()
	var release struct {
		Builds []struct {
			Goos, Goarch []string
			Hooks        struct{ Post []string }
		}
	}
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &release); err != nil {
		t.Fatal(err)
	}
	out, program := t.TempDir(), filepath.Join(t.TempDir(), "program")
	t.Chdir("../..")
	for _, goos := range release.Builds[0].Goos {
		for _, goarch := range release.Builds[0].Goarch {
			if err := os.WriteFile(program, []byte(goos+" "+goarch), 0o755); err != nil {
				t.Fatal(err)
			}
			line := strings.NewReplacer("{{ .Version }}", version, "{{ .Os }}", goos, "{{ .Arch }}", goarch,
				"{{ .Path }}", program, "bin/dist/packages", out).Replace(release.Builds[0].Hooks.Post[0])
			args, ok := strings.CutPrefix(line, "go run ./internal/packages ")
			if !ok || strings.Contains(args, "{{") {
				t.Fatalf("the release runs %q", line)
			}
			if err := run(strings.Fields(args)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// TestReleased: a release has one npm package and one wheel for each platform, named so that installers choose, and an
// npm package that depends on these.
func TestReleased(t *testing.T) {
	dir := pack(t, "1.2.3-rc.1")
	programs := map[string]string{
		"parley-linux-x64-1.2.3-rc.1.tgz":    "linux amd64",
		"parley-linux-arm64-1.2.3-rc.1.tgz":  "linux arm64",
		"parley-darwin-x64-1.2.3-rc.1.tgz":   "darwin amd64",
		"parley-darwin-arm64-1.2.3-rc.1.tgz": "darwin arm64",
		"parley-win32-x64-1.2.3-rc.1.tgz":    "windows amd64",
		"parley-win32-arm64-1.2.3-rc.1.tgz":  "windows arm64",
		"parley-1.2.3-rc.1.tgz":              "",
		"parley-1.2.3rc1-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl":    "linux amd64",
		"parley-1.2.3rc1-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl": "linux arm64",
		"parley-1.2.3rc1-py3-none-macosx_12_0_x86_64.whl":                                                 "darwin amd64",
		"parley-1.2.3rc1-py3-none-macosx_12_0_arm64.whl":                                                  "darwin arm64",
		"parley-1.2.3rc1-py3-none-win_amd64.whl":                                                          "windows amd64",
		"parley-1.2.3rc1-py3-none-win_arm64.whl":                                                          "windows arm64",
	}
	var names []string
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	if want := slices.Sorted(maps.Keys(programs)); !slices.Equal(names, want) {
		t.Fatalf("the packages are\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	carriers := map[string]string{}
	for name, program := range programs {
		switch {
		case strings.HasSuffix(name, ".whl"):
			checkWheel(t, filepath.Join(dir, name), program)
		case program != "":
			m := checkCarrier(t, filepath.Join(dir, name), program)
			carriers[m.Name] = m.Version
		}
	}
	var m manifest
	main := untar(t, filepath.Join(dir, "parley-1.2.3-rc.1.tgz"))
	if err := json.Unmarshal(main["package.json"].content, &m); err != nil {
		t.Fatal(err)
	}
	if m.Name != "parley" || m.Version != "1.2.3-rc.1" || !reflect.DeepEqual(m.Optional, carriers) {
		t.Errorf("the package is %+v, and should depend on %v", m, carriers)
	}
	if script := main[m.Bin["parley"]]; !bytes.Equal(script.content, launcher) || script.mode != 0o755 {
		t.Errorf("the script of the package is %q", m.Bin)
	}
}

// checkCarrier checks the npm package of a platform, and returns its manifest.
func checkCarrier(t *testing.T, file, program string) (m manifest) {
	t.Helper()
	files := untar(t, file)
	if err := json.Unmarshal(files["package.json"].content, &m); err != nil {
		t.Fatal(err)
	}
	if name := "parley-" + m.OS[0] + "-" + m.CPU[0]; m.Name != name || len(m.OS)+len(m.CPU) != 2 {
		t.Errorf("%s: the package is %s, and installed on %q, %q", file, m.Name, m.OS, m.CPU)
	}
	executable := "bin/parley"
	if m.OS[0] == "win32" {
		executable += ".exe"
	}
	if is := files[executable]; string(is.content) != program || is.mode != 0o755 {
		t.Errorf("%s: %s is %q, %v", file, executable, is.content, is.mode)
	}
	if len(files["LICENSE"].content) == 0 || len(files["README.md"].content) == 0 {
		t.Errorf("%s has no license or no description", file)
	}
	return m
}

// untar returns the files of an npm package.
func untar(t *testing.T, file string) map[string]entry {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]entry{}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(h.Name, "package/")
		if !ok {
			t.Errorf("%s: %s is outside of its folder", file, h.Name)
		}
		files[name] = entry{name, fs.FileMode(h.Mode), b}
	}
}

// checkWheel checks a wheel: its tags are those of its name, its RECORD lists what is in it, and the program is a
// script.
func checkWheel(t *testing.T, file, program string) {
	t.Helper()
	r, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	const info = "parley-1.2.3rc1.dist-info/"
	contents, recorded := map[string]string{}, ""
	for _, f := range r.File {
		part, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		contents[f.Name] = string(b)
		sum := sha256.Sum256(b)
		if f.Name == info+"RECORD" {
			recorded += f.Name + ",,\n"
		} else {
			recorded += fmt.Sprintf("%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(b))
		}
		if strings.Contains(f.Name, "/scripts/") && (string(b) != program || f.Mode() != 0o755) {
			t.Errorf("%s: %s is %q, %v", file, f.Name, b, f.Mode())
		}
	}
	if contents[info+"RECORD"] != recorded {
		t.Errorf("%s: the RECORD is\n%s\nwant\n%s", file, contents[info+"RECORD"], recorded)
	}
	script := "parley-1.2.3rc1.data/scripts/parley"
	if strings.HasPrefix(program, "windows") {
		script += ".exe"
	}
	if contents[script] == "" || !strings.Contains(contents[info+"METADATA"], "\nName: parley\nVersion: 1.2.3rc1\n") {
		t.Errorf("%s has no %s, or its METADATA is\n%s", file, script, contents[info+"METADATA"])
	}
	_, platforms, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".whl"), "-py3-none-")
	tags := "Tag: py3-none-" + strings.ReplaceAll(platforms, ".", "\nTag: py3-none-") + "\n"
	if !strings.HasSuffix(contents[info+"WHEEL"], "Root-Is-Purelib: false\n"+tags) {
		t.Errorf("%s: the tags are\n%s\nwant\n%s", file, contents[info+"WHEEL"], tags)
	}
}

// TestNames: whoever publishes may name the packages otherwise.
func TestNames(t *testing.T) {
	t.Setenv("NPM_NAME", "@you/parley")
	t.Setenv("PYTHON_NAME", "Your.parley-cli")
	dir := pack(t, "1.0.0-SNAPSHOT-0ab")
	for _, name := range []string{"you-parley-1.0.0-SNAPSHOT-0ab.tgz", "you-parley-win32-x64-1.0.0-SNAPSHOT-0ab.tgz",
		"your_parley_cli-1.0.0.dev0+snapshot.0ab-py3-none-win_amd64.whl"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	m := untar(t, filepath.Join(dir, "you-parley-1.0.0-SNAPSHOT-0ab.tgz"))["package.json"].content
	if !bytes.Contains(m, []byte(`"@you/parley-linux-x64": "1.0.0-SNAPSHOT-0ab"`)) {
		t.Errorf("the package is %s", m)
	}
}

// TestMistakes: what is not given or not known is named.
func TestMistakes(t *testing.T) {
	t.Chdir("../..")
	for _, tt := range []struct{ args, says string }{
		{"--version 1.0.0", "0 files are given"},
		{"--version 1.0.0 --os plan9 --arch mips x", "no packages for plan9/mips"},
		{"--version 1.0.0 no-such-program", "no-such-program"},
		{"--version v1.0.0 LICENSE", `"v1.0.0": not a semantic version`},
		{"LICENSE", `"": not a semantic version`},
	} {
		err := run(append([]string{"--out", t.TempDir()}, strings.Fields(tt.args)...))
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.args, err, tt.says)
		}
	}
}
