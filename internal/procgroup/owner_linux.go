package procgroup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Owner identifies this process: the boot of the machine, the PID namespace, the id, and the start time, as ids are
// reused.
var Owner = sync.OnceValue(func() string {
	born, home := startTime(os.Getpid()), world()
	if born == "" || home == "" {
		return ""
	}
	return fmt.Sprintf("%s-%d-%s", home, os.Getpid(), born)
})

// world is the part of Owner that is common to all processes that can see each other.
var world = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	var space syscall.Stat_t
	if err != nil || len(boot) < 8 || syscall.Stat("/proc/self/ns/pid", &space) != nil {
		return ""
	}
	return fmt.Sprintf("%s-%d", boot[:8], space.Ino)
})

// startTime returns when a process started, in ticks since the boot; "" if there is no such process.
func startTime(pid int) string {
	if fields := readStatus(pid); len(fields) > 19 {
		return fields[19]
	}
	return ""
}

// readStatus returns the fields of a process's status from its state on.
func readStatus(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

// stale matches an Owner in the value of Variable, and in the name of a folder.
var stale = regexp.MustCompile(`^(?:parley-[a-z]+-)?([0-9a-f]{8}-[0-9]+)-([0-9]+)-([0-9]+)-[0-9]+$`)

// isOrphaned reports whether a mark, or the name of a folder, belongs to a process of our world that has ended.
func isOrphaned(name string) bool {
	m := stale.FindStringSubmatch(name)
	if m == nil || m[1] != world() {
		return false
	}
	pid, err := strconv.Atoi(m[2])
	return err == nil && startTime(pid) != m[3]
}

// KillMarked ends the processes with a mark.
func KillMarked(mark string) {
	if mark != "" {
		killWhere(func(m string) bool { return m == mark })
	}
}

// Sweep ends the processes that killed processes of this program have left behind, and removes their temporary folders.
// It touches nothing that belongs to running processes, other users or other machines.
func Sweep() {
	killWhere(isOrphaned)
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), "parley-*"))
	for _, path := range found {
		var s syscall.Stat_t
		if isOrphaned(filepath.Base(path)) && syscall.Lstat(path, &s) == nil &&
			s.Mode&syscall.S_IFMT == syscall.S_IFDIR &&
			int(s.Uid) == os.Geteuid() {
			_ = os.RemoveAll(path)
		}
	}
}

// killWhere ends the processes whose mark is matched, except this one and its ancestors. It repeats that while it
// finds any, up to a bound: a process may start another one meanwhile.
func killWhere(match func(mark string) bool) {
	ours := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !ours[pid]; {
		ours[pid] = true
		if fields := readStatus(pid); len(fields) > 1 {
			pid, _ = strconv.Atoi(fields[1])
		}
	}
	for range 10 {
		if !killOnce(ours, match) {
			return
		}
	}
}

func killOnce(ours map[int]bool, match func(mark string) bool) (found bool) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || ours[pid] {
			continue
		}
		p, err := os.FindProcess(pid) // a handle, since the id may be reused
		if err != nil {
			continue
		}
		if match(markOf(pid)) && p.Kill() == nil {
			found = true
		}
		_ = p.Release()
	}
	return found
}

// execTime is how long a process that does not sleep may seem to have no environment, or a part of one, before that is
// believed: while it is about to run another program.
const execTime = time.Second

// isWholeEnvironment reports whether so many bytes are surely, or likely, the whole environment of a process. A thread
// of the kernel and a zombie have none. That of a process that is about to run another program seems to be empty until
// it has been loaded, and a reading of the former one may end early; but such a process hardly ever sleeps.
func isWholeEnvironment(pid, bytes int) (sure, likely bool) {
	const vsize, envStart, envEnd = 20, 47, 48 // fields from the state on, proc_pid_stat(5)
	fields := readStatus(pid)
	if len(fields) <= envEnd || fields[vsize] == "0" || !isOwn(pid) {
		return true, true
	}
	start, err := strconv.Atoi(fields[envStart])
	end, err2 := strconv.Atoi(fields[envEnd])
	sure = err == nil && err2 == nil && bytes > 0 && bytes == end-start
	return sure, sure || bytes == 0 && fields[0] == "S"
}

// isOwn reports whether this user owns a process; the ends of others' environments cannot be read.
func isOwn(pid int) bool {
	var s syscall.Stat_t
	return syscall.Stat(fmt.Sprintf("/proc/%d", pid), &s) == nil && int(s.Uid) == os.Geteuid()
}

// markOf returns the value of Variable in the environment with which a process was started; "" if there is none.
func markOf(pid int) string {
	late, times := time.Now().Add(execTime), 0
	for {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			return ""
		}
		for v := range bytes.SplitSeq(b, []byte{0}) {
			if mark, ok := bytes.CutPrefix(v, []byte(Variable+"=")); ok {
				return string(mark)
			}
		}
		sure, likely := isWholeEnvironment(pid, len(b))
		if times++; sure || likely && times > 2 || time.Now().After(late) {
			return ""
		}
		time.Sleep(2 * time.Millisecond)
	}
}
