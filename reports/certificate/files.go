package certificate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/mod/sumdb/tlog"
	"golang.org/x/sync/errgroup"

	"parley/reports"
)

// File is a file beside results.json, as they name it.
type File struct{ Path, SHA256 string }

// Files returns the transcripts, recordings and other evidence that results name, sorted by path.
func Files(r *reports.Results) []File {
	var out []File
	add := func(t *reports.Transcript) {
		if t != nil {
			out = append(out, File{t.Path, t.SHA256})
		}
	}
	for _, run := range r.Runs {
		for _, sc := range run.Scenarios {
			add(sc.Transcript)
			add(sc.Recording)
			for _, e := range sc.Evidence {
				out = append(out, File{e.Path, e.SHA256})
			}
		}
	}
	slices.SortFunc(out, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.SHA256, b.SHA256))
	})
	return out
}

// Root returns the Merkle root of files, which need not exist.
func Root(files []File) (Transcripts, error) {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(at))
		for i, x := range at {
			out[i] = stored[x]
		}
		return out, nil
	})
	for i, f := range files {
		hashes, err := tlog.StoredHashes(int64(i), []byte(f.SHA256+"  "+f.Path), read)
		if err != nil {
			return Transcripts{}, err
		}
		stored = append(stored, hashes...)
	}
	root, err := tlog.TreeHash(int64(len(files)), read)
	return Transcripts{Files: len(files), Root: hex.EncodeToString(root[:])}, err
}

// CheckFiles checks that files are in a folder with the content that their digests name. The error names the first
// one that is missing or altered. Nothing outside of the folder is read.
func CheckFiles(dir string, files []File) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	folders := map[string]*os.Root{} // opened once: there are thousands of files in two folders
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range files {
		folder, name := path.Split(f.Path)
		if folders[folder] == nil {
			if folders[folder], err = root.OpenRoot(filepath.FromSlash(path.Clean(folder))); err != nil {
				return errors.Join(fmt.Errorf("%s cannot be read: %w", f.Path, err), g.Wait())
			}
			defer folders[folder].Close()
		}
		from := folders[folder]
		g.Go(func() error {
			sum, err := digestIn(from, name)
			switch {
			case err != nil:
				return fmt.Errorf("%s cannot be read: %w", f.Path, err)
			case sum != f.SHA256:
				return fmt.Errorf("%s is not the file that the run wrote: it was altered", f.Path)
			}
			return nil
		})
	}
	return g.Wait()
}

// digestIn returns the digest of a regular file in a folder.
func digestIn(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return DigestOf(f)
}

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// DigestOf returns the SHA-256 of what r has, in hexadecimal.
func DigestOf(r io.Reader) (string, error) {
	h := sha256.New()
	buffer := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buffer)
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{r}, buffer[:]); err != nil { // a file would bring its own buffer
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
