package protocols_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shared are the folders of the code that all protocols share, each with the folders below it that belong to one
// protocol.
var shared = map[string][]string{
	"cmd": {}, "features/verdict": {}, "internal": {}, "reports": {"lang"}, // it has the reasons that protocols give, too
	"runner": {}, "target": {}, "transport": {},
	"reference-server/catalogue": {}, "reference-server/launch": {}, "steps": append([]string{"protocols"}, own...),
}

var own = []string{"agentclient", "agentselect", "externalagent", "sessionchat", "sessionruntime"}

// TestNoProtocolIsNamed: code that all protocols share names none of them, so that it also serves protocols from
// outside Parley. A protocol's name appears only in its own folders and in two lists.
func TestNoProtocolIsNamed(t *testing.T) {
	named := regexp.MustCompile(`(?i)agent-?select|agent-?client|session-?chat|session-?runtime|external-?agent`)
	for folder, apart := range shared {
		root := filepath.Join("..", "..", folder)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains(apart, d.Name()):
				return fs.SkipDir
			case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			case folder == "cmd" && strings.HasSuffix(path, "main.go"): // hands the lists to the command line
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i, line := range strings.Split(string(text), "\n") {
				if found := named.FindString(line); found != "" {
					t.Errorf("%s:%d names %s", path, i+1, found)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
