package style

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestMakeTargets checks that every target a document names is in the Makefile and in `make help`.
func TestMakeTargets(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):.*## `).FindAllSubmatch(makefile, -1) {
		targets[string(m[1])] = true
	}
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	documents = append(documents, filepath.Join(root, "README.md"), filepath.Join(root, "README.zh.md"))
	named := regexp.MustCompile("(?m)(?:^|`|time )make ([a-z-]+)(?: PKG=[./a-z]+)?(?:`|$)")
	found := 0
	for _, d := range documents {
		text, err := os.ReadFile(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			found++
			if !targets[string(m[1])] {
				t.Errorf("%s names make %s, which the Makefile does not have", filepath.Base(d), m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("the documents name %d targets, and more than that are known to be there", found)
	}
}
