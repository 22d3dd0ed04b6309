package target

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LogKeeper is a Running whose logs can be read.
type LogKeeper interface {
	// LogFolder returns the absolute path of the log folder, or of the only file, of targets that write to one file. It
	// need not exist yet; see OpenLog for a folder. *NotDeclaredError: it is unknown.
	LogFolder() (string, error)
}

// LogFolder is Reach.Logs with its placeholders replaced.
func (in *Instance) LogFolder() (string, error) {
	reach := in.profile.Reach()
	if reach.Logs == "" {
		return "", &NotDeclaredError{reach.LogsKey}
	}
	return in.resolve(reach.Logs), nil
}

// MaxLog is the largest part of a log file that is read, in bytes.
const MaxLog = 64 << 20

// OpenLog opens a log file by the name that a target gives. The name is untrusted, so nothing outside the folder is
// opened. In order:
//
//  1. A name that contains .., or an absolute one that is not below the folder, is an *OutsideError.
//  2. A name is relative to the folder. If no such file exists, and the name begins with the last elements of the
//     folder's own path, these are dropped: in the folder /srv/logs, "logs/study/a.jsonl" is "study/a.jsonl".
//  3. A symbolic link that leads out of the folder, and any absolute one, is an *OutsideError.
//  4. Anything but a regular file, such as a folder or a pipe, is an error. A missing file is fs.ErrNotExist.
//
// Reading more than MaxLog fails. The caller must close the file.
func OpenLog(folder, name string) (io.ReadCloser, error) { return openLog(folder, name, MaxLog) }

// OpenLogFrom is OpenLog from an offset in bytes, which from returns for the file and its present size.
func OpenLogFrom(folder, name string, from func(f io.ReaderAt, size int64) int64) (io.ReadCloser, error) {
	r, err := OpenLog(folder, name)
	if err != nil {
		return nil, err
	}
	f := r.(*logFile).f
	info, err := f.Stat()
	if err == nil {
		_, err = f.Seek(from(f, info.Size()), io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open log: %w", err)
	}
	return r, nil
}

func openLog(folder, name string, limit int64) (io.ReadCloser, error) {
	if name == "" {
		return nil, errors.New("open log: no file is named")
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	names, why := logNames(folder, name)
	if why != "" {
		return nil, &OutsideError{folder, name, why}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the folder of logs: %w", err)
	}
	defer root.Close()
	for _, n := range names {
		var f *os.File
		f, err = openRegular(root, n)
		switch {
		case err == nil:
			return &logFile{f: f, left: limit, limit: limit}, nil
		case escapes(root, err):
			return nil, &OutsideError{folder, name, "a symbolic link leads out of it"}
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("open log: %w", err)
		}
	}
	return nil, fmt.Errorf("open log %s in %s: %w", name, folder, fs.ErrNotExist)
}

// logNames returns what a name may refer to within the folder, or why it lies outside.
func logNames(folder, name string) (names []string, why string) {
	name = filepath.FromSlash(name)
	parts := strings.Split(name, string(filepath.Separator))
	if slices.Contains(parts, "..") {
		return nil, ".. leads out of the folder"
	}
	if filepath.IsAbs(name) {
		bases := []string{folder}
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			bases = append(bases, real)
		}
		for _, base := range bases {
			if rel, err := filepath.Rel(base, name); err == nil && filepath.IsLocal(rel) {
				return []string{rel}, ""
			}
		}
		return nil, "it is an absolute path to somewhere else"
	}
	name = filepath.Clean(name)
	if !filepath.IsLocal(name) {
		return nil, "it is not a path within the folder"
	}
	names = []string{name}
	own := strings.Split(folder, string(filepath.Separator))
	parts = strings.Split(name, string(filepath.Separator))
	for n := min(len(own), len(parts)-1); n > 0; n-- { // the longest overlap is the likeliest
		if slices.Equal(own[len(own)-n:], parts[:n]) {
			names = append(names, filepath.Join(parts[n:]...))
		}
	}
	return names, ""
}

// openRegular opens a regular file for reading. It checks before it opens, as opening a pipe blocks until there is a
// writer.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	return root.Open(name)
}

// escapes reports whether an error means that a path leaves its root. Package os does not export that error, so
// escapes provokes one to compare with.
func escapes(root *os.Root, err error) bool {
	f, out := root.Open("..")
	if out == nil {
		_ = f.Close()
		return false
	}
	return errors.Is(err, errors.Unwrap(out))
}

// logFile is an open log that can be read up to its limit.
type logFile struct {
	f           *os.File
	left, limit int64
}

func (l *logFile) Read(p []byte) (int, error) {
	if l.left <= 0 {
		if n, err := l.f.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("the log %s has more than %d bytes", l.f.Name(), l.limit)
	}
	n, err := l.f.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

func (l *logFile) Close() error { return l.f.Close() }
