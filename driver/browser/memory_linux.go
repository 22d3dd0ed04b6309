package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// used returns the bytes of memory that a process and its descendants use each, not counting what they share.
func used(pid int) map[int]int {
	all := map[int]int{}
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		id := next[0]
		var size, resident, shared int
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", id))
		if err != nil {
			continue // it has ended
		}
		if _, err := fmt.Sscan(string(b), &size, &resident, &shared); err == nil {
			all[id] = (resident - shared) * os.Getpagesize()
		}
		next = append(next, children(id)...)
	}
	return all
}

// children returns the processes that a process has started.
func children(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
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
