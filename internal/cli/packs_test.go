package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/features/verdict"
)

// TestFolderProtocol: commands take a protocol by its folder, and say what is wrong with one.
func TestFolderProtocol(t *testing.T) {
	before := suite
	t.Cleanup(func() { suite = before })
	invoke := func(t *testing.T, args ...string) (string, string, int) {
		t.Helper()
		suite = before
		var out, errs bytes.Buffer
		code := runParley(args, &streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		return out.String(), errs.String(), code
	}
	folder := filepath.Join("..", "..", "examples", "packs", "ticket-desk")
	for _, args := range [][]string{{"list", "--protocol", folder}, {"list", "--protocol=" + folder},
		{"explain", "--protocol", folder, "TD-014"}, {"explain", "--protocol", folder, "--model"}} {
		out, errs, code := invoke(t, args...)
		if code != 0 || !strings.Contains(out, "TD-0") {
			t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
		}
	}
	dir := t.TempDir()
	for name, want := range map[string]string{
		"protocol: [a]\n": "protocol.yaml:1:11: protocol is a text",
		"":                "the protocol is empty",
		"protocol: session-chat\nprefix: SX\ntransports: {ws: {path: /ws}}\n": "the id session-chat is that of " +
			"a bundled protocol",
	} {
		write := func(file, text string) {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("protocol.yaml", name)
		write("clauses.yaml", "protocol: session-chat\nsource: a.md\nclauses:\n"+
			"  - {id: SX-001, level: MUST, section: '1', text: a, source: a, observed: wire, status: tested}\n")
		_, errs, code := invoke(t, "list", "--protocol", dir)
		if code != verdict.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%q: exit %d: %s, want %s", name, code, errs, want)
		}
	}
	if _, errs, code := invoke(t, "list", "--protocol", filepath.Join(dir, "none")); code != verdict.ExitUsage ||
		!strings.Contains(errs, "cannot be read") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
