package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// wheel is a wheel of the binary distribution format 1.0: the program is a script in its .data folder, which installers
// copy next to Python's own. It returns the wheel's file name and its files.
func (r release) wheel() (name string, files []entry, err error) {
	version, err := pythonVersion(r.version)
	if err != nil {
		return "", nil, err
	}
	base := strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(r.pyName, "_")) + "-" + version
	metadata := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: %s\nLicense: See LICENSE\n"+
		"Description-Content-Type: text/markdown\n\n%s", r.pyName, version, summary, readme)
	about := "Wheel-Version: 1.0\nGenerator: parley/internal/packages\nRoot-Is-Purelib: false\n"
	for _, tag := range r.tags {
		about += "Tag: py3-none-" + tag + "\n"
	}
	info := base + ".dist-info/"
	files = []entry{
		{base + ".data/scripts/" + r.executable(), 0o755, r.program},
		{info + "LICENSE", 0o644, r.license},
		{info + "METADATA", 0o644, []byte(metadata)},
		{info + "WHEEL", 0o644, []byte(about)},
	}
	files = append(files, entry{info + "RECORD", 0o644, record(files, info+"RECORD")})
	return base + "-py3-none-" + strings.Join(r.tags, ".") + ".whl", files, nil
}

// record lists the files of a wheel with their digests; itself without one.
func record(files []entry, itself string) []byte {
	var b strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	return []byte(b.String() + itself + ",,\n")
}

var (
	semantic   = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(?:(alpha|beta|rc)\.?(\d+)|([0-9A-Za-z.-]+)))?$`)
	prerelease = map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}
)

// pythonVersion returns a semantic version in the words of PEP 440. What is neither a release nor alpha, beta or rc, as
// a snapshot, becomes a development release.
func pythonVersion(version string) (string, error) {
	m := semantic.FindStringSubmatch(version)
	switch {
	case m == nil:
		return "", fmt.Errorf("--version %q: not a semantic version (as 1.2.3 or 1.2.3-rc.1)", version)
	case m[2] != "":
		return m[1] + prerelease[m[2]] + m[3], nil
	case m[4] != "":
		return m[1] + ".dev0+" + strings.ToLower(strings.ReplaceAll(m[4], "-", ".")), nil
	}
	return m[1], nil
}

// packWheel packs a wheel. The same files make the same bytes.
func packWheel(files []entry) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		h.SetMode(f.mode)
		part, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
