package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/steps/pack"
)

// TestFolderProtocol: commands take a protocol by its folder, and say what is wrong with one.
func TestFolderProtocol(t *testing.T) {
	before, bundled := suite, bundle
	t.Cleanup(func() { suite, bundle, folders = before, bundled, map[string]string{} })
	invoke := func(t *testing.T, args ...string) (string, string, int) {
		t.Helper()
		suite, bundle, folders = before, bundled, map[string]string{}
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
		{`client A sends "ping"`, 0, []string{"scenario", "--protocol", folder,
			filepath.Join(here, "transcripts", "ws-TD-2-01.jsonl")}},
		{"explain --protocol " + folder + " TD-009", verdict.ExitNonConformant, mute},
		{"run --protocol " + folder, verdict.ExitNonConformant, mute},
		{"step       " + folder + "/2_messages.feature:", verdict.ExitNonConformant, mute},
		{"3 mutants, 3 killed", 0, []string{"mutants", "--protocol", folder, "--only",
			"nonsense-is-busy,anybodys-ticket,accepted-is-ok"}},
		{"simulate --protocol " + folder + " --as server --mutant never-closed", 0,
			[]string{"explain", "--protocol", folder, "never-closed"}},
		{folder + "/3_tickets.feature:", 0, []string{"explain", "--protocol", folder, "TD-015"}},
		{"alone      parley run --protocol " + folder + " TD-3-01", 0, []string{"explain", "--protocol", folder, "TD-3-01"}},
		{"never-busy  a mutant: the bundled ticket-desk", 0, []string{"explain", "--protocol", folder, "never-busy"}},
		{"0 of them", 0, []string{"load", "--protocol", folder, "--sessions", "10", "--duration", "500ms", "--out", here}},
		{"name one FILE", verdict.ExitUsage, []string{"replay", "--protocol", folder}},
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

// TestMistakenFolder: mistakes in several files of a folder are told together, also if protocol.yaml is not YAML.
func TestMistakenFolder(t *testing.T) {
	here := t.TempDir()
	files, err := pack.Draft("mine")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files { // a mistake in each
		text = bytes.Replace(text, []byte("sends:"), []byte("sends: ["), 1)
		text = bytes.Replace(text, []byte("- on: ping"), []byte("- no: ping"), 1)
		text = bytes.Replace(text, []byte(`why: "the path`), []byte(`wy: "the path`), 1)
		at := filepath.Join(here, "mine", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	before, bundled := suite, bundle
	t.Cleanup(func() { suite, bundle, folders = before, bundled, map[string]string{} })
	var out, said bytes.Buffer
	code := runParley([]string{"list", "--protocol", filepath.Join(here, "mine")},
		&streams{In: strings.NewReader(""), Out: &out, Err: &said})
	errs := said.String()
	for _, want := range []string{"protocol.yaml:15:1: not valid YAML",
		"protocol.yaml: not checked in the folder until it " +
			"is mended: whose clauses and script these are, types of", `server.yaml:15:3: a rule has no "no"`,
		`mutants.yaml:3:51: a mutant has no "wy" (did you mean "why"?)`} {
		if code != verdict.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("exit %d: %s, want %s", code, errs, want)
		}
	}
}

// TestFolderPlaces: scenarios, steps and failures of a folder are named by their files in it, in all that a run writes
// and lists, and those of bundled protocols by the suite's files.
func TestFolderPlaces(t *testing.T) {
	before, bundled := suite, bundle
	t.Cleanup(func() { suite, bundle, folders = before, bundled, map[string]string{} })
	invoke := func(args ...string) string {
		suite, bundle, folders = before, bundled, map[string]string{}
		var out, errs bytes.Buffer
		runParley(args, &streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		return out.String() + errs.String()
	}
	here := t.TempDir()
	folder := filepath.Join(here, "ours")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("..", "..", "examples", "packs", "ticket-desk"))); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(os.Mkdir(filepath.Join(folder, "more"), 0o755),
		os.Rename(filepath.Join(folder, "2_messages.feature"), filepath.Join(folder, "more", "2_messages.feature")),
		os.WriteFile(filepath.Join(here, "faults.yaml"), []byte("faults:\n- {on: refused, from: server, do: drop}\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(here, "out")
	said := invoke("run", "--protocol", folder+"/", "--out", out, "--tags", "@TD-009", "--faults",
		filepath.Join(here, "faults.yaml"), "--format", "json,junit,cucumber,html,markdown,github")
	place := filepath.ToSlash(filepath.Join(folder, "more", "2_messages.feature"))
	said += invoke("list", "--protocol", folder, "--scenarios", "--json")
	written, err := filepath.Glob(filepath.Join(out, "*.*"))
	transcripts, _ := filepath.Glob(filepath.Join(out, "transcripts", "ws-TD-2-0*.txt"))
	for _, at := range append(written, transcripts...) {
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), place+":") && strings.Contains(string(text), "2_messages.feature") {
			t.Errorf("%s does not name %s", filepath.Base(at), place)
		}
		said += string(text)
	}
	if n := strings.Count(said, place+":"); n < 8 || len(transcripts) == 0 || err != nil {
		t.Errorf("%s is named %d times, %d transcripts: %v\n%s", place, n, len(transcripts), err, said)
	}
	if strings.Contains(said, "features/ticket-desk/") {
		t.Errorf("a place that is no file: %s", said)
	}
	if said = invoke("list", "--protocol", "session-chat", "--scenarios", "--json"); !strings.Contains(said,
		`"location": "features/session-chat/`) {
		t.Errorf("the scenarios of a bundled protocol: %.300s", said)
	}
}

// TestFolderOverStdio: a protocol may be spoken by a process over its stdin and stdout, one for each connection.
func TestFolderOverStdio(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	before, bundled := suite, bundle
	t.Cleanup(func() { suite, bundle, folders = before, bundled, map[string]string{} })
	dir := t.TempDir()
	for name, text := range map[string]string{
		"p/protocol.yaml": "protocol: piped\nprefix: PD\ntransports: {stdio: {}}\nsends: {ping: {}}\n" +
			"receives: [hello, pong]\nrules:\n- {on: connecting, owes: hello, clauses: PD-001}\n" +
			"- {on: ping, owes: pong, clauses: PD-002}\n",
		"p/clauses.yaml": "protocol: piped\nsource: a.md\nclauses:\n" +
			"- {id: PD-001, level: MUST, section: '1', text: a, source: a, observed: wire, status: tested}\n" +
			"- {id: PD-002, level: MUST, section: '1', text: b, source: b, observed: wire, status: tested}\n",
		"p/1.feature": "@piped\nFeature: f\n  @preflight-1 @preflight-2 @preflight-3 @PD-001 @PD-002\n" +
			"  Scenario: s\n    Given client A is connected\n    And client B is connected\n" +
			"    When client A sends \"ping\"\n    Then client A is answered\n\n  @PD-002\n  Scenario: t\n" +
			"    Given client A is connected\n    When client A sends \"ping\"\n" +
			"    Then client A's message is answered with status 200\n",
		"good.yaml": "name: g\nprotocol: piped\ndrivers: [stdio]\ncommand: {run: [sh, -c, " +
			"'echo \"{\\\"type\\\":\\\"hello\\\"}\"; while read -r l; do echo \"{\\\"type\\\":\\\"pong\\\"}\"; done']}\n",
		"bad.yaml": "name: b\nprotocol: piped\nlimits: {event: 200ms}\ndrivers: [stdio]\ncommand: {run: [sh, -c, " +
			"'echo \"{\\\"type\\\":\\\"hello\\\"}\"; while read -r l; do :; done']}\n",
	} {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for profile, want := range map[string]string{"good.yaml": "CONFORMANT", "bad.yaml": "1  PD-002"} {
		suite, bundle = before, bundled
		var out, errs bytes.Buffer
		runParley([]string{"run", "--protocol", filepath.Join(dir, "p"), "--target", filepath.Join(dir, profile),
			"--out", filepath.Join(dir, "out")}, &streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		row := strings.Join(strings.Fields(out.String()), " ") // of two scenarios one is not applicable
		if profile == "good.yaml" && !strings.Contains(row, "scenarios 2 1 - - 1 -") {
			t.Errorf("an HTTP answer over stdio: %s", out.String())
		}
		if !strings.Contains(out.String(), want) || profile == "good.yaml" && strings.Contains(out.String(), "NON-") {
			t.Errorf("%s: %s%s", profile, out.String(), errs.String())
		}
	}
}
