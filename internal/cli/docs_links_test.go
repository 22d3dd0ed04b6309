package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestLinks: every link of a document within the module has a target, including the heading after "#".
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`(?:\]\(|src=")([^)"\s]+)[)"]`)
	found := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			for _, m := range link.FindAllStringSubmatch(prose(t, f), -1) {
				if strings.Contains(m[1], "://") {
					continue
				}
				found++
				name, heading, _ := strings.Cut(m[1], "#")
				to := f
				if name != "" {
					to = filepath.Join(filepath.Dir(f), name)
				}
				if _, err := os.Stat(to); err != nil {
					t.Errorf("%s links to %s, which is not there", f, m[1])
				} else if heading != "" && !anchors(t, to)[heading] {
					t.Errorf("%s links to %s, and %s has no such heading", f, m[1], to)
				}
			}
		}
	}
	if found < 300 {
		t.Errorf("only %d links were found", found)
	}
}

// prose returns a document without its fenced blocks.
func prose(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(string(text), "")
}

// anchors returns the link names of a document's headings.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(prose(t, file), -1) {
		names[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])] = true
	}
	return names
}
