package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Store keeps the logs of sessions. It is safe for concurrent use.
type Store interface {
	// Create makes a log with an id that is unique in the store, also across processes.
	Create(now time.Time) (Log, error)

	// Close ends the use of the store. Open logs stay open.
	Close() error
}

// Log is the log of one session. It is used by one goroutine at a time.
type Log interface {
	ID() string   // session id: s-20260213-001
	Name() string // slash-separated file name within the store: study/s-20260213-001.jsonl

	// Append adds a line, given without a line end. The line is complete in the file when it returns nil.
	Append(line []byte) error

	// Close completes the log.
	Close() error
}

// study is the folder of the logs within a store, as named in the source.
const study = "study"

// OpenStore opens the store in a folder and creates the folder if necessary; "" selects a temporary one, which Close
// removes. Logs are files study/<id>.jsonl in it. It never reopens a file of an earlier process: the remains of a
// crash, such as a torn last line, stay as they are.
//
// Appended lines are handed to the operating system, so they survive the process. They are not synced to disk.
func OpenStore(dir string) (Store, error) {
	temporary := dir == ""
	if temporary {
		var err error
		if dir, err = os.MkdirTemp("", "booking-logs-"); err != nil {
			return nil, fmt.Errorf("make a folder for the logs: %w", err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the logs: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the logs: %w", err)
	}
	f := &folder{root: root, temporary: temporary}
	if err := root.MkdirAll(study, 0o755); err != nil {
		return nil, errors.Join(fmt.Errorf("make the folder of the logs: %w", err), f.Close())
	}
	return f, nil
}

// folder is a store of files. No name can escape it, not even through a symbolic link.
type folder struct {
	root      *os.Root
	temporary bool

	mu   sync.Mutex
	day  string
	last int // highest log number of that day
}

// Create implements Store.
func (f *folder) Create(now time.Time) (Log, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if day := now.UTC().Format("20060102"); day != f.day {
		last, err := f.lastOf(day)
		if err != nil {
			return nil, fmt.Errorf("read the folder of the logs: %w", err)
		}
		f.day, f.last = day, last
	}
	for {
		f.last++
		id := fmt.Sprintf("s-%s-%03d", f.day, f.last)
		name := study + "/" + id + ".jsonl"
		// Another process may use the same folder, so an existing file belongs to that process.
		file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("make the log %s: %w", name, err)
		}
		return &logFile{id: id, name: name, file: file}, nil
	}
}

// lastOf returns the highest log number of that day.
func (f *folder) lastOf(day string) (last int, err error) {
	dir, err := f.root.Open(study)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		number, found := strings.CutPrefix(name, "s-"+day+"-")
		number, isLog := strings.CutSuffix(number, ".jsonl")
		if n, err := strconv.Atoi(number); found && isLog && err == nil {
			last = max(last, n)
		}
	}
	return last, err
}

// Close implements Store.
func (f *folder) Close() error {
	err := f.root.Close()
	if f.temporary {
		err = errors.Join(err, os.RemoveAll(f.root.Name()))
	}
	return err
}

type logFile struct {
	id, name string
	file     *os.File
}

func (l *logFile) ID() string   { return l.id }
func (l *logFile) Name() string { return l.name }

// Append writes the line and its end in one call, so that a crash can tear only the last line.
func (l *logFile) Append(line []byte) error {
	_, err := l.file.Write(append(line[:len(line):len(line)], '\n'))
	return err
}

func (l *logFile) Close() error { return l.file.Close() }
