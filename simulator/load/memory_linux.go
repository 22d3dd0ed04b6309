package load

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// residentMemory returns the bytes of a process that are in memory; that of this process for 0. It is 0 if that is
// unknown.
func residentMemory(pid int) int64 {
	name := "self"
	if pid != 0 {
		name = strconv.Itoa(pid)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%s/status", name))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(b, []byte("VmRSS:"))
	var kilobytes int64
	if _, err := fmt.Sscan(string(rest[:min(len(rest), 40)]), &kilobytes); err != nil {
		return 0
	}
	return kilobytes << 10
}
