package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// gauge reads the memory of a browser's processes.
type gauge struct {
	pid   int   // of the browser itself
	own   []int // the processes that it has started itself
	reads int
}

// memoryByProcess returns the bytes of memory that the browser and its descendants use each, not counting what they
// share. The browser has dozens of threads, so that what it starts itself is looked for at every tenth reading only. A
// page's process is started by another one, with its first thread.
func (g *gauge) memoryByProcess() map[int]int {
	if g.reads%10 == 0 {
		g.own = childProcesses(g.pid, "*")
	}
	g.reads++
	all := map[int]int{}
	for next := append([]int{g.pid}, g.own...); len(next) > 0; next = next[1:] {
		id := next[0]
		var size, resident, shared int
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", id))
		if err != nil {
			continue // it has ended
		}
		if _, err := fmt.Sscan(string(b), &size, &resident, &shared); err == nil {
			all[id] = (resident - shared) * os.Getpagesize()
		}
		if id != g.pid {
			next = append(next, childProcesses(id, strconv.Itoa(id))...)
		}
	}
	return all
}

// childProcesses returns the processes that threads of a process have started.
func childProcesses(pid int, threads string) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/%s/children", pid, threads))
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(b)) {
			if id, err := strconv.Atoi(field); err == nil {
				all = append(all, id)
			}
		}
	}
	return all
}

func kill(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }
