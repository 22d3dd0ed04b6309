package sources

import (
	"testing"
	"testing/fstest"
)

// TestDigest: comments, lines, tests, catalogues and the targets of other roles do not count; all else does.
func TestDigest(t *testing.T) {
	base := map[string]string{
		"steps/externalagent/steps.go":                    "package externalagent\n\nvar a = 1\n",
		"reference-server/externalagent/bundle/bundle.go": "package bundle\n",
		"reference-server/externalagent/host/host.go":     "package host\n",
		"reference-server/externalagent/host/page.js":     "// a page\n",
		"reference-server/externalagent/relay/relay.go":   "package relay\n",
	}
	of := func(name, text string) string {
		t.Helper()
		files := fstest.MapFS{}
		for n, body := range base {
			files[n] = &fstest.MapFile{Data: []byte(body)}
		}
		if name != "" {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		sum, err := Digest(files, "external-agent", "host")
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	before := of("", "")
	for _, tt := range []struct {
		name, text string
		counts     bool
	}{
		{"steps/externalagent/steps.go", "package externalagent\n\n// a is one.\nvar a = 1 // really\n", false},
		{"steps/externalagent/steps.go", "package externalagent\n\nvar a = 2\n", true},
		{"steps/externalagent/steps_test.go", "package externalagent\n", false},
		{"steps/externalagent/more.go", "package externalagent\n", true},
		{"reference-server/externalagent/host/mutants/catalogue.yaml", "x: 1\n", false},
		{"reference-server/externalagent/host/page.js", "// another page\n", true},
		{"reference-server/externalagent/relay/relay.go", "package relay\n\nvar a = 1\n", false},
		{"reference-server/externalagent/host/host.go", "package host\n\nvar a = 1\n", true},
	} {
		if changed := of(tt.name, tt.text) != before; changed != tt.counts {
			t.Errorf("%s with %q: the digest changes: %v", tt.name, tt.text, changed)
		}
	}
	if _, err := Digest(fstest.MapFS{}, "external-agent", "host"); err == nil {
		t.Error("no folder of the protocol is no error")
	}
}

// TestFiles: what matches a pattern counts, but for comments in Go; a pattern that matches nothing is an error.
func TestFiles(t *testing.T) {
	of := func(style, code string) string {
		t.Helper()
		sum, err := Files(fstest.MapFS{"page/style.css": {Data: []byte(style)}, "code.go": {Data: []byte(code)},
			"other.go": {Data: []byte(style)}}, "page/*", "code.go")
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	before := of("a {}", "package a\n")
	if of("b {}", "package a\n") == before || of("a {}", "package b\n") == before {
		t.Error("a change does not count")
	}
	if of("a {}", "// Package a is commented.\npackage a\n") != before {
		t.Error("a comment counts")
	}
	if _, err := Files(fstest.MapFS{}, "page/*"); err == nil {
		t.Error("a pattern without files is no error")
	}
}
