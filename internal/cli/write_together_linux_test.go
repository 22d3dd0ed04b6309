package cli

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriteTogetherOnAFullDisk writes two files to a disk that has room for one: neither is left, not even in part, and
// files of these names stay as they were. A disk with room takes both.
func TestWriteTogetherOnAFullDisk(t *testing.T) {
	full := t.TempDir()
	if err := syscall.Mount("tmpfs", full, "tmpfs", 0, "size=16k"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(full, 0); err != nil {
			t.Error(err)
		}
	}()
	small, large := make([]byte, 4<<10), make([]byte, 12<<10)
	two := func(dir string) error {
		return writeTogether(newFile{filepath.Join(dir, "a.json"), small, 0o644}, newFile{filepath.Join(dir, "a.html"), large,
			0o644})
	}
	if err := os.WriteFile(filepath.Join(full, "a.json"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := two(full); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	found, err := os.ReadDir(full)
	if err != nil || len(found) != 1 {
		t.Errorf("left behind: %v, %v", found, err)
	}
	if b, err := os.ReadFile(filepath.Join(full, "a.json")); err != nil || string(b) != "old" {
		t.Errorf("the earlier file: %.10q, %v", b, err)
	}
	if err := writeNew(newFile{filepath.Join(full, "b.key"), small, 0o600},
		newFile{filepath.Join(full, "b.pub"), large, 0o644}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a key on a full disk: %v", err)
	}
	if found, err := os.ReadDir(full); err != nil || len(found) != 1 {
		t.Errorf("left behind of a key: %v, %v", found, err)
	}
	if err := two(t.TempDir()); err != nil {
		t.Errorf("on a disk with room: %v", err)
	}
}
