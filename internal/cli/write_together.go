package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// newFile is a file to be written.
type newFile struct {
	path string
	body []byte
	mode fs.FileMode
}

// writeTogether writes all files or none: each goes to a temporary file beside its place, on the disk, before the
// first one gets its name. It replaces files of these names.
func writeTogether(files ...newFile) (err error) {
	var temps []string
	defer func() {
		for _, name := range temps {
			_ = os.Remove(name) // no effect after the rename
		}
	}()
	for _, f := range files {
		name, err := stage(f)
		if name != "" {
			temps = append(temps, name)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	for i, f := range files {
		if err := os.Rename(temps[i], f.path); err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	return nil
}

// stage writes a file under a temporary name.
func stage(f newFile) (name string, err error) {
	t, err := os.CreateTemp(filepath.Dir(f.path), "."+filepath.Base(f.path)+"-")
	if err != nil {
		return "", err
	}
	_, err = t.Write(f.body)
	err = errors.Join(err, t.Chmod(f.mode), t.Sync(), t.Close())
	return t.Name(), err
}
