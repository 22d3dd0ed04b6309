package browser

import (
	"syscall"
)

// memoryFlags keep page rendering out of shared memory that is too small, as is common in containers: a browser dies
// when it is full. Using files instead costs an eighth more processor time.
func memoryFlags() []string { return memoryFlagsAt("/dev/shm") }

func memoryFlagsAt(folder string) []string {
	const enough = 512 << 20 // bytes; nine busy pages use half of it
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) == nil && s.Bavail*uint64(s.Bsize) >= enough {
		return nil
	}
	return []string{"--disable-dev-shm-usage"}
}
