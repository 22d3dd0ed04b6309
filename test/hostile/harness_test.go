package hostile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/internal/deadline"
	"parley/reports"
)

// Bounds of every row, whatever the peer does.
const (
	wallBound   = 60 * time.Second
	memoryBound = 256 << 20
	goneWithin  = 5 * time.Second // until the kernel has ended the processes that the harness has killed
)

// met is what the harness did when it met a peer.
type met struct {
	exit    int
	out     string // what it printed, with blanks and line ends as one blank each
	results *reports.Results
	wall    time.Duration
	late    bool // it took longer than wallBound, and was ended
	cpu     time.Duration
	memory  int64 // the most bytes that it had in memory, apart from the program itself; 0: unknown
	left    []string
}

// output keeps what the harness prints, and closes first when something is there.
type output struct {
	text  bytes.Buffer // not embedded: io.Copy would call its ReadFrom, and not Write
	first chan struct{}
}

// Write has one caller at a time.
func (o *output) Write(p []byte) (int, error) {
	if o.text.Len() == 0 && len(p) > 0 {
		defer close(o.first)
	}
	return o.text.Write(p)
}

var (
	blanks = regexp.MustCompile(`\s+`)
	once   sync.Mutex
	rows   int
)

// meet runs the harness with arguments in a folder, and measures it. It ends the harness if it hangs. With act it is a
// server at an address, which is interrupted once act is done.
func meet(t *testing.T, dir, addr string, act func(*testing.T, string), args ...string) met {
	t.Helper()
	return meetFor(t, wallBound, dir, addr, act, args...)
}

// meetFor is meet with a bound of the wall time.
func meetFor(t *testing.T, bound time.Duration, dir, addr string, act func(*testing.T, string), args ...string) met {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	once.Lock()
	rows++
	mark := fmt.Sprintf("PARLEY_HOSTILE_ROW=%d.%d", os.Getpid(), rows)
	once.Unlock()
	watching, unwatch := context.WithCancel(context.Background()) // stalls of this machine do not count
	var watch sync.WaitGroup
	defer func() { unwatch(); watch.Wait() }()
	watch.Go(func() { deadline.Watch(watching) })
	limit := deadline.In(bound)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer limit.AfterFunc(cancel)()
	c := exec.CommandContext(ctx, self, args...)
	out := output{first: make(chan struct{})}
	c.Dir, c.Stdout, c.Stderr, c.WaitDelay = dir, &out, &out, time.Second
	c.Env = append(environ(), asHarness+"=1", mark, "TMPDIR="+scratch, "NO_COLOR=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { // with its stacks, so that the cause of a hang is known
		_ = c.Process.Signal(syscall.SIGQUIT)
		time.AfterFunc(time.Second, func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
		return nil
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	memory := watchMemory(c.Process.Pid)
	gone := make(chan struct{})
	if act != nil {
		go func() { err = c.Wait(); close(gone) }()
		listens(t, addr, gone)
		act(t, addr)
		lives(t, addr)
		select {
		case <-out.first: // one that has not said yet where it serves may be interrupted without a word
		case <-gone:
		}
		_ = c.Process.Signal(os.Interrupt)
		<-gone
	} else {
		err = c.Wait()
	}
	m := met{wall: time.Since(began), late: limit.Over(), memory: memory(),
		out: blanks.ReplaceAllString(out.text.String(), " ")}
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatal(err)
	}
	m.exit, m.cpu = c.ProcessState.ExitCode(), c.ProcessState.UserTime()+c.ProcessState.SystemTime()
	m.left = append(processesWith(mark, goneWithin), filesIn(t, scratch)...)
	m.results = resultsIn(t, filepath.Join(dir, "parley-results", "results.json"))
	return m
}

// environ is the environment without what would change the harness's own limits.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOGC=") || strings.HasPrefix(v, "GOMEMLIMIT=") || strings.HasPrefix(v, "TMPDIR=")
	})
}

// watchMemory follows the peak memory of a process until it ends; the function returns it.
func watchMemory(pid int) func() int64 {
	if runtime.GOOS != "linux" {
		return func() int64 { return 0 }
	}
	stop, done, most := make(chan struct{}), make(chan struct{}), int64(0)
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, peak(pid))
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() int64 { close(stop); <-done; return most }
}

var inMemory = regexp.MustCompile(`(VmHWM|RssFile):\s+(\d+) kB`)

// peak reads the peak memory of a process so far, without the pages of its program.
func peak(pid int) (n int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for _, m := range inMemory.FindAllSubmatch(status, -1) {
		kb, _ := strconv.ParseInt(string(m[2]), 10, 64)
		if string(m[1]) == "RssFile" {
			kb = -kb
		}
		n += kb << 10
	}
	return n
}

// processesWith lists the processes with a variable in their environment that do not end within a limit.
func processesWith(mark string, limit time.Duration) (found []string) {
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) { // the kernel tells nobody
		found = found[:0]
		all, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range all {
			if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, []byte(mark+"\x00")) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
				found = append(found, "process "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
		if len(found) == 0 || time.Now().After(end) {
			return found
		}
	}
}

// filesIn lists what is in a folder.
func filesIn(t *testing.T, dir string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		found = append(found, "temporary "+e.Name())
	}
	return found
}

// resultsIn reads a results file; nil if there is none.
func resultsIn(t *testing.T, path string) *reports.Results {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	res, err := reports.ReadJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
