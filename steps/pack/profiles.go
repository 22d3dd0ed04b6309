package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"parley/internal/script"
	"parley/internal/words"
)

// checkProfiles finds profiles of the folder, in profiles, that name a protocol which is not known. What else they say
// is read when one is used.
func checkProfiles(folder string, known []string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	found, err := fs.Glob(root.FS(), "profiles/*.y*ml")
	if err != nil {
		return err
	}
	var mistakes []error
	for _, at := range found[:min(len(found), maxFiles)] {
		text, err := readFile(root.FS(), at)
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", folder, err))
			continue
		}
		var rd script.Reader
		v := rd.Read(text, "profile").At("protocol")
		name, is := v.Scalar().(string)
		if is && !slices.Contains(known, name) {
			mistakes = append(mistakes, fmt.Errorf("%s:%d:%d: the protocol %q is not known (%s)",
				filepath.Join(folder, at), v.Line(), v.Column(), name, words.Suggest(name, known, "there are "+
					words.Either(known))))
		}
	}
	return errors.Join(mistakes...)
}
