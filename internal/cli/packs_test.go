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
	before, bundled := suite, bundle
	t.Cleanup(func() { suite, bundle, folders = before, bundled, map[string]string{} })
	invoke := func(t *testing.T, args ...string) (string, string, int) {
		t.Helper()
		suite, bundle = before, bundled
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
	here := t.TempDir()
	at := filepath.Join(here, "faults.yaml")
	faults := "faults:\n- {on: refused, from: server, do: {remove: /message}}\n"
	if err := os.WriteFile(at, []byte(faults), 0o600); err != nil {
		t.Fatal(err)
	}
	mute := []string{"run", "--protocol", folder, "--strict", "--out", here, "--tags", "@TD-009", "--faults", at}
	for _, c := range []struct {
		want string
		code int
		args []string
	}{
		{"TD-008 passed", verdict.ExitIncomplete, []string{"run", "--protocol", folder, "--out", here, "--tags", "@TD-008"}},
		{"explain --protocol " + folder + " TD-009", verdict.ExitNonConformant, mute},
		{"run --protocol " + folder, verdict.ExitNonConformant, mute},
		{"3 mutants, 3 killed", 0, []string{"mutants", "--protocol", folder, "--only",
			"nonsense-is-busy,anybodys-ticket,accepted-is-ok"}},
		{"simulate --protocol " + folder + " --as server --mutant never-closed", 0,
			[]string{"explain", "--protocol", folder, "never-closed"}},
		{"0 of them", 0, []string{"load", "--protocol", folder, "--sessions", "10", "--duration", "500ms", "--out", here}},
		{"is played by a script", verdict.ExitUsage, []string{"serve", "--protocol", folder}},
	} {
		out, errs, code := invoke(t, c.args...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%q: exit %d: %s%s\nwant %d: … %s", c.args, code, out, errs, c.code, c.want)
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
