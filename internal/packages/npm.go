package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed launcher.js
var launcher []byte

// manifest is a package.json.
type manifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     string            `json:"license"`
	OS          []string          `json:"os,omitzero"`
	CPU         []string          `json:"cpu,omitzero"`
	Bin         map[string]string `json:"bin,omitzero"`
	Engines     map[string]string `json:"engines,omitzero"`
	Optional    map[string]string `json:"optionalDependencies,omitzero"`
	Unplugged   bool              `json:"preferUnplugged,omitzero"` // Yarn must unpack it
}

// platformName is the npm package that carries the program of a platform.
func (r release) platformName(p platform) string { return r.npmName + "-" + p.os + "-" + p.cpu }

// launcherPackage is the npm package that people name: a script that starts the program. npm installs, of the packages
// that carry one, that of the platform.
func (r release) launcherPackage() []entry {
	m := r.manifest(r.npmName)
	m.Bin = map[string]string{"parley": "parley.js"}
	m.Engines = map[string]string{"node": ">=18"}
	m.Optional = map[string]string{}
	for _, p := range platforms {
		m.Optional[r.platformName(p)] = r.version
	}
	return r.npmPackage(m, entry{"parley.js", 0o755, launcher})
}

// platformPackage is the npm package that carries the program.
func (r release) platformPackage() []entry {
	m := r.manifest(r.platformName(r.platform))
	m.OS, m.CPU, m.Unplugged = []string{r.os}, []string{r.cpu}, true
	return r.npmPackage(m, entry{"bin/" + r.executable(), 0o755, r.program})
}

func (r release) manifest(name string) manifest {
	return manifest{Name: name, Version: r.version, Description: summary, License: "SEE LICENSE IN LICENSE"}
}

func (r release) npmPackage(m manifest, program entry) []entry {
	text, err := json.Marshal(m, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		panic(err) // strings, lists and maps of strings
	}
	return []entry{{"package.json", 0o644, append(text, '\n')}, {"README.md", 0o644, readme},
		{"LICENSE", 0o644, r.license}, program}
}

// tarballName is what `npm pack` calls a package.
func tarballName(name, version string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + "-" + version + ".tgz"
}

// packTarball packs an npm package. The same files make the same bytes.
func packTarball(files []entry) ([]byte, error) {
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{Name: "package/" + f.name, Mode: int64(f.mode), Size: int64(len(f.content)),
			ModTime: time.Unix(0, 0)})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err := zipped.Close()
	return b.Bytes(), err
}
