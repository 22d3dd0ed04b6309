package agentclient

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	imported = regexp.MustCompile(`(?m)^import \{ ([\w$]+(?:, [\w$]+)*) \} from "\./([\w-]+\.js)";\n`)
	exported = regexp.MustCompile(`(?m)^export ((?:async function|function|const|class) ([\w$]+))`)
	beyond   = regexp.MustCompile(`(?m)^(?:import\b|export\b).*`) // anything left by the other two has an unknown form
)

// bundle combines the modules that entry needs into one script, entry last. Every other module becomes a function
// that is called once and returns its exports, so that its names stay private. It supports only the forms that the
// page's modules use, one import or export per line, and reports any other form as an error.
func bundle(files map[string][]byte, entry string) ([]byte, error) {
	var out bytes.Buffer
	var path []string // the modules being written, from entry on
	written := map[string]bool{}
	var write func(name string) error
	write = func(name string) error {
		body, found := files[name]
		switch {
		case written[name]:
			return nil
		case !found:
			return fmt.Errorf("%s imports %s, which is not there", path[len(path)-1], name)
		case slices.Contains(path, name):
			return fmt.Errorf("%s imports itself, by %s", name, strings.Join(path, ", "))
		}
		path = append(path, name)
		for _, m := range imported.FindAllSubmatch(body, -1) {
			if err := write(string(m[2])); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		written[name] = true
		var names []string
		for _, m := range exported.FindAllSubmatch(body, -1) {
			names = append(names, string(m[2]))
		}
		body = imported.ReplaceAll(body, nil)
		body = exported.ReplaceAll(body, []byte("$1"))
		if odd := beyond.Find(body); odd != nil {
			return fmt.Errorf("%s says %q, which is no import or export of a kind that the page uses", name, odd)
		}
		if name == entry {
			out.Write(body)
			return nil
		}
		list := strings.Join(names, ", ")
		fmt.Fprintf(&out, "const { %s } = (() => {\n%s\nreturn { %s };\n})();\n\n", list, bytes.TrimSpace(body), list)
		return nil
	}
	if err := write(entry); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
