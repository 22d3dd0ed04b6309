// Package changes notices changes of files and folders, by looking at them again and again: it works on every file
// system, and the few files of a profile cost next to nothing.
package changes

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Pauses between looks: often enough for a person, and until what an editor or a build writes is complete.
const (
	pace   = 250 * time.Millisecond
	settle = 100 * time.Millisecond
)

// maxFiles bounds the files below folders; further ones are not watched.
const maxFiles = 20_000

// Watch is a set of files and folders. Files need not exist. Below folders it leaves out hidden files, and what
// programs write rather than people: see Written.
type Watch struct {
	files, folders []string
	without        []string
	ignored        map[string]bool
	skip           func(folder string) bool // nil: none
	outputs        []fs.FileInfo
}

// New watches files and folders, but nothing in the folders without. Paths are made absolute where possible.
func New(files, folders, without []string) *Watch {
	return &Watch{files: absolutePaths(files), folders: absolutePaths(folders), without: absolutePaths(without),
		ignored: map[string]bool{}}
}

func absolutePaths(paths []string) []string {
	var out []string
	for _, p := range paths {
		if abs, err := filepath.Abs(p); err == nil {
			p = abs
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Ignore stops watching files.
func (w *Watch) Ignore(paths ...string) {
	for _, path := range paths {
		w.ignored[path] = true
	}
}

// Skip leaves out the folders below the watched ones for which skip returns true.
func (w *Watch) Skip(skip func(folder string) bool) { w.skip = skip }

// Outputs leaves out, below folders, the files to which this program writes, such as its redirected stdout.
func (w *Watch) Outputs(files ...*os.File) {
	for _, f := range files {
		if info, err := f.Stat(); err == nil {
			w.outputs = append(w.outputs, info)
		}
	}
}

// isOutput reports whether a file is one to which this program writes.
func (w *Watch) isOutput(info fs.FileInfo) bool {
	return slices.ContainsFunc(w.outputs, func(out fs.FileInfo) bool { return os.SameFile(out, info) })
}

// State is what files looked like at one moment, by path. A file that is not there has the zero Stamp.
type State map[string]Stamp

// Stamp tells versions of a file apart.
type Stamp struct {
	Time time.Time
	Size int64
}

// Look returns the present state.
func (w *Watch) Look() State {
	out := State{}
	for _, path := range w.files {
		out[path] = stampOf(os.Stat(path))
	}
	for _, folder := range w.folders {
		w.addFilesBelow(folder, out)
	}
	for path := range w.ignored {
		delete(out, path)
	}
	return out
}

func stampOf(info fs.FileInfo, err error) Stamp {
	if err != nil {
		return Stamp{}
	}
	return Stamp{info.ModTime(), info.Size()}
}

func (w *Watch) addFilesBelow(folder string, out State) {
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it is gone, or not ours to read
		case len(out) >= maxFiles:
			return filepath.SkipAll
		case e.IsDir() && path != folder && (Written(e.Name()) || slices.Contains(w.without, path)):
			return filepath.SkipDir
		case e.IsDir() && path != folder && w.skip != nil && w.skip(path):
			return filepath.SkipDir
		case e.IsDir() || !e.Type().IsRegular() || Written(e.Name()):
			return nil
		}
		if info, err := e.Info(); err != nil || !w.isOutput(info) {
			out[path] = stampOf(info, err)
		}
		return nil
	})
}

// Written reports whether a file or folder of this name is written by programs as they run: hidden, a cache, a log, a
// database or a backup.
func Written(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") ||
		slices.Contains([]string{"node_modules", "__pycache__"}, name) {
		return true
	}
	ext := strings.ToLower(filepath.Ext(name))
	return slices.ContainsFunc([]string{".db", ".sqlite", ".log", ".pid", ".pyc", ".sock", ".swp", ".tmp"},
		func(of string) bool {
			return ext == of || strings.HasPrefix(ext, of+"-") || of == ".sqlite" && ext == ".sqlite3"
		})
}

// Changed returns the paths in which two states differ, sorted.
func Changed(before, after State) []string {
	var out []string
	for path, now := range after {
		if was, known := before[path]; !known || !was.Time.Equal(now.Time) || was.Size != now.Size {
			out = append(out, path)
		}
	}
	for path := range before {
		if _, known := after[path]; !known {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Wait returns once something differs from a state and has not changed for a moment, with the paths and the state by
// then; the error is that of ctx.
func (w *Watch) Wait(ctx context.Context, since State) ([]string, State, error) {
	for pause, last := pace, since; ; {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(pause):
		}
		now := w.Look()
		changed := Changed(since, now)
		if len(changed) > 0 && len(Changed(last, now)) == 0 {
			return changed, now, nil
		}
		last, pause = now, pace
		if len(changed) > 0 {
			pause = settle
		}
	}
}
