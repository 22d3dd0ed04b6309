package target

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/cut"
)

// keptOutput is how much of each output of a process is kept.
const keptOutput = 64 << 10

// output keeps the end of what a process writes, passes it on, and watches for a matching line.
type output struct {
	mu      sync.Mutex
	buf     []byte // a ring once it is full
	next    int    // the next write position once it is full
	total   int64  // bytes written so far
	writes  []write
	line    []byte // the unfinished line, while watch is set
	watch   *regexp.Regexp
	matched func()
	tee     io.Writer
}

// write says when a part of an output was read, and where it ends.
type write struct {
	at  time.Time
	end int64
}

// keptWrites bounds the writes that are kept; the older half is dropped.
const keptWrites = 4096

// expectLine calls matched once, at the next line that re matches; nil expects nothing.
func (o *output) expectLine(re *regexp.Regexp, matched func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watch, o.matched, o.line = re, matched, nil
}

// copyFrom reads until all writers have closed the other end, or until the read deadline.
func (o *output) copyFrom(r *os.File) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		o.writeChunk(buf[:n])
		if err != nil {
			return
		}
	}
}

func (o *output) writeChunk(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tee != nil {
		_, _ = o.tee.Write(p) // a writer that fails must not stop the target
	}
	o.keepTail(p)
	if o.total += int64(len(p)); len(p) > 0 {
		o.writes = append(o.writes[len(o.writes)/keptWrites*(keptWrites/2):], write{time.Now(), o.total})
	}
	if o.watch != nil {
		o.scanLines(p)
	}
}

func (o *output) keepTail(p []byte) {
	p = p[max(0, len(p)-keptOutput):]
	room := min(len(p), keptOutput-len(o.buf))
	o.buf = append(o.buf, p[:room]...)
	for p = p[room:]; len(p) > 0; {
		n := copy(o.buf[o.next:], p)
		o.next, p = (o.next+n)%keptOutput, p[n:]
	}
}

// scanLines checks each line when it ends, and the unfinished last one: some programs end without a line break.
func (o *output) scanLines(p []byte) {
	for _, b := range p {
		if b != '\n' {
			if len(o.line) < keptOutput {
				o.line = append(o.line, b)
			}
			continue
		}
		if o.matchLine() {
			return
		}
		o.line = o.line[:0]
	}
	o.matchLine()
}

func (o *output) matchLine() bool {
	if !o.watch.Match(o.line) {
		return false
	}
	o.watch, o.line = nil, nil
	o.matched()
	return true
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) { o.writeChunk(p); return len(p), nil }

// String returns what was kept, oldest first.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.keptText()
}

func (o *output) keptText() string {
	text := string(o.buf[o.next:]) + string(o.buf[:o.next])
	if len(text) == keptOutput { // earlier output is lost
		return cut.Whole(text)
	}
	return text
}

// textBetween returns what was read from one time to another, as far as it is kept.
func (o *output) textBetween(from, to time.Time) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.keptText()
	kept := o.total - int64(len(text)) // what came before is lost
	begin, end := kept, kept
	for _, w := range o.writes {
		if w.at.Before(from) {
			begin = max(begin, w.end)
		}
		if !w.at.After(to) {
			end = max(end, w.end)
		}
	}
	if begin >= end {
		return ""
	}
	return text[begin-kept : end-kept]
}

// tees writes to each writer and ignores their errors.
type tees []io.Writer

func (t tees) Write(p []byte) (int, error) {
	for _, w := range t {
		_, _ = w.Write(p)
	}
	return len(p), nil
}

// lockedWriter lets several outputs share one writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

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
	return in.resolvePath(reach.Logs), nil
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
		case escapesRoot(root, err):
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

// escapesRoot reports whether an error means that a path leaves its root. Package os does not export that error, so
// escapes provokes one to compare with.
func escapesRoot(root *os.Root, err error) bool {
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
