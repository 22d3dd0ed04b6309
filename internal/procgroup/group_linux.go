package procgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// DieWithParent makes the kernel kill the process when the thread that started it ends; the caller keeps that thread.
func DieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }

// onlyZombies reports whether only zombies are left of a group. Orphans whose new parent does not wait for them, as
// in a container without an init, stay visible forever.
func onlyZombies(group int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return false
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		stat := string(b) // "pid (name) state ppid pgrp …", and the name may hold anything
		fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
		if len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" && fields[0] != "X" {
			return false
		}
	}
	return true
}
