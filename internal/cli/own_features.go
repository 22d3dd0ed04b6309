package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"parley/internal/input"
	"parley/runner"
)

// suiteFeatures is the value of --features that selects the suite's own scenarios.
const suiteFeatures = "suite"

// maxFeature bounds a feature file.
const maxFeature = 1 << 20

// ownFeatures reads the files that --features names, and those in the folders that it names, in the order of their
// names; beside reports whether the suite's scenarios run too.
func ownFeatures(names []string) (own []runner.OwnFeature, beside bool, err error) {
	for _, name := range names {
		if name == suiteFeatures {
			beside = true
			continue
		}
		files, err := featureFiles(name)
		if err != nil {
			return nil, false, err
		}
		for _, file := range files {
			text, err := input.Read(file, maxFeature)
			if err != nil {
				return nil, false, usagef("--features: %v", err)
			}
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
			own = append(own, runner.OwnFeature{Path: filepath.ToSlash(file), Text: text})
		}
	}
	if beside && len(own) == 0 {
		return nil, false, usagef("--features suite: no files of your own are given (name them too, or leave it out)")
	}
	return own, beside, nil
}

// featureFiles are a file, or the *.feature files below a folder.
func featureFiles(name string) ([]string, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("--features: there is no file or folder %s", name)
	case err != nil:
		return nil, usagef("--features: %v", err)
	case !info.IsDir():
		return []string{name}, nil
	}
	var files []string
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".feature") {
			files = append(files, path)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, usagef("--features: %v", err)
	case len(files) == 0:
		return nil, usagef("--features: there is no *.feature file below %s", name)
	}
	return files, nil
}
