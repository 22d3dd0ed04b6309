//go:build unix

package tier

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lock waits until no other process of this user tests pages.
func lock() (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "parley-test-pages.lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
