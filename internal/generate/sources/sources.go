// Package sources has the digests of what derived files are of: the code of a kill matrix, the files of a picture.
package sources

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/scanner"
	"go/token"
	"hash"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// parties are the folders of targets that only one role of a protocol has.
var parties = []string{"host", "relay", "agent"}

// texts are the endings of files that no program runs.
var texts = []string{".yaml", ".md"}

// Digest returns "sha256:<hex>" of the code of a protocol that judges targets of a role, and of these, below the root
// of the module: comments, tests and catalogues do not count, of which the latter are in runner.ProofDigest.
func Digest(root fs.FS, protocol, role string) (string, error) {
	folder := strings.ReplaceAll(protocol, "-", "")
	h := sha256.New()
	for _, top := range []string{path.Join("steps", folder), path.Join("reference-server", folder)} {
		err := fs.WalkDir(root, top, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || d.Name() != role && slices.Contains(parties, d.Name())):
				return fs.SkipDir
			case d.IsDir() || strings.HasSuffix(name, "_test.go") || slices.Contains(texts, path.Ext(name)):
				return nil
			}
			return hashFile(h, root, name)
		})
		if err != nil {
			return "", err
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// Files returns "sha256:<hex>" of the files below root that match a pattern of path.Match; comments in Go do not count.
// A pattern that matches no file is an error.
func Files(root fs.FS, patterns ...string) (string, error) {
	h := sha256.New()
	for _, pattern := range patterns {
		names, err := fs.Glob(root, pattern)
		if err != nil {
			return "", err
		}
		if len(names) == 0 {
			return "", fmt.Errorf("%s: %w", pattern, fs.ErrNotExist)
		}
		for _, name := range names {
			if err := hashFile(h, root, name); err != nil {
				return "", err
			}
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func hashFile(h hash.Hash, root fs.FS, name string) error {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	fmt.Fprintln(h, name)
	if !strings.HasSuffix(name, ".go") {
		_, _ = h.Write(b)
		return nil
	}
	var scan scanner.Scanner
	scan.Init(token.NewFileSet().AddFile(name, -1, len(b)), b, nil, 0)
	for {
		_, tok, text := scan.Scan()
		if tok == token.EOF {
			return nil
		}
		if tok == token.SEMICOLON {
			text = ";" // a line's end is one too
		}
		fmt.Fprintln(h, tok, text)
	}
}
